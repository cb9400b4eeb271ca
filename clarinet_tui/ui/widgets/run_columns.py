"""The columns of the table of runs: their cells, and which of them fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.table import Column, fit_columns
from clarinet_tui.text import (
    format_age_of,
    format_bytes,
    format_duration,
    format_energy,
    format_percent,
    format_task,
    progress_bar,
    sparkline,
)
from clarinet_tui.ui.text.alarms import name_alarms
from clarinet_tui.ui.text.styled import STATE_STYLES, Span
from clarinet_tui.ui.text.tables import fit_spans

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

CellRenderer = Callable[["RunRow", int, "RenderContext"], list[Span]]
"""Renders a cell of a run with a given width."""

PERCENT = (0.0, 100.0)
MAX_METHOD = 24
"""Longest name of a method that its column makes room for."""
MIN_BAR, GROWN = 3, 3
"""Least length of a progress bar beside the time left; how much wider than its least width a column may be."""


@dataclass(frozen=True)
class RenderContext:
    """The current time, and the accuracies so far of running runs."""

    now: float
    trends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class RunColumn(Column):
    """A column whose cells are rendered for a given width, so that it does not change from page to page."""

    growth: int = 0
    render: CellRenderer = field(kw_only=True)
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


def _trend(run: RunRow, width: int, context: RenderContext) -> list[Span]:
    return [(sparkline(context.trends.get(run.id, ()), width, PERCENT), "live")]


def _number(
    title: str,
    name: str,
    form: Callable[[float | None], str],
    least: int,
    drop: int,
    *,
    role: str = "",
    always: bool = False,
) -> RunColumn:
    """A column of a number of runs; hidden if no run has it, unless it is always there."""
    return RunColumn(
        title,
        render=lambda run, *_: [(form(getattr(run, name)), role)],
        least=least,
        drop=drop,
        right=True,
        sort=name,
        largest_first=True,
        applies_to=None if always else lambda run: getattr(run, name) is not None,
    )


def _text(title: str, name: str, least: int, drop: int, growth: int = 0, role: str = "") -> RunColumn:
    missing = "?" if name == "method" else "–"
    return RunColumn(
        title,
        render=lambda run, *_: [(getattr(run, name) or missing, role)],
        least=least,
        drop=drop,
        growth=growth,
        sort=name,
    )


def _or_dash(form: Callable[[float], str]) -> Callable[[float | None], str]:
    return lambda value: "–" if value is None else form(value)


COLUMNS = (
    RunColumn("", render=lambda run, *_: [STATE_STYLES[run.state]], least=1, drop=1, sort="state"),
    _text("run", "id", 9, 2, role="muted"),
    _text("method", "method", 13, 1, 2),
    RunColumn("task", render=lambda run, *_: [(format_task(run.task), "")], least=5, drop=1, growth=2, sort="task"),
    RunColumn(
        "seed",
        render=lambda run, *_: [("–" if run.seed is None else str(run.seed), "")],
        least=4,
        drop=3,
        right=True,
        sort="seed",
    ),
    _number("target", "target_accuracy", format_percent, 6, 1, role="strong", always=True),
    RunColumn(
        "trend",
        render=_trend,
        least=10,
        drop=8,
        growth=1,
        applies_to=lambda run: run.state.is_live and run.target_accuracy is not None,
    ),
    RunColumn(
        "alarm",
        render=lambda run, *_: [(name_alarms(run.alarms), "warn")],
        least=11,
        drop=3,
        growth=2,
        applies_to=lambda run: bool(run.alarms),
    ),
    _number("source", "source_accuracy", format_percent, 6, 5, always=True),
    RunColumn("progress", render=_progress, least=11, drop=4, growth=4, sort="iteration", largest_first=True),
    _number("took", "seconds", lambda seconds: format_duration(seconds) if seconds else "–", 5, 6, always=True),
    RunColumn("created", render=_created, least=7, drop=7, right=True, sort="created", largest_first=True),
    _text("preset", "preset", 7, 11, role="muted"),
    _text("device", "device", 6, 12, role="muted"),
    _number("pseudo", "pseudo_label_accuracy", format_percent, 6, 10),
    _number("GPU %", "gpu_use", _or_dash("{:.0f}".format), 5, 13, role="muted"),
    _number("GPU mem.", "gpu_memory", _or_dash(format_bytes), 8, 13, role="muted"),
    _number("memory", "memory", _or_dash(format_bytes), 8, 13, role="muted"),
    _number("energy", "energy", _or_dash(format_energy), 8, 13, role="muted"),
    RunColumn(
        "name and tags",
        render=_name_and_tags,
        least=13,
        drop=5,
        growth=6,
        sort="name",
        applies_to=lambda run: bool(run.name or run.tags),
    ),
)
SORT_TITLES = {column.sort: column.title or "state" for column in COLUMNS if column.sort}
"""The fields that runs can be sorted by, and the titles of their columns."""
LARGEST_FIRST = frozenset(column.sort for column in COLUMNS if column.largest_first)
FIXED_COLUMNS = ("", "run")
"""Columns that cannot be hidden."""


def applicable_columns(
    runs: Iterable[RunRow], hidden: frozenset[str] = frozenset(), sort: str = ""
) -> tuple[RunColumn, ...]:
    """The columns that are not hidden, and in which any of these runs has a value.

    Methods are shown in full, and so is the title with an arrow of the column that the runs are sorted by.
    """
    rows = tuple(runs)
    longest = min(max((cell_len(run.method or "") for run in rows), default=0), MAX_METHOD)

    def needed(column: RunColumn) -> int:
        arrow = int(bool(sort) and column.sort == sort)
        return max(column.least, len(column.title) + arrow, longest if column.title == "method" else 0)

    return tuple(
        replace(column, least=needed(column))
        for column in COLUMNS
        if column.title not in hidden and (column.applies_to is None or any(map(column.applies_to, rows)))
    )


def fit_run_columns(columns: Sequence[RunColumn], width: int) -> list[tuple[RunColumn, int]]:
    """The columns that fit, with their widths; those with growth take up to three times their least width."""
    full = [column.least * (GROWN if column.growth else 1) for column in columns]
    return [(columns[position], size) for position, size in fit_columns(columns, full, width).items()]


def render_cell(column: RunColumn, run: RunRow, width: int, context: RenderContext) -> list[Span]:
    """Render a printable cell of exactly `width` columns."""
    return fit_spans(column.render(run, width, context), width, right=column.right)
