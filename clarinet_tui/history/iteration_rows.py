"""Convert journal lines to rows of the tables `iterations` and `evaluations`."""

import math
from typing import Any

import msgspec

from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from clarinet_tui.runs.journal_format import FIXED_COLUMNS
from clarinet_tui.runs.journal_reader import parse_number
from core.metrics import level_of

IterationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, the metrics with a column, other"""
EvaluationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, time, the metrics, confusion, other"""
MAX_INTEGER = 2**53


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _is_integer(value: Any) -> bool:
    return type(value) is int and -MAX_INTEGER < value < MAX_INTEGER


class RowLayout:
    """Converts lines with the same column names."""

    def __init__(self, run: str, names: tuple[str, ...]) -> None:
        self._run = run
        self._names = names
        self._is_valid = names[:5] == FIXED_COLUMNS and len(set(names)) == len(names)
        self._column_indices = [index for index, name in enumerate(names) if index < 5 or name in ITERATION_COLUMNS]
        self._all_have_columns = len(self._column_indices) == len(names)
        columns = ", ".join(f'"{names[index]}"' for index in self._column_indices)
        places = ", ".join("?" * (len(self._column_indices) + 2))
        self.insert_sql = f"INSERT OR REPLACE INTO iterations (run, {columns}, other) VALUES ({places})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return self._names[5:]

    def make_row(self, values: Any, *, plain: bool) -> IterationRow | None:
        """Return None if the values do not fit; `plain` if the stage is the only text among them."""
        if (
            not self._is_valid
            or type(values) is not list
            or len(values) != len(self._names)
            or not _is_integer(values[0])
        ):
            return None
        if plain and self._all_have_columns:
            return (self._run, *values, None)
        return self._make_unusual_row(values)

    def _make_unusual_row(self, values: list[Any]) -> IterationRow | None:
        """Convert a line with metrics without a column, or values that are not finite: SQLite stores NaN as NULL."""
        other: dict[str, Any] = {}
        if not _is_integer(values[1]) or not isinstance(values[3], str):
            return None
        for index, name in enumerate(self._names[4:], 4):
            value = values[index]
            if value is None:
                continue
            parsed = parse_number(value)
            if not isinstance(parsed, float | int):
                return None
            if not is_finite(parsed):
                values[index] = None
            if index > 4 and (values[index] is None or name not in ITERATION_COLUMNS):
                other[name] = value
        encoded = msgspec.json.encode(other).decode() if other else None
        return (self._run, *(values[index] for index in self._column_indices), encoded)


def evaluation_row(run: str, fields: dict[str, Any]) -> EvaluationRow | None:
    """Return None if a field that every evaluation has is missing."""
    if not _is_integer(fields.get("iteration")) or not isinstance(fields.get("stage"), str):
        return None
    other: dict[str, Any] = {}
    values: list[Any] = []
    for name in ("seconds", "time", *EVALUATION_COLUMNS):
        value = parse_number(fields.get(name))
        if isinstance(value, float | int) and not is_finite(value):
            other[name] = fields[name]
            value = None
        values.append(value if isinstance(value, float | int) else None)
    for name in fields.keys() - set(EVALUATION_COLUMNS):
        if level_of(name) == "evaluation" and isinstance(parse_number(fields[name]), float | int):
            other[name] = fields[name]
    epochs = [fields[name] if _is_integer(fields.get(name)) else None for name in ("epoch", "adaptation_epoch")]
    confusion = fields.get("confusion")
    return (
        run,
        fields["iteration"],
        *epochs,
        fields["stage"],
        *values,
        msgspec.json.encode(confusion).decode() if confusion is not None else None,
        msgspec.json.encode(other).decode() if other else None,
    )
