"""A sweep as text: its progress, its runs as a grid of settings and seeds, and the accuracy against a setting."""

from __future__ import annotations

from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.table import Cell, Column, make_table
from clarinet_tui.text import format_count, format_duration, format_mean, format_percent, format_seed, progress_bar
from clarinet_tui.ui.text.devices import makespan
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, styled
from clarinet_tui.ui.text.tables import format_table

if TYPE_CHECKING:
    from clarinet_tui.chart.cells import GlyphSet
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.sweep import SweepSnapshot

CELL = 6
"""Width of a cell, such as ▸ 43 %."""
GAP = 2
MEAN = 17
"""Width of the mean with its std and the number of seeds."""
MAXIMUM_LABEL = 30
MINIMUM_CHART = 8
BAR = 20


def format_sweep_header(snapshot: SweepSnapshot) -> Content:
    """Format the name with what all runs have in common; below it the progress of the whole."""
    runs = snapshot.runs
    if not runs:
        return styled((snapshot.name, "strong"), ("  no runs", "muted"))
    share = sum(1.0 if run.state is RunState.FINISHED else run.progress or 0.0 for run in runs) / len(runs)
    done, rest = progress_bar(share, BAR)
    states = Counter(run.state for run in runs)
    seconds = estimate_seconds_left(runs)
    texts = [] if seconds is None else [f"about {format_duration(seconds)} left"]
    texts.append(f"{states[RunState.FINISHED]} of {format_count(len(runs), 'run')} finished")
    texts += [f"{states[state]} {state}" for state in RunState if states[state] and state is not RunState.FINISHED]
    first = styled((snapshot.name, "strong"), ("".join(f" · {text}" for text in snapshot.common), "muted"))
    percent = (f" {100 * share:3.0f} %  ", "strong")
    return first + "\n" + styled((done, "live"), (rest, "faint"), percent, (", ".join(texts), "muted"))


def estimate_seconds_left(runs: tuple[RunRow, ...]) -> float | None:
    """Return when the pending runs will have ended, as many at once as now; None if none is, or if it is not known.

    A run that has not started takes as long as the finished ones did on average, or else the running ones will.
    """
    pending = [run for run in runs if run.state.is_pending]
    known = [run.seconds for run in runs if run.state is RunState.FINISHED and run.seconds]
    known = known or [run.seconds + run.seconds_left for run in pending if run.seconds and run.seconds_left is not None]
    if not pending or not known:
        return None
    started = [run for run in pending if run.state.is_started]
    busy = [fmean(known) if run.seconds_left is None else run.seconds_left for run in started]
    return makespan([fmean(known)] * (len(pending) - len(started)), max(1, len(started)), busy)


def format_sweep_grid(snapshot: SweepSnapshot, cursor: tuple[int, int], width: int, height: int) -> Content:
    """Format a line for each variant and a column for each seed; only what fits around the cursor, if not all does."""
    row, column = cursor
    cell = max((len(f"seed {format_seed(seed)}") for seed in snapshot.seeds), default=CELL)
    table = make_table(snapshot.titles or ("",), (line.labels or ("",) for line in snapshot.lines))
    labels = sum(min(table.width_of(at), MAXIMUM_LABEL) + GAP for at in range(len(table.columns)))
    seeds = _window(len(snapshot.seeds), (width - labels - MEAN) // (cell + GAP), column)
    lines = _window(len(snapshot.lines), height - 1, row)
    columns = [Column(title, most=MAXIMUM_LABEL, least=4) for title in snapshot.titles or ("",)]
    columns += [Column(f"seed {format_seed(snapshot.seeds[at])}", right=True) for at in seeds]
    columns += [Column("mean ± std")]
    rows = []
    for number in lines:
        line = snapshot.lines[number]
        cells = [Cell(label) for label in line.labels or ("",)]
        for at in seeds:
            text, role = format_sweep_cell(line.runs.get(snapshot.seeds[at]))
            cells.append(Cell(text.rjust(CELL), "chosen" if (number, at) == cursor else role))
        count = f" (n={line.measured})" if line.measured else ""
        rows.append([*cells, Cell(format_mean(line.mean, line.std, 1) + count, "strong")])
    drawn = format_table(make_table(columns, rows), width + GAP, GAP)
    hidden = [
        f"{title} {shown.start + 1} to {shown.stop} of {total}"
        for title, shown, total in (("seeds", seeds, len(snapshot.seeds)), ("lines", lines, len(snapshot.lines)))
        if len(shown) < total
    ]
    return Content("\n").join([*drawn, *([styled((", ".join(hidden), "muted"))] if hidden else [])])


def _window(count: int, fitting: int, position: int) -> range:
    """Return the numbers that are shown, so that the position is in their middle unless they are at an end."""
    fitting = min(max(1, fitting), count)
    start = min(max(position - fitting // 2, 0), count - fitting)
    return range(start, start + fitting)


def format_sweep_cell(run: RunRow | None) -> Span:
    """Format the state of a run, how far it is, or the accuracy of a finished one."""
    if run is None:
        return "", ""
    if run.state is RunState.FINISHED and run.target_accuracy is not None:
        return format_percent(run.target_accuracy), ""
    glyph, role = STATE_STYLES[run.state]
    if run.state is RunState.RUNNING and run.progress is not None:
        return f"{glyph} {100 * run.progress:.0f} %", role
    return glyph, role


def format_sweep_figure(snapshot: SweepSnapshot, width: int, height: int, glyphs: GlyphSet, palette: str) -> Content:
    """Draw the accuracy against the setting with most values, as `clarinet plot setting` does.

    The first panel is as high as there is room for.
    """
    if snapshot.figure is None:
        return styled()
    from clarinet_tui.analysis.figures.figure import Panel
    from clarinet_tui.analysis.figures.terminal_output import HEIGHT, figure_lines

    panel = snapshot.figure.panels[0]
    legend = len(panel.curves) + 1 if isinstance(panel, Panel) else 0
    lines = figure_lines(snapshot.figure, width, glyphs, palette, max(MINIMUM_CHART, min(HEIGHT, height - legend)))
    return Content("\n").join(map(Content.from_rich_text, lines))
