"""A machine with four GPUs, one busy and one full: which GPU the supervisor gives to each worker."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.local import list_devices
from clarinet_tui.queue.queue_file import QueueEntry, read_queue, update_queue
from clarinet_tui.queue.supervisor import Supervisor
from clarinet_tui.queue.workers import LocalExecutor
from clarinet_tui.runs.directory import RunDirectory
from tests.support.nvml import BUSY, FREE, FULL, LARGE, build, environment, install_standin
from tests.support.supervised import (
    enqueue_directly,
    make_fault_run,
    read_worker_starts,
    running_supervisor,
    wait_until,
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


def visible_gpu(run: RunDirectory) -> str:
    """Return CUDA_VISIBLE_DEVICES of the run's worker, or "-" if it has not started."""
    starts = read_worker_starts(run)
    return starts[0][1] if starts else "-"


def enqueue(runs: Path, **devices: str) -> list[RunDirectory]:
    """Create and enqueue a run for each device; a `+` after the device allows sharing it."""
    queued = [make_fault_run(runs, name, "steps=100000") for name in devices]
    for run in queued:
        enqueue_directly(run, device=devices[run.id].removesuffix("+"), share_device=devices[run.id].endswith("+"))
    return queued


def test_each_worker_sees_one_free_gpu_and_no_other(runs: Path, library: Path) -> None:
    devices = {"auto1": "auto", "auto2": "auto", "auto3": "auto", "named": "cuda:2", "shares": "cuda:1+", "slow": "cpu"}
    auto1, auto2, auto3, named, shares, slow = enqueue(runs, **devices)
    with running_supervisor(runs, environment(library)):
        wait_until(lambda: all(read_worker_starts(run) for run in (auto1, auto2, shares, slow)), runs)
        assert {visible_gpu(auto1), visible_gpu(auto2)} == {FREE, LARGE}
        assert (visible_gpu(shares), visible_gpu(slow)) == (BUSY, "")
        assert (visible_gpu(auto3), visible_gpu(named)) == ("-", "-")
        assert [read_worker_starts(run)[0][2] for run in (auto1, shares, slow)] == ["cuda:0", "cuda:0", "cpu"]
        assert {entry.device_key for entry in read_queue(runs).started} == {FREE, LARGE, BUSY, "cpu"}
        update_queue(runs, lambda queue: queue.with_slots({FREE: 2}))
        wait_until(lambda: read_worker_starts(auto3), runs)
        assert (visible_gpu(auto3), visible_gpu(named)) == (FREE, "-")
        assert FULL not in {visible_gpu(run) for run in (auto1, auto2, auto3, shares)}


def test_cuda_visible_devices_of_a_batch_system_is_respected(runs: Path, library: Path) -> None:
    """The supervisor inherits CUDA_VISIBLE_DEVICES: its second GPU is cuda:1."""
    devices = {"auto1": "auto", "auto2": "auto", "named": "cuda:1+"}
    auto1, auto2, named = enqueue(runs, **devices)
    inherited = environment(library, {"CUDA_VISIBLE_DEVICES": f"{LARGE},{BUSY}"})
    with running_supervisor(runs, inherited):
        wait_until(lambda: read_worker_starts(auto1) and read_worker_starts(named), runs)
        assert (visible_gpu(auto1), visible_gpu(auto2), visible_gpu(named)) == (LARGE, "-", BUSY)


class RecordingExecutor(LocalExecutor):
    """Starts no process; records the runs and devices it was asked to start."""

    def __init__(self) -> None:
        super().__init__()
        self.starts: list[tuple[str, str]] = []

    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self.starts.append((run.id, device.key))


@contextmanager
def process_holding_lock(run: RunDirectory) -> Iterator[int]:
    """Start a process that holds the run's lock, like a worker of another supervisor, and yield its pid."""
    code = "import sys; from pathlib import Path; from clarinet_tui.runs.directory import RunDirectory\n"
    code += (
        f"with RunDirectory(Path({str(run.runs_dir)!r}), {run.id!r}).hold_lock(): print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-P", "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process.pid
        process.kill()


@pytest.mark.parametrize("adopted", [True, False])
def test_an_adopted_worker_is_not_a_foreign_process_on_its_gpu(
    runs: Path, library: Path, adopted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two slots: a run may start beside a worker of the same runs directory, but beside no other process."""
    install_standin(library, monkeypatch)
    one, two = make_fault_run(runs, "one"), make_fault_run(runs, "two")
    enqueue_directly(one, device_key=BUSY)
    enqueue_directly(two, device="cuda:1")
    update_queue(runs, lambda queue: queue.with_slots({"gpu": 2}))
    with process_holding_lock(one) as pid:
        monkeypatch.setenv("STANDIN_FOREIGN", str(pid if adopted else os.getpid()))
        executor = RecordingExecutor()
        Supervisor(runs, executor, devices=lambda: list_devices({}, seconds=0), log=lambda message: None).run_once()
    assert executor.starts == ([("two", BUSY)] if adopted else [])


def test_a_temporary_driver_failure_fails_no_run(runs: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_standin(library, monkeypatch)
    enqueue_directly(make_fault_run(runs, "one"), device="auto")
    executor = RecordingExecutor()
    now = [0.0]
    supervisor = Supervisor(
        runs, executor, devices=lambda: list_devices({}, seconds=0), clock=lambda: now[0], log=print
    )
    monkeypatch.setenv("STANDIN_INIT", "999")
    supervisor.run_once()
    assert (executor.starts, len(read_queue(runs).waiting)) == ([], 1)
    monkeypatch.delenv("STANDIN_INIT")
    now[0] += 60
    supervisor.run_once()
    assert executor.starts == [("one", FREE)]
