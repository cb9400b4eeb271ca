"""The columns of the history's table: what they say, and which of them there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from clarinet_tui.text import ago, bar, duration, percent, printable
from clarinet_tui.ui.snapshot.state_style import LIVE, look, progress
from clarinet_tui.ui.text.sparkline import spark
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

Piece = tuple[str, str]
"""Text and its role ("" for the usual one); see `states.ROLES`."""
Cell = Callable[["RunRow", int, "Moment"], list[Piece]]
"""A cell's pieces for a run, a width and what is known now."""

SHORTEST = 3
"""Cells of a progress bar beside which there is room for the time that is left."""


@dataclass(frozen=True)
class Moment:
    """The time now, and how running runs have done so far."""

    now: float
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    """`need` is the least width, `grows` how eagerly it takes more, `rank` when it has to go (the highest first)."""

    title: str
    cell: Cell
    need: int
    rank: int
    grows: int = 0
    right: bool = False
    useful: Callable[[RunRow], bool] | None = None
    """Of which runs the column says anything; if of none, it is left out."""


def _progress(run: RunRow, width: int, at: Moment) -> list[Piece]:
    """A bar with the time left while it runs, else what became of it."""
    share = progress(run)
    if run.state in LIVE and share is not None:
        left = run.seconds_left
        words = f" {share:>3.0%}"
        if left is not None and width - len(timed := f"{words} {duration(left)}") >= SHORTEST:
            words = timed
        done, rest = bar(share, max(width - len(words), 1))
        return [(done, "live"), (rest, "faint"), (words, "")]
    if run.state == "finished":
        return [(f"{run.epoch or 0} epochs" if run.epoch else "finished", "muted")]
    stopped_at = f" {share:.0%}" if share is not None else ""
    return [(f"{run.state}{stopped_at}", look(run.state).role)]


def _state(run: RunRow, width: int, at: Moment) -> list[Piece]:
    seen = look(run.state)
    return [(seen.sign, seen.role)]


def _created(run: RunRow, width: int, at: Moment) -> list[Piece]:
    return [(ago(max(at.now - run.created, 0.0)), "muted")]


def _words(run: RunRow, width: int, at: Moment) -> list[Piece]:
    """Name and tags."""
    tags = " ".join(f"#{tag}" for tag in run.tags)
    return [(f"{run.name} " if run.name else "", ""), (tags, "tag")]


def _pseudo(run: RunRow, width: int, at: Moment) -> list[Piece]:
    return [(percent(run.pseudo_label_accuracy), "")]


def _trend(run: RunRow, width: int, at: Moment) -> list[Piece]:
    return [(spark(at.trends.get(run.id, ()), width), "live")]


def _took(run: RunRow, width: int, at: Moment) -> list[Piece]:
    return [(duration(run.seconds) if run.seconds else "–", "")]


COLUMNS = (
    Column("", _state, 1, 0),
    Column("run", lambda run, *_: [(run.id, "muted")], 9, 1),
    Column("method", lambda run, *_: [(run.method or "?", "")], 13, 0, grows=2),
    Column("task", lambda run, *_: [(task_name(run.task), "")], 5, 0, grows=2),
    Column("seed", lambda run, *_: [("–" if run.seed is None else str(run.seed), "")], 4, 2, right=True),
    Column("target", lambda run, *_: [(percent(run.target_accuracy), "strong")], 6, 0, right=True),
    Column("trend", _trend, 10, 7, grows=1, useful=lambda run: run.state in LIVE and run.target_accuracy is not None),
    Column("source", lambda run, *_: [(percent(run.source_accuracy), "")], 6, 4, right=True),
    Column("progress", _progress, 12, 3, grows=4),
    Column("took", _took, 5, 5, right=True),
    Column("created", _created, 7, 6, right=True),
    Column("preset", lambda run, *_: [(run.preset or "–", "muted")], 7, 10),
    Column("device", lambda run, *_: [(run.device or "–", "muted")], 6, 11),
    Column("pseudo", _pseudo, 6, 9, right=True, useful=lambda run: run.pseudo_label_accuracy is not None),
    Column("name and tags", _words, 13, 8, grows=6, useful=lambda run: bool(run.name or run.tags)),
)


def useful(runs: Iterable[RunRow]) -> tuple[Column, ...]:
    """The columns that have something to say of these runs."""
    listed = tuple(runs)
    return tuple(column for column in COLUMNS if column.useful is None or any(map(column.useful, listed)))


def fit(columns: Iterable[Column], width: int) -> list[tuple[Column, int]]:
    """Those columns that fit, with their widths; what is left over goes to those that grow."""
    kept = list(columns)
    while kept and sum(column.need + 1 for column in kept) > width:
        kept.remove(max(kept, key=lambda column: column.rank))
    spare = width - sum(column.need + 1 for column in kept)
    eager = sum(column.grows for column in kept)
    widths = [
        column.need + min(spare * column.grows // eager, 2 * column.need) if eager else column.need for column in kept
    ]
    return list(zip(kept, widths, strict=True))


def cell(column: Column, run: RunRow, width: int, at: Moment) -> list[Piece]:
    """The cell's pieces, exactly `width` cells long, and safe for the terminal."""
    pieces = [(printable(text), style) for text, style in column.cell(run, width, at)]
    length = sum(cell_len(text) for text, _ in pieces)
    if length < width:
        blank = (" " * (width - length), "")
        return [blank, *pieces] if column.right else [*pieces, blank]
    cut, left = [], width
    for text, style in pieces:
        size = min(cell_len(text), left)
        short = set_cell_size(text, size)
        cut.append((f"{set_cell_size(text, size - 1)}…" if size < cell_len(text) and size > 1 else short, style))
        left -= size
    return cut
