"""The time of day jumps: nobody is killed early, nothing is begun twice, nobody leaves or stays because of it."""

import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.devices.local import Device
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.states import refresh_states
from clarinet_tui.queue.queue_file import Entry, change_queue, read_queue
from clarinet_tui.queue.supervisor import LINGER, SETTLE, Supervisor
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import write_environment
from clarinet_tui.runs.process import myself
from core.events import Finished
from tests.support.events import resumed, started, step
from tests.support.histories import history, say
from tests.support.supervised import make, put

DAY = 86_400.0
CPU = Device(key="cpu", label="cpu", name="a CPU")


class Workers:
    """An executor whose workers live until they are said to be dead."""

    def __init__(self) -> None:
        self.living: set[str] = set()
        self.did: list[str] = []

    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None:
        self.did.append(f"start {run.id}")
        self.living.add(run.id)

    def lives(self, run: RunDirectory) -> bool:
        return run.id in self.living

    def exit_code(self, run: RunDirectory) -> int | None:
        return None

    def stop(self, run: RunDirectory) -> bool:
        self.did.append(f"stop {run.id}")
        return True

    def kill(self, run: RunDirectory) -> None:
        self.did.append(f"kill {run.id}")

    def pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        return set()


class World:
    """A supervisor, its workers, and two clocks: the one on the wall jumps."""

    def __init__(self, runs_dir: Path, patch: pytest.MonkeyPatch) -> None:
        self.wall, self.monotonic = time.time(), 1000.0
        patch.setattr(time, "time", lambda: self.wall)
        self.workers = Workers()
        self.supervisor = Supervisor(
            runs_dir, self.workers, devices=lambda: [CPU], clock=lambda: self.monotonic, say=lambda sentence: None
        )

    def pass_by(self, seconds: float, jump: float = 0.0) -> list[str]:
        """What was done after so many seconds, the wall's clock having jumped as well."""
        self.monotonic += seconds
        self.wall += seconds + jump
        self.workers.did.clear()
        self.supervisor.tend()
        return list(self.workers.did)


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    return World(tmp_path, monkeypatch)


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_the_grace_of_a_stopping_run_is_neither_cut_nor_stretched(tmp_path: Path, world: World, jump: float) -> None:
    run = make(tmp_path, "one")
    put(run)
    assert world.pass_by(0) == ["start one"]
    change_queue(tmp_path, lambda queue: queue.change(["one"], stop_within=60.0))
    assert world.pass_by(1) == ["stop one"]
    assert world.pass_by(30, jump) == []
    assert world.pass_by(29) == []
    assert world.pass_by(1) == ["kill one"]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_who_has_nothing_to_do_stays_its_minute(world: World, jump: float) -> None:
    world.pass_by(LINGER - 1, jump)
    assert not world.supervisor.may_leave()
    world.pass_by(1)
    assert world.supervisor.may_leave()


def test_a_run_that_began_before_the_clock_was_set_back_is_not_begun_again(tmp_path: Path, world: World) -> None:
    """Its lock was taken before it was to be started, by the wall's clock."""
    run = make(tmp_path, "one")
    put(run, on="cpu", begun=world.wall + DAY)
    with run.hold():
        say(run, [started(), Finished(iteration=0, epoch=0, target_accuracy=None, source_accuracy=None)])
    assert world.pass_by(0) == []
    assert read_queue(tmp_path).entries == ()


def test_a_run_that_never_began_waits_again_after_a_while(tmp_path: Path, world: World) -> None:
    """Another supervisor was killed before it could start it, or just after."""
    run = make(tmp_path, "one")
    put(run, on="cpu", begun=world.wall)
    assert world.pass_by(0, DAY) == []
    assert world.pass_by(SETTLE - 1, -3 * DAY) == []
    assert [entry.id for entry in read_queue(tmp_path).started] == ["one"]
    assert world.pass_by(1) == ["start one"]


@pytest.mark.parametrize("jump", [DAY, -DAY])
def test_a_worker_of_this_machine_is_starting_until_it_speaks_and_then_running(tmp_path: Path, jump: float) -> None:
    """The clock is set on or back after it has taken its lock, so that all it writes seems to be older or newer."""
    run = make(tmp_path, "one")
    say(run, [started(), step(1)])
    with history(tmp_path) as db, run.hold():
        ingest_run(db, run)
        run.lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(myself(), since=time.time() + jump)))
        assert seen(db, tmp_path) == ("starting" if jump > 0 else "running")
        write_environment(run, run.read_config(), device="cpu")
        say(run, [resumed(1), step(2)])
        ingest_run(db, run)
        assert seen(db, tmp_path) == "running"


def seen(db: Database, runs_dir: Path) -> str:
    refresh_states(db, runs_dir)
    found: str = db.rows("SELECT state FROM runs")[0][0]
    return found
