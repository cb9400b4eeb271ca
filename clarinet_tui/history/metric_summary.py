"""Summaries of a metric over a run's iterations, in time that does not depend on the run's length."""

from dataclasses import dataclass

from clarinet_tui.history.curves import read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import read_iterations
from clarinet_tui.history.rollups import BASE

RECENT = 100
"""Iterations before the metric's last value: metrics of stage 1 end with it."""


@dataclass(frozen=True)
class MetricSummary:
    """`last` and `mean` are of the recent iterations and may be NaN; the extremes are of the finite values."""

    last: float | None
    mean: float | None
    minimum: float | None
    maximum: float | None
    missing: int
    """The number of values that are not finite."""


def summarize_metric(
    db: Database, run_id: str, metric: str, *, start: int | None = None, stop: int | None = None
) -> MetricSummary | None:
    """Summarize the iterations from `start` to before `stop`; None if the metric has no value there."""
    import numpy as np

    curve = read_series(db, run_id, metric, start=start, stop=stop, width=1)
    if not len(curve.x):
        return None
    recent = _read_recent(db, run_id, metric, start or 0, stop if stop is not None else 2**62)
    finite = np.isfinite(curve.low).any()
    return MetricSummary(
        last=recent[-1] if recent else None,
        mean=sum(recent) / len(recent) if recent else None,
        minimum=float(np.nanmin(curve.low)) if finite else None,
        maximum=float(np.nanmax(curve.high)) if finite else None,
        missing=int(curve.missing.sum()),
    )


def _read_recent(db: Database, run_id: str, metric: str, start: int, stop: int) -> list[float]:
    """Read the recent values, starting from the last bucket that has any."""
    row = db.row(
        "SELECT max(bucket) FROM rollups WHERE run = ? AND metric = ? AND level = 1 AND bucket <= ?",
        (run_id, metric, (stop - 1) // BASE),
    )
    if row is None or row[0] is None:
        return []
    end = min(stop, (row[0] + 1) * BASE)
    rows = read_iterations(db, run_id, start=max(start, end - BASE - RECENT), stop=end)
    return [row[metric] for row in rows if metric in row][-RECENT:]
