"""A queue that starts nothing, and a machine with fixed devices."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.runs.directory import RunDirectory
from core.resolve import resolve
from tests.support.nvml import ELSEWHERE, install_standin
from tests.support.supervised import enqueue_directly
from tests.support.ui_runs import NOW

GIB = 1 << 30
CPU = Device(
    key="cpu", label="cpu", name="Tidy CPU", cores=8, memory_total=64 * GIB, memory_used=8 * GIB, utilization=25.0
)


def fill_queue(runs_dir: Path, *names: str, paused: bool = True, device: str = "auto") -> list[RunDirectory]:
    """Runs that wait, in this order; written to the file itself, so that no supervisor comes."""
    runs = []
    for seed, name in enumerate(names, start=1):
        config = resolve(preset="smoke", seed=seed, method="clarinet" if seed % 2 else "gac+dan", device=device)
        when = datetime.fromtimestamp(NOW - 60 * seed, UTC)
        runs.append(RunDirectory.create(runs_dir, config, id=name, now=when))
    update_queue(runs_dir, lambda queue: queue.with_paused(paused))
    enqueue_directly(*runs, device=device)
    return runs


def hold_queue(runs_dir: Path) -> None:
    """Pause the queue, so that runs queued later do not start."""
    update_queue(runs_dir, lambda queue: queue.with_paused(True))


def waiting(runs_dir: Path) -> list[str]:
    return [entry.id for entry in read_queue(runs_dir).waiting]


def still_machine(library: Path, patch: pytest.MonkeyPatch) -> None:
    """Four GPUs of the stand-in, a stranger on one of them, and a CPU that never changes."""
    install_standin(library, patch)
    patch.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
    patch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    patch.setattr("clarinet_tui.devices.local.read_cpu", lambda *_: CPU)
    patch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)))
