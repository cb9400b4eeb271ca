"""Losses during training, read from the history's rollups, so the cost does not depend on the number of iterations."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from clarinet_tui.evidence.bands import BAND_DESCRIPTIONS
from clarinet_tui.evidence.choices import BandKind
from clarinet_tui.evidence.figures.figure import Curve, Figure, Panel
from clarinet_tui.evidence.figures.figure_runs import FigureRuns, choose_unit, make_curve
from clarinet_tui.evidence.run_records import RunRecords
from clarinet_tui.evidence.sides import Side
from clarinet_tui.history.curves import Series, list_metrics, read_series
from clarinet_tui.text import format_task
from core.errors import InputError
from core.metrics import shown_in

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Points

METRICS = tuple(shown_in("loss figure"))
POINTS = 100
"""Points of a curve, each the mean of its iterations."""
UNITS = ((1e6, "iteration (millions)"), (1e3, "iteration (thousands)"), (1.0, "iteration"))


def losses_figure(
    reader: RunRecords,
    runs: FigureRuns,
    *,
    metrics: Sequence[str] = METRICS,
    band: BandKind = "std",
    points: int = POINTS,
) -> Figure:
    """A panel for each task and metric that any run has."""
    _refuse_unknown(reader, runs, [name for name in metrics if name not in METRICS])
    panels, missing = [], 0
    for task in runs.tasks:
        for metric in metrics:
            series = [_read(reader, side, metric, points) for side in runs.sides_of_task(task)]
            missing += sum(int(one.missing.sum()) for of_side in series for one in of_side.values())
            panels.append(_panel(runs, task, metric, series, band))
    notes = [
        f"Curve: mean over seeds of the finished runs; band: {BAND_DESCRIPTIONS[band]}; "
        "for a single run, the range of the iterations that a point averages."
    ]
    notes += [f"{missing} values are not finite and not drawn"] if missing else []
    drawn = tuple(panel for panel in panels if panel.curves)
    return Figure("losses", "Losses", drawn, (*notes, *runs.notes), columns=min(3, len(metrics)))


def _refuse_unknown(reader: RunRecords, runs: FigureRuns, metrics: Sequence[str]) -> None:
    if metrics:
        known = {name for side in runs.sides for run in side.runs for name in list_metrics(reader.db, run.run)}
        for name in metrics:
            if name not in known:
                raise InputError(f"--metric: no run has {name!a}; available: {', '.join(sorted(known)) or 'none yet'}")


def _read(reader: RunRecords, side: Side, metric: str, points: int) -> dict[str, Series]:
    series = {run.run: read_series(reader.db, run.run, metric, width=points) for run in side.runs}
    return {run: one for run, one in series.items() if len(one.x)}


def _panel(runs: FigureRuns, task: str, metric: str, series: list[dict[str, Series]], band: BandKind) -> Panel:
    points: list[dict[str, Points]] = [{run: (one.x, one.mean) for run, one in of_side.items()} for of_side in series]
    unit, name = choose_unit([one for of_side in points for one in of_side.values()], UNITS)
    curves: list[Curve] = []
    for side, of_side, read in zip(runs.sides_of_task(task), points, series, strict=True):
        scaled = {run: (x / unit, y) for run, (x, y) in of_side.items()}
        curve = make_curve(side, runs.colour_indices[side.method], scaled, band, exact=False)
        if curve is not None:
            curves.append(_with_envelope(curve, list(read.values()), unit))
    title = metric.replace("_", " ")
    return Panel(f"{format_task(task)}: {title}", name, title, tuple(curves))


def _with_envelope(curve: Curve, series: list[Series], unit: float) -> Curve:
    """Give a single run the range of the iterations of each point as its band.

    Single runs behind a mean are too noisy to be drawn.
    """
    if len(series) != 1:
        return replace(curve, members=())
    (one,) = series
    return replace(curve, x=one.x / unit, y=one.mean, low=one.low, high=one.high)
