"""How long runs take, estimated from finished runs of the same kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.runs.state import RunState

RunKind = tuple[str, str, str]
"""Method, task and preset."""


@dataclass(frozen=True)
class Duration:
    """The median training time, and the number of runs that it is from."""

    seconds: float
    runs: int


def typical_durations(db: Database) -> Mapping[RunKind, Duration]:
    """Return the durations of finished runs by kind."""
    seconds_by_kind: dict[RunKind, list[float]] = {}
    sql = """SELECT method, task, preset, seconds FROM runs
        WHERE state = 'finished' AND seconds > 0 AND method <> '' AND task <> '' AND preset <> ''"""
    for method, task, preset, seconds in db.tuples(sql):
        seconds_by_kind.setdefault((method, task, preset), []).append(seconds)
    return {kind: Duration(median(values), len(values)) for kind, values in seconds_by_kind.items()}


_SIMILAR_RUN = """SELECT other.seconds,
        (SELECT seconds FROM iterations WHERE run = other.id AND iteration = :iteration) AS seconds_here,
        ifnull((SELECT seconds FROM iterations WHERE run = other.id AND iteration = :shared), 0) AS seconds_shared
    FROM (SELECT id, seconds, ended FROM runs
        WHERE state = 'finished' AND method = :method AND task = :task AND preset = :preset
            AND iterations_total = :total
        ORDER BY ended DESC LIMIT 5) AS other
    WHERE seconds_here > seconds_shared AND other.seconds >= seconds_here
        AND (SELECT min(iteration) - 1 FROM iterations WHERE run = other.id) IN (0, :shared)
    ORDER BY other.ended DESC LIMIT 1"""
"""The newest finished run of the same kind and length: its total time, and its time at this run's iteration.

The iterations of a shared stage 1 count in neither of the two runs.
"""


def estimate_time_left(db: Database, run: Mapping[str, Any]) -> float | None:
    """Estimate the seconds left of a running run.

    An iteration of adaptation takes several times as long as one of warm-up. So the estimate scales the rest of a
    similar finished run to this run's speed; without such a run it extrapolates this run's own pace.
    """
    if run["state"] != RunState.RUNNING:
        return None
    names = ("iterations_total", "iteration", "iterations_given", "seconds")
    total, iteration, shared, seconds = (run[name] or 0 for name in names)
    if iteration <= shared or not total or not seconds:
        return None
    kind = {name: run[name] for name in ("method", "task", "preset")}
    similar = db.row(_SIMILAR_RUN, kind | {"total": total, "iteration": iteration, "shared": shared})
    if similar:
        seconds_total, seconds_here, seconds_shared = similar
        return float((seconds_total - seconds_here) * seconds / (seconds_here - seconds_shared))
    return float(max(total - iteration, 0) * seconds / (iteration - shared))
