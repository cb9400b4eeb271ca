"""Lines of a journal as rows of the tables `iterations` and `evaluations`."""

import math
from typing import Any

import msgspec

from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from clarinet_tui.runs.journal_format import FIXED_COLUMNS
from clarinet_tui.runs.journal_reader import parse_number
from core.metrics import level_of

IterationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, the shape's known metrics, other"""
EvaluationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, time, the metrics, confusion, other"""
LARGEST = 2**53


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _whole(value: Any) -> bool:
    return type(value) is int and -LARGEST < value < LARGEST


class RowLayout:
    """How the values under one line of column names go into the table."""

    def __init__(self, run: str, names: tuple[str, ...]) -> None:
        self._run = run
        self._names = names
        self._readable = names[:5] == FIXED_COLUMNS and len(set(names)) == len(names)
        self._known = [place for place, name in enumerate(names) if place < 5 or name in ITERATION_COLUMNS]
        self._all_known = len(self._known) == len(names)
        columns = ", ".join(f'"{names[place]}"' for place in self._known)
        places = ", ".join("?" * (len(self._known) + 2))
        self.insert = f"INSERT OR REPLACE INTO iterations (run, {columns}, other) VALUES ({places})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return self._names[5:]

    def row(self, values: Any, *, plain: bool) -> IterationRow | None:
        """None if the values do not fit; `plain` where the stage is the only text among them."""
        if not self._readable or type(values) is not list or len(values) != len(self._names) or not _whole(values[0]):
            return None
        if plain and self._all_known:
            return (self._run, *values, None)
        return self._unusual(values)

    def _unusual(self, values: list[Any]) -> IterationRow | None:
        """Metrics of plug-ins, and values that are not finite: SQLite would turn those into NULL."""
        other: dict[str, Any] = {}
        if not _whole(values[1]) or not isinstance(values[3], str):
            return None
        for place, name in enumerate(self._names[4:], 4):
            value = values[place]
            if value is None:
                continue
            known = parse_number(value)
            if not isinstance(known, float | int):
                return None
            if not is_finite(known):
                values[place] = None
            if place > 4 and (values[place] is None or name not in ITERATION_COLUMNS):
                other[name] = value
        told = msgspec.json.encode(other).decode() if other else None
        return (self._run, *(values[place] for place in self._known), told)


def evaluation_row(run: str, fields: dict[str, Any]) -> EvaluationRow | None:
    """None if what every evaluation has is not there."""
    if not _whole(fields.get("iteration")) or not isinstance(fields.get("stage"), str):
        return None
    other: dict[str, Any] = {}
    values: list[Any] = []
    for name in ("seconds", "time", *EVALUATION_COLUMNS):
        known = parse_number(fields.get(name))
        if isinstance(known, float | int) and not is_finite(known):
            other[name] = fields[name]
            known = None
        values.append(known if isinstance(known, float | int) else None)
    for name in fields.keys() - set(EVALUATION_COLUMNS):
        if level_of(name) == "evaluation" and isinstance(parse_number(fields[name]), float | int):
            other[name] = fields[name]
    whole = [fields[name] if _whole(fields.get(name)) else None for name in ("epoch", "adaptation_epoch")]
    confusion = fields.get("confusion")
    return (
        run,
        fields["iteration"],
        *whole,
        fields["stage"],
        *values,
        msgspec.json.encode(confusion).decode() if confusion is not None else None,
        msgspec.json.encode(other).decode() if other else None,
    )
