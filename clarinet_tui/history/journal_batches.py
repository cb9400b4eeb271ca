"""Read a batch of journal lines into rows, before the database is locked for it."""

import math
import os
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from types import UnionType
from typing import Any, BinaryIO

import msgspec

from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS, SAMPLE_COLUMNS
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import ContentError, open_file
from clarinet_tui.runs.journal import (
    ATTEMPT_STARTS,
    Integer,
    Names,
    Number,
    encode_non_finite,
    is_integer,
    parse_line,
    parse_number,
    read_lines,
)
from core.metrics import level_of

MAX_ROWS = 5000
MAX_BYTES = 4 << 20
END_BYTES = 1024
"""Bytes at both ends of the ingested part of a file that identify it."""
NUMBER = float | int
OPENING_BRACKET = ord("[")
IterationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, the metrics with a column, other"""
EvaluationRow = tuple[Any, ...]
"""run, iteration, epoch, adaptation_epoch, stage, seconds, time, the metrics, confusion, other"""
SampleRow = tuple[Any, ...]
"""run, position, time, iteration, seconds, the sampled quantities"""


@dataclass(frozen=True)
class Position:
    """How far a file is ingested, and what identifies the part before."""

    offset: int = 0
    lines: int = 0
    checksum: int = 0
    """The running CRC-32 of all bytes before `offset`."""
    ends: str = ""
    """A hash of the first and the last bytes before `offset`: another file has others."""


class ReplacedFileError(Exception):
    """The file is not the one of which a part was ingested."""


def is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


class RowLayout:
    """Converts lines with the same column names."""

    def __init__(self, run: str, names: tuple[str, ...]) -> None:
        self._run, self._names = run, names
        self.metrics = names[5:]
        self._column_metrics = [name for name in self.metrics if name in ITERATION_COLUMNS]
        types: Any = (Integer, Integer, Integer | None, str, *[Number | None] * (len(names) - 4))
        decoder: Any = msgspec.json.Decoder(tuple[types])
        self._decode_lines = decoder.decode_lines
        columns = ", ".join(f'"{name}"' for name in (*names[:5], *self._column_metrics))
        places = ", ".join("?" * (len(self._column_metrics) + 7))
        self.insert_sql = f"INSERT OR REPLACE INTO iterations (run, {columns}, other) VALUES ({places})"

    def make_row(self, line: bytes) -> IterationRow:
        """Raise ContentError with the reason if the line cannot be used."""
        if rows := self.make_rows([line]):
            return rows[0]
        fields = parse_line(line, self._names)
        return self._convert(encode_non_finite([fields.get(name) for name in self._names]))

    def make_rows(self, lines: list[bytes]) -> list[IterationRow] | None:
        """Convert many lines at once, which is much faster; None if one of them cannot be used."""
        joined = b"\n".join(lines)
        try:
            converted: list[tuple[Any, ...]] = self._decode_lines(joined)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None
        if len(converted) != len(lines):  # blanks count as no line
            return None
        are_finite = joined.count(b'"') == 2 * len(lines)  # the only text of each line is its stage
        if are_finite and len(self._column_metrics) == len(self.metrics):
            return [(self._run, *values, None) for values in converted]
        return list(map(self._convert, converted))

    def _convert(self, values: Sequence[Any]) -> IterationRow:
        """Make a row; values that are not finite go to `other` as texts, since SQLite stores NaN as NULL."""
        numbers = dict(zip(self._names[4:], values[4:], strict=True))
        finite = {name: None if isinstance(number, str) else number for name, number in numbers.items()}
        other = {
            name: numbers[name]
            for name in self.metrics
            if numbers[name] is not None and (name not in ITERATION_COLUMNS or finite[name] is None)
        }
        encoded = msgspec.json.encode(other).decode() if other else None
        columns = (finite[name] for name in (self._names[4], *self._column_metrics))
        return (self._run, *values[:4], *columns, encoded)


layout_of = lru_cache(maxsize=16)(RowLayout)


@dataclass
class EventRow:
    """A row of the table `events`."""

    position: int
    end: int
    fields: dict[str, Any]
    superseded: bool = False

    @property
    def name(self) -> str:
        name: str = self.fields["event"]
        return name

    @property
    def iteration(self) -> int | None:
        """The number of completed iterations."""
        iteration: int | None = self.get("from_iteration" if self.name == "resumed" else "iteration", int)
        return iteration

    def get(self, field_name: str, type_: type | UnionType) -> Any:
        """Return a field, or None if it is missing or not finite."""
        value = self.fields.get(field_name)
        return value if isinstance(value, type_) and is_finite(value) else None


@dataclass
class JournalBatch:
    """The rows of the journal from `start` to `end`, without superseded ones."""

    start: Position
    end: Position
    columns: Names | None
    iterations: list[tuple[RowLayout, list[IterationRow]]] = field(default_factory=list)
    """Rows in order, in groups of one layout."""
    evaluations: list[EvaluationRow] = field(default_factory=list)
    samples: list[SampleRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    superseded_after: int | None = None
    """Rows of earlier batches after this iteration are superseded; -1 for all rows."""
    attempt_starts: list[int] = field(default_factory=list)
    """Offsets of the lines that start an attempt."""
    has_damage: bool = False
    rows: int = 0

    def supersede(self, iteration: int) -> None:
        """Drop what was recorded after this iteration."""
        self.superseded_after = iteration if self.superseded_after is None else min(self.superseded_after, iteration)
        self.iterations = [(layout, [row for row in rows if row[1] <= iteration]) for layout, rows in self.iterations]
        self.evaluations = [row for row in self.evaluations if row[1] <= iteration]
        for event in self.events:
            event.superseded = event.superseded or iteration < 0 or (event.iteration or 0) > iteration


def read_batch(run: RunDirectory, start: Position, columns: Names | None) -> JournalBatch:
    """Read the journal from `start` on, at most `MAX_ROWS` rows or about `MAX_BYTES`."""
    batch = JournalBatch(start, start, columns)
    file = open_file(run.journal)
    if file is None:
        if start.offset:
            raise ReplacedFileError
        return batch
    with file:
        check_start(file, start)
        number, end = start.lines, start.offset
        layout = layout_of(run.id, tuple(columns)) if columns else None
        lines: list[bytes] = []  # iterations of one layout that follow each other
        for number, (begin, end, line) in enumerate(read_lines(file, start.offset), start.lines + 1):
            if layout and line and line[0] == OPENING_BRACKET:
                lines.append(line)
            else:
                _add_iterations(batch, layout, number, begin, lines)
                _add_line(batch, run, number, begin, end, line)
                layout = layout_of(run.id, tuple(batch.columns)) if batch.columns else None
                lines = []
            if batch.rows + len(lines) >= MAX_ROWS or end - start.offset >= MAX_BYTES:
                break
        _add_iterations(batch, layout, number + 1, end, lines)
        batch.end = advance(file, start, end)
    return batch


def check_start(file: BinaryIO, position: Position) -> None:
    """Raise ReplacedFileError unless the file begins with the part that was ingested."""
    if position.offset and _hash_ends(file, position.offset) != position.ends:
        raise ReplacedFileError


def advance(file: BinaryIO, start: Position, offset: int) -> Position:
    """Return the position after the lines up to `offset`."""
    if offset == start.offset:
        return start
    at, lines, checksum = start.offset, start.lines, start.checksum
    while at < offset:
        content = os.pread(file.fileno(), min(offset - at, MAX_BYTES), at)
        if not content:
            raise ReplacedFileError  # it was truncated meanwhile
        at, lines, checksum = at + len(content), lines + content.count(b"\n"), zlib.crc32(content, checksum)
    return Position(offset, lines, checksum, _hash_ends(file, offset))


def _hash_ends(file: BinaryIO, offset: int) -> str:
    size = min(END_BYTES, offset)
    first, last = os.pread(file.fileno(), size, 0), os.pread(file.fileno(), size, offset - size)
    return blake2b(first + last, digest_size=8).hexdigest() if len(last) == size else ""


def _add_line(batch: JournalBatch, run: RunDirectory, number: int, start: int, end: int, line: bytes | None) -> None:
    try:
        fields = parse_line(line, batch.columns)
    except ContentError as error:
        _add_damage(batch, number, start, end, str(error))
        return
    if fields["event"] == "columns":
        batch.columns = fields["names"]
        return
    batch.rows += 1
    event = EventRow(start, end, fields)
    if event.name == "evaluation":
        row = evaluation_row(run.id, fields)
        if row is not None:
            batch.evaluations.append(row)
            return
    if event.name == "sample":
        values = (event.get(name, NUMBER) for name in ("seconds", *SAMPLE_COLUMNS))
        batch.samples.append((run.id, start, event.get("time", NUMBER), event.iteration, *values))
        return
    if event.name in ATTEMPT_STARTS:
        batch.attempt_starts.append(start)
        last = batch.events[-1] if batch.events else None
        if last is not None and last.end == start and last.name == "damaged":
            is_one_line = last.fields["line"] == last.fields["last_line"]
            if is_one_line:  # the last of the attempt before, torn when its worker was killed
                batch.events.pop()
        iteration = event.get("from_iteration", int) if event.name == "resumed" else -1
        if iteration is not None:
            batch.supersede(iteration)
    batch.events.append(event)


def _add_iterations(batch: JournalBatch, layout: RowLayout | None, number: int, end: int, lines: list[bytes]) -> None:
    """Add the iterations before line `number`, which starts at byte `end`."""
    if not lines or layout is None:
        return
    if not batch.iterations or batch.iterations[-1][0] is not layout:
        batch.iterations.append((layout, []))
    rows = batch.iterations[-1][1]
    converted = layout.make_rows(lines)
    if converted is not None:
        rows += converted
        batch.rows += len(converted)
        return
    start = end - sum(map(len, lines)) - len(lines)
    for place, line in enumerate(lines, number - len(lines)):
        line_end = start + len(line) + 1
        try:
            rows.append(layout.make_row(line))
            batch.rows += 1
        except ContentError as error:
            _add_damage(batch, place, start, line_end, str(error))
        start = line_end


def _add_damage(batch: JournalBatch, number: int, start: int, end: int, reason: str) -> None:
    """Add a row for an unreadable line, or extend that of the lines directly before it."""
    batch.has_damage = True
    last = batch.events[-1] if batch.events else None
    if last is not None and last.name == "damaged" and last.end == start:
        first = last.fields["line"]
        message = f"lines {first} to {number} cannot be read and were skipped: {last.fields['reason']}"
        last.end = last.fields["end"] = end
        last.fields |= {"last_line": number, "message": message}
        return
    message = f"line {number} cannot be read and was skipped: {reason}"
    fields = {"event": "damaged", "message": message, "line": number, "last_line": number, "reason": reason, "end": end}
    batch.rows += 1
    batch.events.append(EventRow(start, end, fields))


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
