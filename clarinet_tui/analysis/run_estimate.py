"""Estimate how long runs will take before they start: from finished runs, or from what a common machine needs."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import NamedTuple

from clarinet_tui.history.database import Database
from clarinet_tui.runs.stage1 import stage1_role
from core.config import RunConfig
from core.errors import InputError
from core.methods import find_method
from core.tasks import COLOUR, Domain, parse_task

CPU_SECONDS, GPU_SECONDS = {"grey": 0.12, "colour": 0.8}, {"grey": 0.008, "colour": 0.02}
"""Seconds of one core, or of a GPU, for an iteration with a batch of 128."""
USUAL_BATCH = 128


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
_PHASES = """SELECT stage, adapts, sum(seconds) / sum(iterations) FROM (
        SELECT stage, adapts, iteration - lag(iteration, 1, 0) OVER points AS iterations,
            seconds - lag(seconds, 1, 0.0) OVER points AS seconds FROM (
                SELECT iteration, seconds, stage, adaptation_epoch IS NOT NULL AS adapts FROM evaluations
                WHERE run = :run AND seconds IS NOT NULL
            UNION ALL SELECT iteration, seconds, NULL, 0 FROM events
                WHERE run = :run AND event = 'stage' AND NOT superseded)
        WINDOW points AS (ORDER BY iteration, seconds))
    WHERE stage IS NOT NULL AND iterations > 0 AND seconds > 0 GROUP BY stage, adapts"""
"""The seconds of an iteration in each phase of a run, added up from evaluation to evaluation."""


def _measure_phases(db: Database, runs: Iterable[str]) -> dict[Phase, float]:
    """Return the median over runs of the seconds of an iteration."""
    speeds: dict[Phase, list[float]] = {}
    for run in runs:
        for stage, adapts, seconds in db.tuples(_PHASES, {"run": run}):
            speeds.setdefault(Phase(stage, bool(adapts)), []).append(seconds)
    return {phase: median(values) for phase, values in speeds.items()}


@dataclass(frozen=True)
class RunEstimate:
    iterations: int
    seconds: float
    runs: int = 0
    """The finished runs whose speed was measured; 0 for a guess."""
    stage1_seconds: float = 0.0
    """The part of `seconds` that another run with the same stage 1 can save."""


class Estimator:
    """Estimates runs; the speed of a method on a task is read once."""

    def __init__(self, database: Database | None, data_dir: Path, *, on_gpu: bool) -> None:
        self._database, self._data_dir, self._on_gpu = database, data_dir, on_gpu
        self._speeds: dict[tuple[str, str, str, frozenset[Phase]], Speeds | None] = {}
        self._sizes: dict[str, tuple[int | None, int | None]] = {}

    def estimate(self, config: RunConfig) -> RunEstimate | None:
        """Return None if the number of images is not known, as for folders of images without a run."""
        planned = plan_phases(config, *self._count_images(config.task))
        if planned is None:
            return None
        key = (config.method, config.task, config.preset, frozenset(planned))
        if key not in self._speeds:
            self._speeds[key] = self._measure_speeds(config, planned)
        speeds = self._speeds[key]
        if speeds is None:
            image = "colour" if parse_task(config.task).shape == COLOUR else "grey"
            usual = GPU_SECONDS[image] if self._on_gpu else CPU_SECONDS[image] / config.threads
            speeds = Speeds({}, usual * config.batch_size / USUAL_BATCH, 0)
        seconds = {phase: count * speeds.phases.get(phase, speeds.whole) for phase, count in planned.items()}
        stage1 = {stage.name for stage in find_method(config.method).stages if stage.stage1}
        return RunEstimate(
            sum(planned.values()),
            sum(seconds.values()),
            speeds.runs,
            sum(value for phase, value in seconds.items() if phase.stage in stage1),
        )

    def estimate_all(self, configs: Iterable[RunConfig]) -> list[RunEstimate | None]:
        """Estimate runs that are started together: the first run with a stage 1 trains it for the others."""
        trained: set[str] = set()
        estimates = []
        for config in configs:
            estimate, role = self.estimate(config), stage1_role(config)
            if role and estimate and role.reuses_labels and role.signature in trained:
                estimate = replace(estimate, seconds=estimate.seconds - estimate.stage1_seconds)
            trained |= {role.signature} if role else set()
            estimates.append(estimate)
        return estimates

    def _measure_speeds(self, config: RunConfig, phases: Collection[Phase]) -> Speeds | None:
        """Measure finished runs of a method and task, first those of the preset; None if there are none.

        A phase that they did not train, such as a stage 1 whose labels were given, is measured on other methods' runs.
        """
        if self._database is None:
            return None
        kind = {"task": config.task, "preset": config.preset, "on_gpu": self._on_gpu}
        runs = dict(self._database.tuples(_RECENT_RUNS, {**kind, "method": config.method, "stage": None}))
        if not runs:
            return None
        measured = _measure_phases(self._database, runs)
        for stage in {phase.stage for phase in phases if phase not in measured}:
            others = self._database.tuples(_RECENT_RUNS, {**kind, "method": None, "stage": stage})
            measured = _measure_phases(self._database, dict(others)) | measured
        return Speeds(measured, median(runs.values()), len(runs))

    def _count_images(self, task: str) -> tuple[int | None, int | None]:
        """Return the images of source and target: those of the files, or as many as the newest run on them had."""
        if task not in self._sizes:
            parsed = parse_task(task)
            counts = _count_images(parsed.source, self._data_dir), _count_images(parsed.target, self._data_dir)
            if None in counts and self._database is not None:
                sql = """SELECT fields ->> 'source_size', fields ->> 'target_size' FROM events
                    WHERE event = 'started' AND run IN (SELECT id FROM runs WHERE task = ? AND state = 'finished')
                    ORDER BY time DESC LIMIT 1"""
                counts = next(iter(self._database.tuples(sql, (task,))), counts)
            self._sizes[task] = counts
        return self._sizes[task]


def plan_phases(config: RunConfig, source: int | None, target: int | None) -> dict[Phase, int] | None:
    """Return the iterations of each phase: complete batches of the longer domain, in each epoch of each stage."""
    if source is None or target is None:
        return None
    source = int(min(source, config.source_size or source) * config.source_fraction)
    target = min(target, config.target_size or target)
    planned = {}
    for stage in find_method(config.method).stages:
        images = max(source, target) if stage.adapts else source
        if stage.stage1:
            iterations = config.epoch_iterations or images // config.stage1.batch_size
            planned[Phase(stage.name, False)] = config.stage1.epochs * iterations
        else:
            iterations = config.epoch_iterations or images // config.batch_size
            if config.warmup_epochs:
                planned[Phase(stage.name, False)] = config.warmup_epochs * iterations
            planned[Phase(stage.name, True)] = config.epochs * iterations
    return planned


def _count_images(domain: Domain, data_dir: Path) -> int | None:
    """Return the training images of a domain; for a missing one, as many as it will have."""
    if domain.folder is not None:
        from core.data.custom_domains import count_images

        return count_images(domain.folder / "train.npz" if domain.folder.is_dir() else domain.folder)
    return _count_known(data_dir).get(domain.name)


@cache
def _count_known(data_dir: Path) -> dict[str, int]:
    from core.data.digit_domains import list_domains
    from core.data.synthetic import DEFAULT_SIZES

    try:
        domains = list_domains(data_dir)
    except (InputError, OSError):
        return {}
    generated = {"synth": DEFAULT_SIZES[0]}
    return {entry.name: entry.train or generated.get(entry.name, entry.published[0]) for entry in domains}
