"""Losses during training, read from the history's rollups, so the cost does not depend on the number of iterations."""

from collections.abc import Sequence
from dataclasses import replace

from clarinet_tui.analysis.bands import BAND_DESCRIPTIONS
from clarinet_tui.analysis.choices import BandKind
from clarinet_tui.analysis.comparison import Side
from clarinet_tui.analysis.figures.figure import Curve, Figure, Panel
from clarinet_tui.analysis.figures.figure_runs import FigureRuns, choose_unit, make_curve
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.history.curves import Series, list_metrics, read_series
from clarinet_tui.text import format_task
from core.errors import InputError
from core.metrics import shown_in

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
            missing += sum(int(curve.missing.sum()) for by_run in series for curve in by_run.values())
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
    unit, name = choose_unit([(curve.x, curve.mean) for by_run in series for curve in by_run.values()], UNITS)
    curves = []
    for side, by_run in zip(runs.sides_of_task(task), series, strict=True):
        scaled = {run: (one.x / unit, one.mean) for run, one in by_run.items()}
        curve = make_curve(side, runs.colour_indices[side.method], scaled, band, exact=False)
        if curve is not None:
            curves.append(_with_envelope(curve, list(by_run.values()), unit))
    title = metric.replace("_", " ")
    return Panel(f"{format_task(task)}: {title}", name, title, tuple(curves))


def _with_envelope(curve: Curve, series: list[Series], unit: float) -> Curve:
    """Give a single run the range of each point's iterations as its band; remove the noisy runs behind a mean."""
    if len(series) != 1:
        return replace(curve, members=())
    (one,) = series
    return replace(curve, x=one.x / unit, y=one.mean, low=one.low, high=one.high)
