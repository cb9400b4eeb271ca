"""Read a batch of journal lines into rows, before the database is locked for it."""

from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from clarinet_tui.history.iteration_rows import EvaluationRow, IterationRow, RowLayout, evaluation_row, is_finite
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import (
    ATTEMPT_STARTS,
    DECODE_ERRORS,
    DamagedLine,
    Names,
    decode,
    line_number,
    parse_line,
    read_lines,
)

MAX_ROWS = 5000
MAX_BYTES = 4 << 20
NUMBER = float | int
OPENING_BRACKET = ord("[")


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
        """Return a field, or None if it is of another type: the journal may be damaged."""
        value = self.fields.get(field_name)
        return value if isinstance(value, type_) and is_finite(value) else None


@dataclass
class Batch:
    """The rows of the journal from byte `start` to byte `end`, without superseded ones."""

    start: int
    end: int
    columns: Names | None
    iterations: list[tuple[RowLayout, list[IterationRow]]] = field(default_factory=list)
    """Rows in order, in groups of one layout."""
    evaluations: list[EvaluationRow] = field(default_factory=list)
    events: list[EventRow] = field(default_factory=list)
    layouts: dict[tuple[str, ...], RowLayout] = field(default_factory=dict)
    superseded_after: int | None = None
    """Rows of earlier batches after this iteration are superseded; -1 for all rows."""
    attempt_starts: list[int] = field(default_factory=list)
    """Offsets of the lines that start an attempt."""
    lines: int = 0

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


def read_batch(run: RunDirectory, offset: int, columns: Names | None) -> Batch:
    """Read the journal from `offset` on, at most `MAX_ROWS` lines or about `MAX_BYTES`."""
    batch = Batch(offset, offset, columns)
    try:
        file = run.journal.open("rb")
    except FileNotFoundError:
        return batch
    with file:
        layout = batch.layout(run.id)
        for start, end, line in read_lines(file, offset):
            if not (line and layout and line[0] == OPENING_BRACKET and _add_iteration(batch, layout, line)):
                _add_line(batch, run, start, end, line)
                layout = batch.layout(run.id)
            batch.end = end
            if batch.lines >= MAX_ROWS or end - offset >= MAX_BYTES:
                break
    return batch


def _add_line(batch: Batch, run: RunDirectory, start: int, end: int, line: bytes | None) -> None:
    fields = parse_line(line, batch.columns)
    batch.lines += 1
    if fields is None or fields["event"] == "step":
        damaged = DamagedLine(line_number(run.journal, start), start, end)
        batch.events.append(EventRow(start, end, {"event": "damaged", "message": str(damaged), "end": end}))
    elif fields["event"] == "columns":
        batch.columns = fields["names"]
        batch.lines -= 1
    else:
        _add_event(batch, run, EventRow(start, end, fields))


def _add_iteration(batch: Batch, layout: RowLayout, line: bytes) -> bool:
    """The fast path; return False for a line that `_add_line` must handle."""
    try:
        row = layout.make_row(decode(line), plain=line.count(b'"') == 2)
    except DECODE_ERRORS:
        return False
    if row is None:
        return False
    if not batch.iterations or batch.iterations[-1][0] is not layout:
        batch.iterations.append((layout, []))
    batch.iterations[-1][1].append(row)
    batch.lines += 1
    return True


def _add_event(batch: Batch, run: RunDirectory, event: EventRow) -> None:
    if event.name == "evaluation":
        row = evaluation_row(run.id, event.fields)
        if row is not None:
            batch.evaluations.append(row)
            return
    if event.name in ATTEMPT_STARTS:
        batch.attempt_starts.append(event.position)
        if batch.events and batch.events[-1].name == "damaged" and batch.events[-1].end == event.position:
            batch.events.pop()  # the last line of the attempt before, torn when its worker was killed
        iteration = event.get("from_iteration", int) if event.name == "resumed" else -1
        if iteration is not None:
            batch.supersede(iteration)
    batch.events.append(event)
