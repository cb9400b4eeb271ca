"""From what a step measures to the events that tell of it: each iteration once, in order, and soon."""

import math
from collections import deque
from collections.abc import Iterable, Iterator

import torch

from core.events import Stepped
from core.methods.algorithm import StepMetrics
from core.training.metric_buffer import MetricBuffer, Row
from core.training.plan import StagePlan


class MetricQueue:
    """Rows wait on the device, then as events that were not yielded yet; both belong to a checkpoint."""

    def __init__(self, device: torch.device) -> None:
        self._ring = MetricBuffer(device)
        self._block_began = 0.0
        self.pending: deque[Stepped] = deque()

    def add(self, stage: StagePlan, iteration: int, seconds: float, measured: StepMetrics) -> None:
        if not self._ring.can_hold(tuple(measured.on_device)):
            self.fetch(stage, seconds)
        self._ring.append(iteration, seconds, measured.on_device, measured.on_host)

    def is_due(self, seconds: float) -> bool:
        return self._ring.is_due(seconds)

    def restart_speed(self, seconds: float) -> None:
        """Speed counts from here: what went before was no training."""
        self._block_began = seconds

    def fetch(self, stage: StagePlan, seconds: float) -> None:
        """Bring the rows over from the device; they wait as events."""
        rows = self._ring.drain()
        if not rows:
            return
        both = stage.spec.adapts and stage.adaptation_step_of(rows[0].iteration) > 0
        images = stage.batch_size * (2 if both else 1) * len(rows)
        speed = images / max(seconds - self._block_began, 1e-9)
        self._block_began = seconds
        self.pending.extend(_stepped(stage, row, speed) for row in rows)

    def take_all(self) -> Iterator[Stepped]:
        while self.pending:
            yield self.pending.popleft()

    def restore(self, events: Iterable[Stepped]) -> None:
        self.pending = deque(events)

    def is_finite(self) -> bool:
        return all(is_finite(event) for event in self.pending)


def is_finite(event: Stepped) -> bool:
    return all(math.isfinite(value) for value in event.measured.values())


def _stepped(stage: StagePlan, row: Row, speed: float) -> Stepped:
    epoch = stage.epoch_of(row.iteration)
    return Stepped(
        iteration=row.iteration,
        epoch=epoch,
        adaptation_epoch=stage.adaptation_epoch_of(epoch),
        stage=stage.spec.name,
        seconds=row.seconds,
        measured=row.measured | {"samples_per_second": speed},
    )
