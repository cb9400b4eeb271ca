"""The wall clock jumps: no run is killed early or started twice, and the supervisor exits when it should."""

import time
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor import IDLE_SECONDS, LOCK_TIMEOUT, Supervisor
from clarinet_tui.runs.environment import write_environment
from clarinet_tui.runs.lock import current_process
from core.events import Finished
from tests.support.events import resumed, started, step
from tests.support.histories import write_events
from tests.support.supervised import RecordingExecutor, enqueue_directly, make_fault_run, read_state

DAY = 86_400.0
CPU = Device(key="cpu", label="cpu", name="a CPU")


class Simulation:
    """A supervisor with a fake executor, a monotonic clock, and a wall clock that can jump."""

    def __init__(self, runs_dir: Path, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.monotonic = time.time(), 1000.0
        patch.setattr(time, "time", lambda: self.wall)
        self.executor = RecordingExecutor()
        self.supervisor = Supervisor(
            runs_dir, self.executor, devices=lambda: [CPU], clock=lambda: self.monotonic, log=lambda message: None
        )

    def advance(self, seconds: float, jump: float = 0.0) -> list[str]:
        """Advance both clocks, let the wall clock jump, and return the executor's calls."""
        self.monotonic += seconds
        self.wall += seconds + jump
        self.executor.calls.clear()
        self.supervisor.run_once()
        return list(self.executor.calls)


@pytest.fixture
def simulation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Simulation:
    return Simulation(tmp_path, monkeypatch)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_does_not_change_how_long_a_stopping_run_may_take(
    tmp_path: Path, simulation: Simulation, jump: float
) -> None:
    run = make_fault_run(tmp_path, "one")
    enqueue_directly(run)
    assert simulation.advance(0) == ["start one on cpu"]
    update_queue(tmp_path, lambda queue: queue.with_changes(["one"], stop_timeout=60.0))
    assert simulation.advance(1) == ["stop one"]
    assert simulation.advance(30, jump) == []
    assert simulation.advance(29) == []
    assert simulation.advance(1) == ["kill one"]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_does_not_change_when_an_idle_supervisor_exits(simulation: Simulation, jump: float) -> None:
    simulation.advance(IDLE_SECONDS - 1, jump)
    assert not simulation.supervisor.can_exit()
    simulation.advance(1)
    assert simulation.supervisor.can_exit()


def test_a_run_started_before_the_clock_was_set_back_is_not_started_again(
    tmp_path: Path, simulation: Simulation
) -> None:
    """By the wall clock, its lock is older than its start."""
    run = make_fault_run(tmp_path, "one")
    enqueue_directly(run, device_key="cpu", started_at=simulation.wall + DAY)
    with run.hold_lock():
        write_events(run, [started(), Finished(iteration=0, epoch=0, target_accuracy=None, source_accuracy=None)])
    assert simulation.advance(0) == []
    assert read_queue(tmp_path).entries == ()


def test_a_run_whose_worker_never_appeared_is_started_again(tmp_path: Path, simulation: Simulation) -> None:
    """Another supervisor was killed just before or after it started the worker."""
    run = make_fault_run(tmp_path, "one")
    enqueue_directly(run, device_key="cpu", started_at=simulation.wall)
    assert simulation.advance(0, DAY) == []
    assert simulation.advance(LOCK_TIMEOUT - 1, -3 * DAY) == []
    assert [entry.id for entry in read_queue(tmp_path).started] == ["one"]
    assert simulation.advance(1) == ["start one on cpu"]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_jump_does_not_keep_a_worker_of_this_host_in_state_starting(tmp_path: Path, jump: float) -> None:
    """The clock jumps after the worker took its lock, so its files seem newer or older than the lock."""
    run = make_fault_run(tmp_path, "one")
    write_events(run, [started(), step(1)])
    assert read_state(run) == "running"
    with run.hold_lock():
        run.lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(current_process(), since=time.time() + jump)))
        assert read_state(run) == ("starting" if jump > 0 else "running")
        write_environment(run, run.read_config(), device="cpu")
        write_events(run, [resumed(1), step(2)])
        assert read_state(run) == "running"
