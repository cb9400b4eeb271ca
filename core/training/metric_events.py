"""From what a step measures to the events that tell of it: each iteration once, in order, and soon."""

import math
from collections import deque
from collections.abc import Iterable, Iterator

import torch

from core.events import Stepped
from core.methods.algorithm import Measured
from core.training.metric_buffer import Ring, Row
from core.training.plan import StagePlan


class Meter:
    """Rows wait on the device, then as events that were not yielded yet; both belong to a checkpoint."""

    def __init__(self, device: torch.device) -> None:
        self._ring = Ring(device)
        self._block_began = 0.0
        self.pending: deque[Stepped] = deque()

    def take(self, stage: StagePlan, iteration: int, seconds: float, measured: Measured) -> None:
        if not self._ring.fits(tuple(measured.on_device)):
            self.collect(stage, seconds)
        self._ring.write(iteration, seconds, measured.on_device, measured.on_host)

    def due(self, seconds: float) -> bool:
        return self._ring.due(seconds)

    def begin_block(self, seconds: float) -> None:
        """Speed counts from here: what went before was no training."""
        self._block_began = seconds

    def collect(self, stage: StagePlan, seconds: float) -> None:
        """Bring the rows over from the device; they wait as events."""
        rows = self._ring.drain()
        if not rows:
            return
        both = stage.spec.adapts and stage.adaptation_step_of(rows[0].iteration) > 0
        images = stage.batch_size * (2 if both else 1) * len(rows)
        speed = images / max(seconds - self._block_began, 1e-9)
        self._block_began = seconds
        self.pending.extend(_stepped(stage, row, speed) for row in rows)

    def deliver(self) -> Iterator[Stepped]:
        while self.pending:
            yield self.pending.popleft()

    def restore(self, events: Iterable[Stepped]) -> None:
        self.pending = deque(events)

    def finite(self) -> bool:
        return all(finite(event) for event in self.pending)


def finite(event: Stepped) -> bool:
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
