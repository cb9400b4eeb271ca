"""Estimate how long runs will take before they start: from finished runs, or from what a common machine needs."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median

from clarinet_tui.history.database import Database
from core.config import RunConfig
from core.errors import InputError
from core.methods import find_method
from core.tasks import COLOUR, Domain, parse_task

CPU_SECONDS, GPU_SECONDS = {"grey": 0.12, "colour": 0.8}, {"grey": 0.008, "colour": 0.02}
"""Seconds of one core, or of a GPU, for an iteration with a batch of 128."""
USUAL_BATCH = 128


@dataclass(frozen=True)
class RunEstimate:
    iterations: int
    seconds: float
    is_measured: bool
    """Whether the speed is that of finished runs of the same method and task, not a guess."""


class Estimator:
    """Estimates runs; the speed of a method on a task is read once."""

    def __init__(self, database: Database | None, data_dir: Path, *, on_gpu: bool) -> None:
        self._database, self._data_dir, self._on_gpu = database, data_dir, on_gpu
        self._speeds: dict[tuple[str, str], float | None] = {}

    def estimate(self, config: RunConfig) -> RunEstimate | None:
        """Return None if the number of images is not known, as for folders of images."""
        iterations = count_iterations(config, self._data_dir)
        if iterations is None:
            return None
        measured = self._measured_seconds(config.method, config.task)
        seconds = measured or self._usual_seconds(config)
        return RunEstimate(iterations, iterations * seconds, measured is not None)

    def _measured_seconds(self, method: str, task: str) -> float | None:
        """Return the seconds of an iteration in the newest finished runs on the same kind of device."""
        if (method, task) not in self._speeds and self._database is not None:
            sql = f"""SELECT seconds / iteration FROM runs
                WHERE state = 'finished' AND method = ? AND task = ? AND seconds > 0 AND iteration > 0
                    AND device {"" if self._on_gpu else "NOT"} LIKE 'cuda%' ORDER BY ended DESC LIMIT 5"""
            speeds = [float(speed) for (speed,) in self._database.tuples(sql, (method, task))]
            self._speeds[method, task] = median(speeds) if speeds else None
        return self._speeds.get((method, task))

    def _usual_seconds(self, config: RunConfig) -> float:
        kind = "colour" if parse_task(config.task).shape == COLOUR else "grey"
        seconds = GPU_SECONDS[kind] if self._on_gpu else CPU_SECONDS[kind] / config.threads
        return seconds * config.batch_size / USUAL_BATCH


def count_iterations(config: RunConfig, data_dir: Path) -> int | None:
    """Return the iterations of a run: complete batches of the longer domain, in each epoch of each stage."""
    task = parse_task(config.task)
    source, target = _count_images(task.source, data_dir), _count_images(task.target, data_dir)
    if source is None or target is None:
        return None
    source = int(min(source, config.source_size or source) * config.source_fraction)
    target = min(target, config.target_size or target)
    total = 0
    for stage in find_method(config.method).stages:
        images = max(source, target) if stage.adapts else source
        if stage.stage1:
            total += config.stage1.epochs * (config.epoch_iterations or images // config.stage1.batch_size)
        else:
            total += (config.warmup_epochs + config.epochs) * (config.epoch_iterations or images // config.batch_size)
    return total


def _count_images(domain: Domain, data_dir: Path) -> int | None:
    """Return the training images of a domain; for a missing one, as many as it will have."""
    if domain.folder is not None:
        return _count_custom(domain.folder)
    return _count_known(data_dir).get(domain.name)


def _count_custom(folder: Path) -> int | None:
    from core.data.npz import count_images

    return count_images(folder / "train.npz" if folder.is_dir() else folder)


@cache
def _count_known(data_dir: Path) -> dict[str, int]:
    from core.data.catalogue import list_domains
    from core.data.synth import DEFAULT_SIZES

    try:
        domains = list_domains(data_dir)
    except (InputError, OSError):
        return {}
    generated = {"synth": DEFAULT_SIZES[0]}
    return {entry.name: entry.train or generated.get(entry.name, entry.published[0]) for entry in domains}
