"""A piece of a journal, read and put in order before the database is locked for it."""

from dataclasses import dataclass, field
from types import UnionType
from typing import Any

from clarinet_tui.history.iteration_rows import EvaluationRow, IterationRow, RowShape, evaluation_row, is_finite
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import (
    BEGINNINGS,
    UNREADABLE,
    Damaged,
    Names,
    decode,
    line_number,
    parse,
    whole_lines,
)

MOST_ROWS = 5000
MOST_BYTES = 4 << 20
NUMBER = float | int
OPENING = ord("[")


@dataclass
class Said:
    """One ordinary event, as the table of events keeps it."""

    position: int
    end: int
    fields: dict[str, Any]
    superseded: bool = False

    @property
    def event(self) -> str:
        name: str = self.fields["event"]
        return name

    @property
    def iteration(self) -> int | None:
        """After how many iterations it was said."""
        found: int | None = self.get("from_iteration" if self.event == "resumed" else "iteration", int)
        return found

    def get(self, name: str, kind: type | UnionType) -> Any:
        """A field, if it is what it should be: a journal may be hurt."""
        value = self.fields.get(name)
        return value if isinstance(value, kind) and is_finite(value) else None


@dataclass
class Batch:
    """What the journal says from byte `start` to byte `end`, superseded parts already gone."""

    start: int
    end: int
    columns: Names | None
    iterations: list[tuple[RowShape, list[IterationRow]]] = field(default_factory=list)
    """In order, as stretches of one shape."""
    evaluations: list[EvaluationRow] = field(default_factory=list)
    events: list[Said] = field(default_factory=list)
    shapes: dict[tuple[str, ...], RowShape] = field(default_factory=dict)
    cut: int | None = None
    """What was recorded beyond this iteration no longer counts; -1 for everything."""
    beginnings: list[int] = field(default_factory=list)
    records: int = 0

    def shape(self, run: str) -> RowShape | None:
        """Of the columns in force."""
        if self.columns is None:
            return None
        names = tuple(self.columns)
        if names not in self.shapes:
            self.shapes[names] = RowShape(run, names)
        return self.shapes[names]

    def supersede(self, beyond: int) -> None:
        self.cut = beyond if self.cut is None else min(self.cut, beyond)
        self.iterations = [(shape, [row for row in rows if row[1] <= beyond]) for shape, rows in self.iterations]
        self.evaluations = [row for row in self.evaluations if row[1] <= beyond]
        for said in self.events:
            said.superseded = said.superseded or beyond < 0 or (said.iteration or 0) > beyond


def read_batch(run: RunDirectory, offset: int, columns: Names | None) -> Batch:
    """The next piece of the journal, at most `MOST_ROWS` lines or about `MOST_BYTES`."""
    batch = Batch(offset, offset, columns)
    try:
        file = run.journal.open("rb")
    except FileNotFoundError:
        return batch
    with file:
        shape = batch.shape(run.id)
        for start, end, line in whole_lines(file, offset):
            if not (line and shape and line[0] == OPENING and _take_iteration(batch, shape, line)):
                _take_line(batch, run, start, end, line)
                shape = batch.shape(run.id)
            batch.end = end
            if batch.records >= MOST_ROWS or end - offset >= MOST_BYTES:
                break
    return batch


def _take_line(batch: Batch, run: RunDirectory, start: int, end: int, line: bytes | None) -> None:
    fields = parse(line, batch.columns)
    batch.records += 1
    if fields is None or fields["event"] == "step":
        hurt = Damaged(line_number(run.journal, start), start, end)
        batch.events.append(Said(start, end, {"event": "damaged", "message": str(hurt), "end": end}))
    elif fields["event"] == "columns":
        batch.columns = fields["names"]
        batch.records -= 1
    else:
        _take_event(batch, run, Said(start, end, fields))


def _take_iteration(batch: Batch, shape: RowShape, line: bytes) -> bool:
    """The one path that has to be fast; whatever is unusual is left to `_take_line`."""
    try:
        row = shape.row(decode(line), plain=line.count(b'"') == 2)
    except UNREADABLE:
        return False
    if row is None:
        return False
    if not batch.iterations or batch.iterations[-1][0] is not shape:
        batch.iterations.append((shape, []))
    batch.iterations[-1][1].append(row)
    batch.records += 1
    return True


def _take_event(batch: Batch, run: RunDirectory, said: Said) -> None:
    if said.event == "evaluation":
        row = evaluation_row(run.id, said.fields)
        if row is not None:
            batch.evaluations.append(row)
            return
    if said.event in BEGINNINGS:
        _begin_sitting(batch, said)
    batch.events.append(said)


def _begin_sitting(batch: Batch, said: Said) -> None:
    """What a sitting before said beyond this one's beginning no longer counts; its last line may be torn."""
    batch.beginnings.append(said.position)
    if batch.events and batch.events[-1].event == "damaged" and batch.events[-1].end == said.position:
        batch.events.pop()
    beyond = said.get("from_iteration", int) if said.event == "resumed" else -1
    if beyond is not None:
        batch.supersede(beyond)
