"""Convert journal lines to rows of the tables `iterations` and `evaluations`."""

import math
from typing import Any

import msgspec

from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from clarinet_tui.runs.journal import Integer, encode_non_finite, is_integer, parse_line, parse_number
from core.metrics import level_of

IterationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, the metrics with a column, other"""
EvaluationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, time, the metrics, confusion, other"""


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


class RowLayout:
    """Converts lines with the same column names."""

    def __init__(self, run: str, names: tuple[str, ...]) -> None:
        self._run = run
        self._names = names
        self._column_indices = [index for index, name in enumerate(names) if index < 5 or name in ITERATION_COLUMNS]
        self._other_indices = [index for index in range(len(names)) if index not in set(self._column_indices)]
        types: Any = (Integer, Integer, Integer | None, str, *[float | None] * (len(names) - 4))
        decoder: Any = msgspec.json.Decoder(tuple[types])
        self._decode, self._decode_lines = decoder.decode, decoder.decode_lines
        columns = ", ".join(f'"{names[index]}"' for index in self._column_indices)
        places = ", ".join("?" * (len(self._column_indices) + 2))
        self.insert_sql = f"INSERT OR REPLACE INTO iterations (run, {columns}, other) VALUES ({places})"

    @property
    def metrics(self) -> tuple[str, ...]:
        return self._names[5:]

    @property
    def column_metrics(self) -> list[str]:
        """The metrics with a column, in the order of a row."""
        return [self._names[index] for index in self._column_indices[5:]]

    def make_row(self, line: bytes) -> IterationRow:
        """Raise ContentError with the reason if the line cannot be used."""
        try:
            values: tuple[Any, ...] = self._decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._make_unusual_row(line)
        return self._convert(values)

    def make_rows(self, lines: list[bytes]) -> list[IterationRow] | None:
        """Convert many lines at once, which is much faster; None if one of them is unusual or cannot be used."""
        try:
            converted: list[tuple[Any, ...]] = self._decode_lines(b"\n".join(lines))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if len(converted) != len(lines):  # blanks count as no line
            return None
        if not self._other_indices:
            return [(self._run, *values, None) for values in converted]
        return [self._convert(values) for values in converted]

    def _convert(self, values: tuple[Any, ...]) -> IterationRow:
        if not self._other_indices:
            return (self._run, *values, None)
        other = {self._names[index]: values[index] for index in self._other_indices if values[index] is not None}
        return self._combine(values, other)

    def _make_unusual_row(self, line: bytes) -> IterationRow:
        """Convert a line with values that are not finite: SQLite stores NaN as NULL, so they go to `other`."""
        fields = parse_line(line, self._names)
        values = [fields.get(name) for name in self._names]
        other = {
            name: encode_non_finite(value)
            for index, (name, value) in enumerate(zip(self._names, values, strict=True))
            if index > 4 and value is not None and (not is_finite(value) or name not in ITERATION_COLUMNS)
        }
        return self._combine([value if is_finite(value) else None for value in values], other)

    def _combine(self, values: list[Any] | tuple[Any, ...], other: dict[str, Any]) -> IterationRow:
        encoded = msgspec.json.encode(other).decode() if other else None
        return (self._run, *(values[index] for index in self._column_indices), encoded)


def evaluation_row(run: str, fields: dict[str, Any]) -> EvaluationRow | None:
    """Return None if a field that every evaluation has is missing."""
    if fields.get("iteration") is None or fields.get("stage") is None:
        return None
    other: dict[str, Any] = {}
    values: list[Any] = []
    for name in ("seconds", "time", *EVALUATION_COLUMNS):
        value = parse_number(fields.get(name))
        if not is_finite(value):
            other[name] = fields[name]
            value = None
        values.append(value)
    for name in fields.keys() - set(EVALUATION_COLUMNS):
        number = parse_number(fields[name])
        if level_of(name) == "evaluation" and (isinstance(number, float) or is_integer(number)):
            other[name] = fields[name]
    confusion = fields.get("confusion")
    return (
        run,
        fields["iteration"],
        fields.get("epoch"),
        fields.get("adaptation_epoch"),
        fields["stage"],
        *values,
        msgspec.json.encode(confusion).decode() if confusion is not None else None,
        msgspec.json.encode(other).decode() if other else None,
    )
