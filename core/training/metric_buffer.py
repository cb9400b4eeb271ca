"""Metrics collect on the device and come over in blocks, so that no iteration waits for another."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

CAPACITY = 256
SECONDS = 0.25


@dataclass(frozen=True)
class Row:
    """One iteration's numbers, on the host."""

    iteration: int
    seconds: float
    measured: dict[str, float]


class MetricBuffer:
    """Rows of one set of names at a time; the caller drains before the names change."""

    def __init__(self, device: torch.device, capacity: int = CAPACITY) -> None:
        self._device = device
        self._capacity = capacity
        self._names: tuple[str, ...] = ()
        self._values = torch.empty(0)
        self._host: list[tuple[int, float, dict[str, float]]] = []
        self._began = 0.0

    def __len__(self) -> int:
        return len(self._host)

    def is_due(self, seconds: float) -> bool:
        """Full, or its first row is old enough to be asked for."""
        return len(self._host) >= self._capacity or (bool(self._host) and seconds - self._began >= SECONDS)

    def can_hold(self, names: tuple[str, ...]) -> bool:
        return not self._host or (names == self._names and len(self._host) < self._capacity)

    def append(
        self, iteration: int, seconds: float, on_device: Mapping[str, Tensor], on_host: dict[str, float]
    ) -> None:
        """Keep one row; what is on the device stays there until `drain`."""
        names = tuple(on_device)
        if not self._host:
            self._began = seconds
            if names != self._names:
                self._names = names
                self._values = torch.empty((self._capacity, len(names)), device=self._device)
        torch.stack([value.detach().float() for value in on_device.values()], out=self._values[len(self._host)])
        self._host.append((iteration, seconds, on_host))

    def drain(self) -> list[Row]:
        """Bring the rows over, oldest first: the one place where the host waits for the device."""
        if not self._host:
            return []
        values = self._values[: len(self._host)].tolist()
        rows = [
            Row(iteration, seconds, dict(zip(self._names, numbers, strict=True)) | on_host)
            for numbers, (iteration, seconds, on_host) in zip(values, self._host, strict=True)
        ]
        self._host.clear()
        return rows
