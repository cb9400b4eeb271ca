"""Read a batch of journal lines into rows, before the database is locked for it."""

import os
import zlib
from dataclasses import dataclass, field
from hashlib import blake2b
from types import UnionType
from typing import Any, BinaryIO

from clarinet_tui.history.iteration_rows import EvaluationRow, IterationRow, RowLayout, evaluation_row, is_finite
from clarinet_tui.history.schema import SAMPLE_COLUMNS
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import ContentError, open_file
from clarinet_tui.runs.journal import ATTEMPT_STARTS, Names, parse_line, read_lines

MAX_ROWS = 5000
MAX_BYTES = 4 << 20
END_BYTES = 1024
"""Bytes at both ends of the ingested part of a file that identify it."""
NUMBER = float | int
OPENING_BRACKET = ord("[")
SampleRow = tuple[Any, ...]


@dataclass(frozen=True)
class Position:
    """How far a file is ingested, and what identifies the part before."""

    offset: int = 0
    lines: int = 0
    checksum: int = 0
    """The running CRC-32 of all bytes before `offset`."""
    ends: str = ""
    """A hash of the first and the last bytes before `offset`: another file has others. Empty if it is not known."""


class ReplacedFileError(Exception):
    """The file is not the one of which a part was ingested."""


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
class Batch:
    """The rows of the journal from `start` to `end`, without superseded ones."""

    start: Position
    end: Position
    columns: Names | None
    iterations: list[tuple[RowLayout, list[IterationRow]]] = field(default_factory=list)
    """Rows in order, in groups of one layout."""
    evaluations: list[EvaluationRow] = field(default_factory=list)
    samples: list[SampleRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    layouts: dict[tuple[str, ...], RowLayout] = field(default_factory=dict)
    superseded_after: int | None = None
    """Rows of earlier batches after this iteration are superseded; -1 for all rows."""
    attempt_starts: list[int] = field(default_factory=list)
    """Offsets of the lines that start an attempt."""
    has_damage: bool = False
    rows: int = 0

    def layout(self, run: str) -> RowLayout | None:
        """Return the layout of the current columns."""
        if self.columns is None:
            return None
        names = tuple(self.columns)
        if names not in self.layouts:
            self.layouts[names] = RowLayout(run, names)
        return self.layouts[names]

    def supersede(self, iteration: int) -> None:
        """Drop what was recorded after this iteration."""
        self.superseded_after = iteration if self.superseded_after is None else min(self.superseded_after, iteration)
        self.iterations = [(layout, [row for row in rows if row[1] <= iteration]) for layout, rows in self.iterations]
        self.evaluations = [row for row in self.evaluations if row[1] <= iteration]
        for event in self.events:
            event.superseded = event.superseded or iteration < 0 or (event.iteration or 0) > iteration


def read_batch(run: RunDirectory, start: Position, columns: Names | None) -> Batch:
    """Read the journal from `start` on, at most `MAX_ROWS` rows or about `MAX_BYTES`."""
    batch = Batch(start, start, columns)
    file = open_file(run.journal)
    if file is None:
        if start.offset:
            raise ReplacedFileError
        return batch
    with file:
        start = check_start(file, start)
        number, end = start.lines, start.offset
        layout = batch.layout(run.id)
        lines: list[bytes] = []  # iterations of one layout that follow each other
        for number, (begin, end, line) in enumerate(read_lines(file, start.offset), start.lines + 1):
            if layout and line and line[0] == OPENING_BRACKET:
                lines.append(line)
            else:
                _add_iterations(batch, layout, number, begin, lines)
                _add_line(batch, run, number, begin, end, line)
                layout, lines = batch.layout(run.id), []
            if batch.rows + len(lines) >= MAX_ROWS or end - start.offset >= MAX_BYTES:
                break
        _add_iterations(batch, layout, number + 1, end, lines)
        batch.end = advance(file, start, end)
    return batch


def check_start(file: BinaryIO, position: Position) -> Position:
    """Raise ReplacedFileError unless the file begins with the part that was ingested."""
    if position.offset and not position.ends:  # ingested by an older version
        return advance(file, Position(), position.offset)
    if position.offset and _hash_ends(file, position.offset) != position.ends:
        raise ReplacedFileError
    return position


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


def _add_line(batch: Batch, run: RunDirectory, number: int, start: int, end: int, line: bytes | None) -> None:
    try:
        fields = parse_line(line, batch.columns)
    except ContentError as error:
        _add_damage(batch, number, start, end, str(error))
        return
    if fields["event"] == "columns":
        batch.columns = fields["names"]
    else:
        batch.rows += 1
        _add_event(batch, run, EventRow(start, end, fields))


def _add_iterations(batch: Batch, layout: RowLayout | None, number: int, end: int, lines: list[bytes]) -> None:
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


def _add_damage(batch: Batch, number: int, start: int, end: int, reason: str) -> None:
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


def _add_event(batch: Batch, run: RunDirectory, event: EventRow) -> None:
    if event.name == "evaluation":
        row = evaluation_row(run.id, event.fields)
        if row is not None:
            batch.evaluations.append(row)
            return
    if event.name == "sample":
        batch.samples.append(_sample_row(run.id, event))
        return
    if event.name in ATTEMPT_STARTS:
        batch.attempt_starts.append(event.position)
        last = batch.events[-1] if batch.events else None
        if last is not None and last.end == event.position and is_torn_line(last.fields):
            batch.events.pop()  # the last line of the attempt before, torn when its worker was killed
        iteration = event.get("from_iteration", int) if event.name == "resumed" else -1
        if iteration is not None:
            batch.supersede(iteration)
    batch.events.append(event)


def is_torn_line(fields: dict[str, Any]) -> bool:
    """Return whether a row is of one unreadable line, and not of several."""
    return fields["event"] == "damaged" and fields.get("line") == fields.get("last_line")


def _sample_row(run: str, event: EventRow) -> SampleRow:
    values = (event.get(name, float | int) for name in SAMPLE_COLUMNS)
    return (
        run,
        event.position,
        event.get("time", float | int),
        event.iteration,
        event.get("seconds", float | int),
        *values,
    )
