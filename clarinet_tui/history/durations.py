"""How long runs take: the speed of finished runs, and the time left of running ones."""

from collections.abc import Collection, Mapping
from statistics import median
from typing import Any, NamedTuple

from clarinet_tui.history.database import Database
from clarinet_tui.runs.state import RunState

RECENT = 5
"""The newest finished runs that a speed is measured on."""


class Phase(NamedTuple):
    """The warm-up or the rest of a stage: their iterations take different times."""

    stage: str
    adapts: bool


class Speeds(NamedTuple):
    """The median seconds of an iteration: in each phase, and in whole runs."""

    phases: Mapping[Phase, float]
    whole: float
    runs: int
    """The number of runs that were measured."""


class RunKind(NamedTuple):
    method: str
    task: str
    preset: str
    on_gpu: bool


_RECENT_RUNS = f"""SELECT id, seconds / (iteration - given) FROM (SELECT *,
        ifnull((SELECT min(iteration) - 1 FROM iterations WHERE run = runs.id), 0) AS given FROM runs
        WHERE state = 'finished' AND task = :task AND seconds > 0
            AND (ifnull(device, '') GLOB 'cuda*' OR device GLOB 'xpu*' OR device GLOB 'mps*') = :on_gpu
            AND (method = :method
                OR :stage IS NOT NULL AND EXISTS (SELECT 1 FROM evaluations WHERE run = runs.id AND stage = :stage))
        ORDER BY preset = :preset DESC, ended DESC LIMIT {RECENT})
    WHERE iteration > given"""
"""The newest finished runs of a method, or with a stage, first those of the preset; and the seconds of an iteration.

A stage 1 that another run has trained counts neither in the seconds nor in the iterations.
"""
_POINTS = """SELECT iteration, seconds, stage, adaptation_epoch IS NOT NULL FROM evaluations
        WHERE run = :run AND seconds IS NOT NULL
    UNION ALL SELECT iteration, seconds, NULL, 0 FROM events WHERE run = :run AND event = 'stage' AND NOT superseded
    ORDER BY 1, 2"""
"""When a run evaluated, and when its stages started."""


def measure_speeds(db: Database, kind: RunKind, phases: Collection[Phase]) -> Speeds | None:
    """Measure finished runs of a method and task, first those of the preset; None if there are none.

    A phase that they did not train, such as a stage 1 whose labels were given, is measured on runs of other methods.
    """
    runs = dict(db.tuples(_RECENT_RUNS, {**kind._asdict(), "stage": None}))
    if not runs:
        return None
    measured = _measure_phases(db, runs)
    for stage in {phase.stage for phase in phases if phase not in measured}:
        others = db.tuples(_RECENT_RUNS, {**kind._asdict(), "method": None, "stage": stage})
        measured = _measure_phases(db, [run for run, _ in others]) | measured
    return Speeds(measured, median(runs.values()), len(runs))


def _measure_phases(db: Database, runs: Collection[str]) -> dict[Phase, float]:
    """Return the median over runs of the seconds of an iteration, added up from evaluation to evaluation."""
    speeds: dict[Phase, list[float]] = {}
    for run in runs:
        totals: dict[Phase, tuple[int, float]] = {}
        last_iteration, last_seconds = 0, 0.0
        for iteration, seconds, stage, adapts in db.tuples(_POINTS, {"run": run}):
            if stage and iteration > last_iteration and seconds > last_seconds:
                phase = Phase(stage, bool(adapts))
                before = totals.get(phase, (0, 0.0))
                totals[phase] = before[0] + iteration - last_iteration, before[1] + seconds - last_seconds
            last_iteration, last_seconds = iteration, seconds
        for phase, (iterations, phase_seconds) in totals.items():
            speeds.setdefault(phase, []).append(phase_seconds / iterations)
    return {phase: median(values) for phase, values in speeds.items()}


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
