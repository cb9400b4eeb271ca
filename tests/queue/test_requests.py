"""Requests on real run directories, without a supervisor."""

import signal
import sys
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import refresh_states
from clarinet_tui.history.trash import empty_trash, list_removed, remove_run, restore_run
from clarinet_tui.place import LaunchOptions, StopResult
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import LocalPlace, ensure_supervisor_if_needed
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK, queue_origin
from clarinet_tui.queue.sweep import Grid
from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.runs.lock import current_process
from clarinet_tui.slurm.place import SlurmPlace
from clarinet_tui.ui.actions import RunActions
from core.errors import InputError
from core.events import Finished, Stopped
from core.resolve import resolve
from tests.support.events import started, step
from tests.support.forked_python import held_in_process
from tests.support.histories import make_run, open_history, write_events
from tests.support.place_contract import Harness, PlaceContract


def handle_sigterm() -> None:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))


@pytest.fixture(autouse=True)
def supervisor_starts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Start no supervisor; return the runs directories for which one was to start."""
    runs_dirs: list[Path] = []
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", runs_dirs.append)
    return runs_dirs


class TestContract(PlaceContract):
    @pytest.fixture
    def harness(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Harness:
        monkeypatch.setattr("clarinet_tui.queue.local.find_supervisor", lambda runs_dir: object())
        options = LaunchOptions.from_paths(tmp_path, tmp_path)
        return Harness(LocalPlace(tmp_path), options, mark_started, refused=options, refused_device="cuda:99")


def mark_started(*runs: RunDirectory) -> None:
    """Mark waiting runs as started, as a supervisor does."""
    update_queue(runs[0].runs_dir, lambda queue: queue.with_changes([run.id for run in runs], device_key="cpu"))


def launch_options(tmp_path: Path, **fields: object) -> LaunchOptions:
    return LaunchOptions.from_paths(tmp_path / "data", tmp_path, **fields)


def submit_three(tmp_path: Path) -> list[RunDirectory]:
    configs = [resolve(method="clarinet", task="M->U", preset="smoke", seed=seed, device="cpu") for seed in (1, 2, 3)]
    return LocalPlace(tmp_path / "runs").submit(configs, launch_options(tmp_path, retries=2))


def order(runs_dir: Path) -> list[str]:
    return [entry.id for entry in read_queue(runs_dir).waiting]


def read_state(runs_dir: Path, run: RunDirectory) -> str:
    with open_history(runs_dir) as db:
        ingest_all(db, runs_dir)
        refresh_states(db, runs_dir)
        row = get_run(db, run.id)
    assert row is not None
    return row.state


def test_submitted_runs_wait_in_order_and_start_a_supervisor(tmp_path: Path, supervisor_starts: list[Path]) -> None:
    runs = submit_three(tmp_path)
    queue = read_queue(tmp_path / "runs")
    assert [entry.id for entry in queue.waiting] == [run.id for run in runs]
    entry = queue.entries[0]
    assert (entry.device, entry.retries, entry.working_directory) == ("cpu", 2, str(tmp_path))
    assert entry.data_dir == str(tmp_path / "data")
    assert supervisor_starts == [tmp_path / "runs"]
    assert read_state(tmp_path / "runs", runs[0]) == "queued"


def test_a_moved_run_takes_the_priority_of_its_position(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    a, b, c = (run.id for run in submit_three(tmp_path))
    update_queue(runs_dir, lambda queue: queue.with_changes([b], priority=5))
    assert order(runs_dir) == [b, a, c]
    requests.move(runs_dir, [c], 0)
    assert order(runs_dir) == [c, b, a]


def test_runs_submitted_to_the_front_start_before_all_others(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    first = [run.id for run in submit_three(tmp_path)]
    update_queue(runs_dir, lambda queue: queue.with_changes([first[2]], priority=5))
    config = resolve(method="clarinet", task="M->U", preset="smoke", seed=4, device="cpu")
    new = [run.id for run in LocalPlace(runs_dir).submit([config, config], launch_options(tmp_path), front=True)]
    assert order(runs_dir) == [*new, first[2], *first[:2]]


def test_launching_to_the_front_works_if_everything_starts_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submit_three(tmp_path)
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs: mark_started(*list_runs(runs)))
    grid = Grid(["clarinet"], ["M->U"], [7, 8], {"preset": "smoke", "device": "cpu"})
    result = RunActions(tmp_path / "runs", tmp_path).submit(grid, paused=False)
    assert len(result.runs) == 2
    assert set(result.runs) <= {entry.id for entry in read_queue(tmp_path / "runs").started}


def test_moving_no_runs_changes_nothing(tmp_path: Path) -> None:
    requests.move(tmp_path, [], 0)
    assert order(tmp_path) == []


@pytest.mark.parametrize("change", [{"host": "gpu7"}, {"machine": "new"}, {"host": "gpu7", "released": 1.0}])
def test_showing_the_queue_of_another_machine_starts_no_supervisor(
    tmp_path: Path, supervisor_starts: list[Path], change: dict[str, object]
) -> None:
    submit_three(tmp_path)
    runs_dir, last = tmp_path / "runs", current_process()
    supervisor_starts.clear()
    for owner in (last, msgspec.structs.replace(last, host="renamed", released=1.0)):
        (runs_dir / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(owner))
        ensure_supervisor_if_needed(runs_dir)
    assert (len(supervisor_starts), queue_origin(runs_dir)) == (2, ""), "the queue of this machine"
    (runs_dir / SUPERVISOR_LOCK).write_bytes(
        msgspec.json.encode(msgspec.structs.replace(last, boot="another", **change))
    )
    ensure_supervisor_if_needed(runs_dir)
    assert (len(supervisor_starts), queue_origin(runs_dir)) == (2, change.get("host", last.host))
    LocalPlace(runs_dir).pause(False)
    assert len(supervisor_starts) == 3, "an explicit request starts its runs here"


def test_a_run_that_is_queued_meanwhile_is_refused_and_no_other_is_queued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs_dir = tmp_path / "runs"
    first, second = make_run(runs_dir), make_run(runs_dir)

    def queue_second(place: SlurmPlace, run: RunDirectory, options: LaunchOptions) -> None:
        """Queue it between the checks and the transaction, as another process would."""
        if second.id not in read_queue(runs_dir):
            LocalPlace(runs_dir).resume([second], launch_options(tmp_path))

    monkeypatch.setattr(SlurmPlace, "last_options", queue_second)
    with pytest.raises(InputError, match=f"run {second.id}: is already queued"):
        requests.resume([first, second], launch_options(tmp_path))
    assert order(runs_dir) == [second.id]


def test_a_stopped_run_is_queued_again_and_a_finished_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Device(key="GPU-b", label="cuda:1", name="A100")
    monkeypatch.setattr(
        "clarinet_tui.queue.local.list_devices", lambda **_: [gpu, Device(key="cpu", label="cpu", name="AMD")]
    )
    runs_dir = tmp_path / "runs"
    stopped, finished = make_run(runs_dir), make_run(runs_dir)
    write_events(stopped, [started(), step(1), Stopped(iteration=1)])
    write_events(finished, [started(), Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert read_state(runs_dir, stopped) == "stopped"
    with pytest.raises(InputError, match="clarinet clone"):
        requests.resume([stopped, finished], launch_options(tmp_path))
    assert order(runs_dir) == []
    with pytest.raises(InputError, match="there is no cuda:0 here"):
        requests.resume([stopped], launch_options(tmp_path), device="cuda:0")
    assert order(runs_dir) == []
    requests.resume([stopped], launch_options(tmp_path), device="cuda:1")
    assert read_queue(runs_dir)[stopped.id].device == "cuda:1"
    assert read_state(runs_dir, stopped) == "queued"
    requests.cancel(runs_dir, [stopped.id])
    assert read_state(runs_dir, stopped) == "stopped"


def test_a_run_that_was_not_queued_gets_the_signal_directly(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    with pytest.raises(InputError, match="is not running"):
        requests.stop(run)
    with held_in_process(RunDirectory.hold_lock, run, prepare=handle_sigterm) as process:
        with pytest.raises(InputError, match=f"process {process.pid}"):
            requests.resume([run], launch_options(tmp_path))
        assert requests.stop(run) is StopResult.REQUESTED
        requests.wait_until_stopped(run, 10.0)
        assert process.wait(10) == 143


def test_a_run_that_ignores_the_signal_is_killed_after_the_timeout(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    with held_in_process(RunDirectory.hold_lock, run) as process:
        requests.wait_until_stopped(run, 0.2)
        assert process.wait(10) == -signal.SIGKILL


def test_a_removed_run_can_be_restored(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run = make_run(runs_dir)
    write_events(run, [started(), step(1)])
    assert read_state(runs_dir, run) != ""
    remove_run(run)
    assert not run.path.exists()
    with open_history(runs_dir) as db:
        assert get_run(db, run.id) is None
    assert restore_run(runs_dir, run.id).journal.exists()
    with open_history(runs_dir) as db:
        assert get_run(db, run.id) is not None
    with pytest.raises(InputError, match="is not in"):
        restore_run(runs_dir, run.id)


def test_two_removed_runs_of_one_id_are_both_kept_until_the_trash_is_emptied(tmp_path: Path) -> None:
    for seed in (1, 2):
        remove_run(make_run(tmp_path, id="same", seed=seed))
    assert len(list_removed(tmp_path)) == 2
    assert restore_run(tmp_path, "same").read_config().seed == 2
    assert empty_trash(tmp_path) == 1
    assert list_removed(tmp_path) == []


def test_removing_dequeues_a_waiting_run_and_refuses_a_running_one(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    waiting, running, other = submit_three(tmp_path)
    remove_run(waiting)
    assert order(runs_dir) == [running.id, other.id]
    mark_started(running)
    with pytest.raises(InputError, match="clarinet stop"):
        remove_run(running)
    with (
        held_in_process(RunDirectory.hold_lock, other) as process,
        pytest.raises(InputError, match=f"process {process.pid}"),
    ):
        remove_run(other)
    assert running.path.exists()
    assert other.path.exists()


def test_foreign_files_in_the_trash_are_kept_and_nothing_outside_is_restored(tmp_path: Path) -> None:
    for name in ("mine.txt", "Some.folder", "abc.def"):
        (tmp_path / ".trash" / name).mkdir(parents=True)
    assert (list_removed(tmp_path), empty_trash(tmp_path)) == ([], 0)
    (tmp_path / "outside").mkdir()
    for name in ("../outside", "", "a/b", "..", "ABC", "x" * 40):
        with pytest.raises(InputError):
            restore_run(tmp_path, name)


def test_a_symbolic_link_as_trash_is_refused(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run = make_run(runs_dir)
    (tmp_path / "outside").mkdir()
    (runs_dir / ".trash").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="symbolic link"):
        remove_run(run)
    with pytest.raises(InputError, match="symbolic link"):
        empty_trash(runs_dir)
    assert run.path.exists()
