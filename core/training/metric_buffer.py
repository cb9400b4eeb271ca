"""Metrics of iterations: collected on the device, fetched in blocks, and yielded as events once and in order."""

from collections import deque
from collections.abc import Callable

import torch

from core.events import Stepped
from core.methods.algorithm import StepMetrics
from core.methods.plan import StagePlan

CAPACITY = 256
MAX_AGE = 0.25
"""Seconds after which metrics are fetched even if the buffer is not full."""


class MetricBuffer:
    """Metrics of the latest iterations on the device, a row each, with the same names in every row."""

    def __init__(self, device: torch.device, clock: Callable[[], float]) -> None:
        self._device = device
        self._clock = clock
        self._names: tuple[str, ...] = ()
        self._values = torch.empty(0)
        self._rows: list[tuple[int, float, dict[str, float]]] = []
        """The iteration, the seconds and the numbers of the host of each row."""
        self._block_start = 0.0
        self.pending: deque[Stepped] = deque()
        """Fetched events that were not yielded yet."""

    def add(self, stage: StagePlan, iteration: int, seconds: float, metrics: StepMetrics) -> None:
        """Add one iteration; its tensors stay on the device until `fetch`."""
        names = tuple(metrics.on_device)
        if self._rows and (names != self._names or len(self._rows) == CAPACITY):
            self.fetch(stage)
        if names != self._names:
            self._names = names
            self._values = torch.empty((CAPACITY, len(names)), device=self._device)
        values = [value.detach().float() for value in metrics.on_device.values()]
        torch.stack(values, out=self._values[len(self._rows)])
        self._rows.append((iteration, seconds, metrics.on_host))

    def is_due(self, seconds: float) -> bool:
        """Return whether the buffer is full or its first row is old enough to be fetched."""
        return bool(self._rows) and (len(self._rows) >= CAPACITY or seconds - self._rows[0][1] >= MAX_AGE)

    def restart_speed(self, seconds: float) -> None:
        """Measure speed from here: the time before was not spent on training."""
        self._block_start = seconds

    def fetch(self, stage: StagePlan) -> None:
        """Convert the rows to pending events: the one place where the host waits for the device."""
        if not self._rows:
            return
        values = self._values[: len(self._rows)].tolist()
        seconds = self._clock()  # after the wait: before it, iterations may not have been computed yet
        has_target = stage.adaptation_step_of(self._rows[0][0]) > 0
        images = stage.batch_size * (2 if has_target else 1) * len(self._rows)
        speed = images / max(seconds - self._block_start, 1e-9)
        self._block_start = seconds
        for (iteration, added, on_host), numbers in zip(self._rows, values, strict=True):
            epoch = stage.epoch_of(iteration)
            event = Stepped(
                iteration=iteration,
                epoch=epoch,
                adaptation_epoch=stage.adaptation_epoch_of(epoch),
                stage=stage.spec.name,
                seconds=added,
                measured=dict(zip(self._names, numbers, strict=True)) | on_host | {"samples_per_second": speed},
            )
            self.pending.append(event)
        self._rows.clear()
