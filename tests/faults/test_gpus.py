"""A machine with several GPUs: which one each worker gets, and runs of several queues that start together on them."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import pynvml
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.local import list_devices
from clarinet_tui.queue.queue_file import QueueEntry, read_queue, update_queue
from clarinet_tui.queue.supervisor import GPU_IN_USE, LocalExecutor, Supervisor
from clarinet_tui.runs.directory import RunDirectory
from tests.support.forked_python import held_in_process
from tests.support.nvml import BUSY, FREE, LARGE, environment, install_standin
from tests.support.supervised import (
    RecordingExecutor,
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    read_worker_starts,
    running_supervisor,
    runs_directory,
    wait_until,
)
from tests.support.workers import events_named, make_task, read_events, start_worker_process, tiny_run


def visible_gpus(run: RunDirectory) -> list[str]:
    """Return CUDA_VISIBLE_DEVICES of each worker that the run has had."""
    return [start[1] for start in read_worker_starts(run)]


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
        assert sorted(visible_gpus(auto1) + visible_gpus(auto2)) == sorted([FREE, LARGE])
        assert [visible_gpus(run) for run in (shares, slow, auto3, named)] == [[BUSY], [""], [], []]
        assert [read_worker_starts(run)[0][2] for run in (auto1, shares, slow)] == ["cuda:0", "cuda:0", "cpu"]
        assert {entry.device_key for entry in read_queue(runs).started} == {FREE, LARGE, BUSY, "cpu"}
        update_queue(runs, lambda queue: queue.with_slots({FREE: 2}))
        wait_until(lambda: read_worker_starts(auto3), runs)
        assert (visible_gpus(auto3), visible_gpus(named)) == ([FREE], [])


def test_cuda_visible_devices_of_a_batch_system_is_respected(runs: Path, library: Path) -> None:
    """The supervisor inherits CUDA_VISIBLE_DEVICES: its second GPU is cuda:1."""
    devices = {"auto1": "auto", "auto2": "auto", "named": "cuda:1+"}
    auto1, auto2, named = enqueue(runs, **devices)
    inherited = environment(library, {"CUDA_VISIBLE_DEVICES": f"{LARGE},{BUSY}"})
    with running_supervisor(runs, inherited):
        wait_until(lambda: read_worker_starts(auto1) and read_worker_starts(named), runs)
        assert [visible_gpus(run) for run in (auto1, auto2, named)] == [[LARGE], [], [BUSY]]


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
    with held_in_process(RunDirectory.hold_lock, one) as worker:
        monkeypatch.setenv("STANDIN_FOREIGN", str(worker.pid if adopted else os.getpid()))
        executor = RecordingExecutor()
        Supervisor(runs, executor, devices=lambda: list_devices({}, seconds=0), log=lambda message: None).run_once()
    assert executor.calls == ([f"start two on {BUSY}"] if adopted else [])


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
    assert (executor.calls, len(read_queue(runs).waiting)) == ([], 1)
    monkeypatch.delenv("STANDIN_INIT")
    now[0] += 60
    supervisor.run_once()
    assert executor.calls == [f"start one on {FREE}"]


@contextmanager
def two_queues(folder: Path, variables: dict[str, str]) -> Iterator[list[RunDirectory]]:
    """Two users with a run each, whose supervisors start together."""
    with ExitStack() as stack:
        folders = [stack.enter_context(runs_directory(folder / name)) for name in ("ann", "bob")]
        runs = [make_fault_run(each, "train", "steps=100000") for each in folders]
        for run in runs:
            enqueue_directly(run, device="auto")
        for each in folders:
            stack.enter_context(running_supervisor(each, variables))
        yield runs


def test_two_queues_take_different_gpus(tmp_path: Path, library: Path) -> None:
    """Both supervisors see two free GPUs and choose the first; the worker that is late goes back to its queue."""
    with two_queues(tmp_path, environment(library, {"CUDA_VISIBLE_DEVICES": f"{FREE},{LARGE}"})) as runs:
        wait_until(lambda: all(read_worker_starts(run) for run in runs), tmp_path)
        assert sorted(gpu for run in runs for gpu in visible_gpus(run)) == sorted([FREE, LARGE])


def test_a_run_waits_until_the_gpu_of_another_queue_is_free(tmp_path: Path, library: Path) -> None:
    with two_queues(tmp_path, environment(library, {"CUDA_VISIBLE_DEVICES": FREE})) as runs:
        wait_until(lambda: any(read_worker_starts(run) for run in runs), tmp_path)
        first, second = sorted(runs, key=lambda run: not read_worker_starts(run))
        wait_until(lambda: read_queue(second.runs_dir).waiting, tmp_path)
        assert (visible_gpus(second), second.journal.exists()) == ([], False), "nothing was recorded as a failure"
        os.kill(int(read_worker_starts(first)[0][0]), signal.SIGKILL)
        wait_until(lambda: read_worker_starts(second), tmp_path)
        assert visible_gpus(second) == [FREE]


def test_two_workers_race_for_one_gpu(tmp_path: Path) -> None:
    """The real worker locks its GPU before it loads torch: the other one ends without a trace in its journal."""
    task = make_task(tmp_path)
    with ExitStack() as stack:
        runs = [tiny_run(tmp_path / name, task, "train", "clarinet", epochs=100_000) for name in ("ann", "bob")]
        workers = [start_worker_process(run, f"--gpu={FREE}", "--queued", "--device", "cpu") for run in runs]
        for worker in workers:
            stack.callback(worker.kill)
        wait_until(lambda: any(worker.poll() is not None for worker in workers), tmp_path)
        (late,) = (number for number, worker in enumerate(workers) if worker.poll() is not None)
        won, lost = runs[1 - late], runs[late]
        assert workers[late].returncode == GPU_IN_USE, read_logs(tmp_path)
        wait_until(lambda: events_named(won, "step"), tmp_path)
        workers[1 - late].terminate()
        assert workers[1 - late].wait(120) == 128 + signal.SIGTERM, read_logs(tmp_path)
    assert last_event(won) == "stopped"
    assert (read_events(lost), lost.config.exists()) == ([], True)
    assert f"{FREE} is in use by run train of" in lost.log.read_text()


class StubbornExecutor(LocalExecutor):
    """Starts a process that ends at once with an exit code, and records the devices; `occupied` runs never end."""

    def __init__(self, code: int, occupied: str = "") -> None:
        super().__init__()
        self.code, self.occupied, self.keys = code, occupied, list[str]()

    def is_running(self, run: RunDirectory) -> bool:
        return run.id == self.occupied or super().is_running(run)

    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self.keys.append(device.key)
        super().start(run, entry, device)

    def command(self, run: RunDirectory, entry: QueueEntry, device: Device) -> list[str]:
        return ["sh", "-c", f"exit {self.code}"]


def runs_started(supervisor: Supervisor, executor: StubbornExecutor, count: int) -> bool:
    supervisor.run_once()
    return len(executor.keys) >= count


@pytest.mark.parametrize(("code", "keys"), [(1, [FREE, LARGE, FREE]), (GPU_IN_USE, [FREE, FREE, FREE])])
def test_a_gpu_that_failed_a_run_is_tried_last(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch, code: int, keys: list[str]
) -> None:
    install_standin(library, monkeypatch)
    with runs_directory(tmp_path / "runs") as runs:
        enqueue_directly(make_fault_run(runs, "one"), device="auto", retries=2)
        executor = StubbornExecutor(code)
        supervisor = Supervisor(
            runs, executor, devices=lambda: list_devices({"CUDA_VISIBLE_DEVICES": "0,3"}, seconds=0), log=print
        )
        for count in range(1, 4):
            wait_until(partial(runs_started, supervisor, executor, count), runs)
        assert executor.keys[:3] == keys
        waiting = read_queue(runs)
        assert waiting["one"].retries == (0 if code == 1 else 2), "only a failure uses a retry"
        update_queue(runs, lambda queue: queue.without(["one"]))


def test_the_supervisor_keeps_the_library_open_only_while_runs_wait(
    tmp_path: Path, library: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_standin(library, monkeypatch)
    monkeypatch.setenv("STANDIN_GPUS", "1")
    nvml = pynvml.nvmlLib
    now = [0.0]
    with runs_directory(tmp_path / "runs") as runs:
        enqueue_directly(make_fault_run(runs, "one"), device="cuda:0", device_key=FREE)
        enqueue_directly(make_fault_run(runs, "two"), device="cuda:0")
        executor = StubbornExecutor(0, occupied="one")
        supervisor = Supervisor(runs, executor, clock=lambda: now[0], log=print)
        opened = nvml.standin_inits()
        for _ in range(3):
            supervisor.run_once()
            now[0] += 60
        assert (nvml.standin_inits() - opened, nvml.standin_users(), executor.keys) == (1, 1, [])
        update_queue(runs, lambda queue: queue.without(["two"]))
        supervisor.run_once()
        assert nvml.standin_users() == 0
