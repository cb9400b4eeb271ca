"""The columns of the table of runs: their cells, and which of them fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from clarinet_tui.runs.state import RunState
from clarinet_tui.text import (
    format_age_of,
    format_bytes,
    format_duration,
    format_energy,
    format_percent,
    format_task,
    printable,
    progress_bar,
    sparkline,
)
from clarinet_tui.ui.text.alarms import name_alarms
from clarinet_tui.ui.text.styled import STATE_STYLES, Span

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

CellRenderer = Callable[["RunRow", int, "RenderContext"], list[Span]]
"""Renders a cell of a run with a given width."""

PERCENT = (0.0, 100.0)
MAX_METHOD = 24
"""Longest name of a method that its column makes room for."""
MIN_BAR = 3
"""Least length of a progress bar beside the time left."""


@dataclass(frozen=True)
class RenderContext:
    """The current time, and the accuracies so far of running runs."""

    now: float
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Column:
    title: str
    render: CellRenderer
    min_width: int
    drop_order: int
    """Columns with the highest number are dropped first."""
    growth: int = 0
    """The column's share of spare width, relative to others."""
    right: bool = False
    """Whether it is aligned to the right."""
    applies_to: Callable[[RunRow], bool] | None = None
    """Whether a run has a value in this column; the column is hidden if no run has one."""
    sort: str = ""
    """The field of a run that its cells show; empty if runs cannot be sorted by it."""
    largest_first: bool = False
    """Whether the largest value comes first, unless the order is reversed."""

    def header(self, sort: str, descending: bool, width: int) -> str:
        """Return the title with an arrow if runs are sorted by this column."""
        arrow = ("▾" if descending else "▴") if self.sort and self.sort == sort else ""
        return f"{f'{self.title}{arrow}':{'>' if self.right else '<'}{width}}"


def _progress(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    """A bar with the time left of a live run, else the final state."""
    share = run.progress
    if run.state.is_live and share is not None:
        left = run.seconds_left
        text = f" {share:>3.0%}"
        if left is not None and width - len(timed := f"{text} {format_duration(left)}") >= MIN_BAR:
            text = timed
        done, rest = progress_bar(share, max(width - len(text), 1))
        return [(done, "live"), (rest, "faint"), (text, "")]
    if run.state is RunState.FINISHED:
        return [(f"{run.epoch or 0} epochs" if run.epoch else "finished", "muted")]
    stopped_at = f" {share:.0%}" if share is not None else ""
    return [(f"{run.state}{stopped_at}", STATE_STYLES[run.state].role)]


def _created(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(format_age_of(run.created, context.now), "muted")]


def _name_and_tags(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    tags = " ".join(f"#{tag}" for tag in run.tags)
    return [(f"{run.name} " if run.name else "", ""), (tags, "tag")]


def _pseudo(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(format_percent(run.pseudo_label_accuracy), "")]


def _trend(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(sparkline(context.trends.get(run.id, ()), width, PERCENT), "live")]


def _source(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(format_percent(run.source_accuracy), "")]


def _took(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(format_duration(run.seconds) if run.seconds else "–", "")]


def _alarm(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(name_alarms(run.alarms), "warn")]


def _hardware_column(title: str, name: str, width: int, form: Callable[[float], str]) -> Column:
    """A column of what a run used; dropped before all others."""

    def render(run: RunRow, width: int, context: RenderContext) -> list[Span]:
        value = getattr(run, name)
        return [("–" if value is None else form(value), "muted")]

    def has_value(run: RunRow) -> bool:
        return getattr(run, name) is not None

    return Column(title, render, width, 12, right=True, sort=name, largest_first=True, applies_to=has_value)


COLUMNS = (
    Column("", lambda run, *_: [STATE_STYLES[run.state]], 1, 0, sort="state"),
    Column("run", lambda run, *_: [(run.id, "muted")], 9, 1, sort="id"),
    Column("method", lambda run, *_: [(run.method or "?", "")], 13, 0, growth=2, sort="method"),
    Column("task", lambda run, *_: [(format_task(run.task), "")], 5, 0, growth=2, sort="task"),
    Column("seed", lambda run, *_: [("–" if run.seed is None else str(run.seed), "")], 4, 2, right=True, sort="seed"),
    Column(
        "target",
        lambda run, *_: [(format_percent(run.target_accuracy), "strong")],
        min_width=6,
        drop_order=0,
        right=True,
        sort="target_accuracy",
        largest_first=True,
    ),
    Column(
        "trend", _trend, 10, 7, growth=1, applies_to=lambda run: run.state.is_live and run.target_accuracy is not None
    ),
    Column("alarm", _alarm, 11, 2, growth=2, applies_to=lambda run: bool(run.alarms)),
    Column("source", _source, 6, 4, right=True, sort="source_accuracy", largest_first=True),
    Column("progress", _progress, 11, 3, growth=4, sort="iteration", largest_first=True),
    Column("took", _took, 5, 5, right=True, sort="seconds", largest_first=True),
    Column("created", _created, 7, 6, right=True, sort="created", largest_first=True),
    Column("preset", lambda run, *_: [(run.preset or "–", "muted")], 7, 10, sort="preset"),
    Column("device", lambda run, *_: [(run.device or "–", "muted")], 6, 11, sort="device"),
    Column(
        "pseudo",
        _pseudo,
        min_width=6,
        drop_order=9,
        right=True,
        sort="pseudo_label_accuracy",
        largest_first=True,
        applies_to=lambda run: run.pseudo_label_accuracy is not None,
    ),
    _hardware_column("GPU %", "gpu_use", 5, lambda value: f"{value:.0f}"),
    _hardware_column("GPU mem.", "gpu_memory", 8, format_bytes),
    _hardware_column("memory", "memory", 8, format_bytes),
    _hardware_column("energy", "energy", 8, format_energy),
    Column(
        "name and tags", _name_and_tags, 13, 4, growth=6, sort="name", applies_to=lambda run: bool(run.name or run.tags)
    ),
)
SORT_TITLES = {column.sort: column.title or "state" for column in COLUMNS if column.sort}
"""The fields that runs can be sorted by, and the titles of their columns."""
LARGEST_FIRST = frozenset(column.sort for column in COLUMNS if column.largest_first)
FIXED_COLUMNS = ("", "run")
"""Columns that cannot be hidden."""


def applicable_columns(
    runs: Iterable[RunRow], hidden: frozenset[str] = frozenset(), sort: str = ""
) -> tuple[Column, ...]:
    """The columns that are not hidden, and in which any of these runs has a value.

    Methods are shown in full, and so is the title with an arrow of the column that the runs are sorted by.
    """
    rows = tuple(runs)
    longest = min(max((cell_len(run.method or "") for run in rows), default=0), MAX_METHOD)

    def needed(column: Column) -> int:
        arrow = int(bool(sort) and column.sort == sort)
        return max(column.min_width, len(column.title) + arrow, longest if column.title == "method" else 0)

    return tuple(
        replace(column, min_width=needed(column))
        for column in COLUMNS
        if column.title not in hidden and (column.applies_to is None or any(map(column.applies_to, rows)))
    )


def fit_columns(columns: Iterable[Column], width: int) -> list[tuple[Column, int]]:
    """The columns that fit, with their widths; spare width is shared by those with growth."""
    kept = list(columns)
    while kept and sum(column.min_width + 1 for column in kept) > width:
        kept.remove(max(kept, key=lambda column: column.drop_order))
    spare = width - sum(column.min_width + 1 for column in kept)
    total_growth = sum(column.growth for column in kept)
    extra = [min(spare * column.growth // max(total_growth, 1), 2 * column.min_width) for column in kept]
    return [(column, column.min_width + more) for column, more in zip(kept, extra, strict=True)]


def render_cell(column: Column, run: RunRow, width: int, context: RenderContext) -> list[Span]:
    """Render a printable cell of exactly `width` columns."""
    spans = [(printable(text), role) for text, role in column.render(run, width, context)]
    length = sum(cell_len(text) for text, _ in spans)
    if length < width:
        blank = (" " * (width - length), "")
        return [blank, *spans] if column.right else [*spans, blank]
    cut, left = [], width
    for text, role in spans:
        size = min(cell_len(text), left)
        short = set_cell_size(text, size)
        cut.append((f"{set_cell_size(text, size - 1)}…" if size < cell_len(text) and size > 1 else short, role))
        left -= size
    return cut
