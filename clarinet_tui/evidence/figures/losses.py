"""Losses along the iterations, from the history's rollups: as quick for a million iterations as for a thousand."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.figures.figure import BAND_DESCRIPTIONS, BandKind, Curve, Figure, Panel
from clarinet_tui.evidence.figures.figure_runs import FigureRuns, choose_unit, make_curve
from clarinet_tui.evidence.run_records import RunRecords
from clarinet_tui.evidence.sides import Side
from clarinet_tui.history.queries import Series, list_metrics, read_series
from core.errors import InputError
from core.metrics import shown_in

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Points

METRICS = tuple(shown_in("loss figure"))
POINTS = 100
"""Columns of a curve: each is the mean of its iterations, which takes most of the noise away."""
UNITS = ((1e6, "iteration (millions)"), (1e3, "iteration (thousands)"), (1.0, "iteration"))


def losses_figure(
    archive: RunRecords,
    chosen: FigureRuns,
    *,
    metrics: Sequence[str] = METRICS,
    band: BandKind = "std",
    points: int = POINTS,
) -> Figure:
    """A panel for each task and metric that any run has measured."""
    _refuse_unknown(archive, chosen, [name for name in metrics if name not in METRICS])
    panels, missing = [], 0
    for task in chosen.tasks:
        for metric in metrics:
            found = [_read(archive, side, metric, points) for side in chosen.sides_of_task(task)]
            missing += sum(int(one.missing.sum()) for runs in found for one in runs.values())
            panels.append(_panel(chosen, task, metric, found, band))
    notes = [
        f"Line: mean over seeds of the finished runs; band: {BAND_DESCRIPTIONS[band]}; "
        "of a single run, from the least to the greatest iteration that a point stands for."
    ]
    notes += [f"{missing} values are not finite and are not drawn"] if missing else []
    drawn = tuple(panel for panel in panels if panel.curves)
    return Figure("losses", "Losses", drawn, (*notes, *chosen.notes), columns=min(3, len(metrics)))


def _refuse_unknown(archive: RunRecords, chosen: FigureRuns, asked: Sequence[str]) -> None:
    if asked:
        known = {name for side in chosen.sides for fact in side.runs for name in list_metrics(archive.db, fact.run)}
        for name in asked:
            if name not in known:
                raise InputError(f"--metric: no run has {name!a}; they have {', '.join(sorted(known)) or 'none yet'}")


def _read(archive: RunRecords, side: Side, metric: str, points: int) -> dict[str, Series]:
    found = {fact.run: read_series(archive.db, fact.run, metric, width=points) for fact in side.runs}
    return {run: one for run, one in found.items() if len(one.x)}


def _panel(chosen: FigureRuns, task: str, metric: str, found: list[dict[str, Series]], band: BandKind) -> Panel:
    curves: list[dict[str, Points]] = [{run: (one.x, one.mean) for run, one in runs.items()} for runs in found]
    unit, name = choose_unit([curve for runs in curves for curve in runs.values()], UNITS)
    lines: list[Curve] = []
    for side, runs, read in zip(chosen.sides_of_task(task), curves, found, strict=True):
        scaled = {run: (x / unit, y) for run, (x, y) in runs.items()}
        line = make_curve(side, chosen.colour_indices[side.method], scaled, band, exact=False)
        if line is not None:
            lines.append(_with_envelope(line, list(read.values()), unit))
    words = metric.replace("_", " ")
    return Panel(f"{short_name(task)}: {words}", name, words, tuple(lines))


def _with_envelope(line: Curve, read: list[Series], unit: float) -> Curve:
    """A single run has no spread over seeds, but each of its points stands for many iterations.

    The runs behind a mean are too noisy to be seen apart: the band alone tells of them.
    """
    if len(read) != 1:
        return replace(line, members=())
    (one,) = read
    return replace(line, x=one.x / unit, y=one.mean, low=one.low, high=one.high)
