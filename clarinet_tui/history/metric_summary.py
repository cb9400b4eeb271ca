"""Where a metric of a run's iterations stands: in time that does not grow with the run."""

from dataclasses import dataclass

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import iterations, series
from clarinet_tui.history.rollups import BASE

RECENT = 100
"""Iterations, counted from the metric's last: stage 1's metrics end with it."""


@dataclass(frozen=True)
class Standing:
    """`last` and `mean` are of the recent iterations and may be not a number; the extremes are of the finite values."""

    last: float | None
    mean: float | None
    least: float | None
    greatest: float | None
    missing: int
    """How many values are not finite."""


def standing(
    db: Database, run_id: str, metric: str, *, start: int | None = None, stop: int | None = None
) -> Standing | None:
    """Over the iterations from `start` to before `stop`; None where nothing was measured."""
    import numpy as np

    curve = series(db, run_id, metric, start=start, stop=stop, width=1)
    if not len(curve.x):
        return None
    recent = _recent(db, run_id, metric, start or 0, stop if stop is not None else 2**62)
    finite = np.isfinite(curve.low).any()
    return Standing(
        last=recent[-1] if recent else None,
        mean=sum(recent) / len(recent) if recent else None,
        least=float(np.nanmin(curve.low)) if finite else None,
        greatest=float(np.nanmax(curve.high)) if finite else None,
        missing=int(curve.missing.sum()),
    )


def _recent(db: Database, run_id: str, metric: str, start: int, stop: int) -> list[float]:
    """Found from the last bucket that has any."""
    row = db.row(
        "SELECT max(bucket) FROM rollups WHERE run = ? AND metric = ? AND level = 1 AND bucket <= ?",
        (run_id, metric, (stop - 1) // BASE),
    )
    if row is None or row[0] is None:
        return []
    end = min(stop, (row[0] + 1) * BASE)
    rows = iterations(db, run_id, start=max(start, end - BASE - RECENT), stop=end)
    return [row[metric] for row in rows if metric in row][-RECENT:]
