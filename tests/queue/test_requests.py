"""What users ask of runs, on real directories; who acts on it is tested with the supervisor."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import refresh_states
from clarinet_tui.history.trash import empty, remove, removed, restore
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import change_queue, read_queue
from clarinet_tui.queue.requests import Wishes
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK, fed_elsewhere
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.process import myself
from core.errors import InputError
from core.events import Finished, Stopped
from core.resolve import resolve
from tests.support.events import started, step
from tests.support.histories import history, make_run, say

HOLD = """
import signal, sys, time
from pathlib import Path
from clarinet_tui.runs.directory import RunDirectory
if sys.argv[3:]:
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
with RunDirectory(Path(sys.argv[1]), sys.argv[2]).hold():
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def nobody_acts(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Requests only; the list says for which runs directories a supervisor was wanted."""
    wanted: list[Path] = []
    monkeypatch.setattr(requests, "ensure_supervisor", wanted.append)
    return wanted


def wishes(tmp_path: Path, **fields: object) -> Wishes:
    return Wishes(tmp_path / "data", tmp_path, **fields)  # type: ignore[arg-type]


def three(tmp_path: Path) -> list[RunDirectory]:
    configs = [resolve(method="clarinet", task="M->U", preset="smoke", seed=seed, device="cpu") for seed in (1, 2, 3)]
    return requests.submit(tmp_path / "runs", configs, wishes(tmp_path, retries=2))


def order(runs_dir: Path) -> list[str]:
    return [entry.id for entry in read_queue(runs_dir).waiting]


def state(runs_dir: Path, run: RunDirectory) -> str:
    with history(runs_dir) as db:
        from clarinet_tui.history.ingest import ingest_all

        ingest_all(db, runs_dir)
        refresh_states(db, runs_dir)
        row = get_run(db, run.id)
    assert row is not None
    return row.state


def holder(run: RunDirectory, *listens: str) -> "subprocess.Popen[str]":
    """A process that holds a run as its worker does."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(run.runs_dir), run.id, *listens],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_submitted_runs_wait_in_order_and_somebody_is_called(tmp_path: Path, nobody_acts: list[Path]) -> None:
    runs = three(tmp_path)
    queue = read_queue(tmp_path / "runs")
    assert [entry.id for entry in queue.waiting] == [run.id for run in runs]
    entry = queue.entries[0]
    assert (entry.device, entry.retries, entry.folder) == ("cpu", 2, str(tmp_path))
    assert entry.data_dir == str(tmp_path / "data")
    assert nobody_acts == [tmp_path / "runs"]
    assert state(tmp_path / "runs", runs[0]) == "queued"


def test_move_pause_and_cancel(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    a, b, c = (run.id for run in three(tmp_path))
    requests.move(runs_dir, [c], 0)
    assert order(runs_dir) == [c, a, b]
    requests.move(runs_dir, [c, a], 99)
    assert order(runs_dir) == [b, c, a]
    change_queue(runs_dir, lambda queue: queue.change([a], priority=5))
    assert order(runs_dir) == [a, b, c]
    requests.move(runs_dir, [c], 0)
    assert order(runs_dir) == [c, a, b]
    requests.pause(runs_dir, [b], True)
    assert read_queue(runs_dir)[b].paused
    requests.pause(runs_dir, [], True)
    assert read_queue(runs_dir).paused
    requests.pause(runs_dir, [], False)
    requests.cancel(runs_dir, [a, b])
    assert order(runs_dir) == [c]
    with pytest.raises(InputError, match="is not in the queue"):
        requests.cancel(runs_dir, [a])


@pytest.mark.parametrize("change", [{"host": "gpu7"}, {"machine": "another"}, {"host": "gpu7", "released": 1.0}])
def test_looking_at_the_queue_of_another_machine_starts_nothing(
    tmp_path: Path, nobody_acts: list[Path], change: dict[str, object]
) -> None:
    three(tmp_path)
    runs_dir, last = tmp_path / "runs", myself()
    nobody_acts.clear()
    for holder in (last, msgspec.structs.replace(last, released=1.0)):
        (runs_dir / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(holder))
        requests.ensure_supervisor_if_needed(runs_dir)
    assert (len(nobody_acts), fed_elsewhere(runs_dir)) == (2, ""), "its own queue goes on"
    (runs_dir / SUPERVISOR_LOCK).write_bytes(msgspec.json.encode(msgspec.structs.replace(last, **change)))
    requests.ensure_supervisor_if_needed(runs_dir)
    assert (len(nobody_acts), fed_elsewhere(runs_dir)) == (2, change.get("host", last.host))
    requests.pause(runs_dir, [], False)
    assert len(nobody_acts) == 3, "asked for, its runs start here"


def test_a_run_that_has_started_can_be_stopped_but_not_moved(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run, *_ = three(tmp_path)
    change_queue(runs_dir, lambda queue: queue.change([run.id], on="cpu"))
    with pytest.raises(InputError, match="has started already"):
        requests.move(runs_dir, [run.id], 0)
    assert requests.stop(run, 7.0) == "was asked to stop"
    assert read_queue(runs_dir)[run.id].stop_within == 7.0


def test_stopping_a_run_that_waits_takes_it_out_and_resuming_puts_it_back(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run, *_ = three(tmp_path)
    assert requests.stop(run) == "has left the queue"
    assert run.id not in read_queue(runs_dir)
    os.utime(run.annotations)
    requests.resume([run], wishes(tmp_path))
    assert order(runs_dir)[-1] == run.id
    with pytest.raises(InputError, match="is queued already"):
        requests.resume([run], wishes(tmp_path))


def test_a_stopped_run_is_queued_again_and_a_finished_one_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = Device(key="GPU-b", label="cuda:1", name="A100")
    monkeypatch.setattr(requests, "list_devices", lambda **_: [gpu, Device(key="cpu", label="cpu", name="AMD")])
    runs_dir = tmp_path / "runs"
    stopped, finished = make_run(runs_dir), make_run(runs_dir)
    say(stopped, [started(), step(1), Stopped(iteration=1)])
    say(finished, [started(), Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert state(runs_dir, stopped) == "stopped"
    with pytest.raises(InputError, match="clarinet clone"):
        requests.resume([stopped, finished], wishes(tmp_path))
    assert order(runs_dir) == []
    with pytest.raises(InputError, match="there is no cuda:0 here"):
        requests.resume([stopped], wishes(tmp_path), "cuda:0")
    assert order(runs_dir) == []
    requests.resume([stopped], wishes(tmp_path), "cuda:1")
    assert read_queue(runs_dir)[stopped.id].device == "cuda:1"
    assert state(runs_dir, stopped) == "queued"
    requests.cancel(runs_dir, [stopped.id])
    assert state(runs_dir, stopped) == "stopped"


def test_a_run_of_another_terminal_gets_the_signal_itself(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    with pytest.raises(InputError, match="is not running"):
        requests.stop(run)
    process = holder(run, "listens")
    with pytest.raises(InputError, match=f"process {process.pid}"):
        requests.resume([run], wishes(tmp_path))
    assert requests.stop(run) == "was asked to stop"
    requests.wait_until_stopped(run, 10.0)
    assert process.wait(10) == 143


def test_a_run_that_does_not_listen_is_killed_when_its_time_is_over(tmp_path: Path) -> None:
    run = make_run(tmp_path / "runs")
    process = holder(run)
    times = iter(range(1000))
    requests.wait_until_stopped(run, 3.0, clock=lambda: float(next(times)))
    assert process.wait(10) == -signal.SIGKILL


def test_a_removed_run_can_be_taken_back(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run = make_run(runs_dir)
    say(run, [started(), step(1)])
    assert state(runs_dir, run) != ""
    remove(run)
    assert not run.path.exists()
    with history(runs_dir) as db:
        assert get_run(db, run.id) is None
    assert restore(runs_dir, run.id).journal.exists()
    with history(runs_dir) as db:
        assert get_run(db, run.id) is not None
    with pytest.raises(InputError, match="is not in"):
        restore(runs_dir, run.id)


def test_two_removed_runs_of_one_id_are_both_kept_until_the_trash_is_emptied(tmp_path: Path) -> None:
    for seed in (1, 2):
        remove(make_run(tmp_path, id="same", seed=seed))
    assert len(removed(tmp_path)) == 2
    assert restore(tmp_path, "same").read_config().seed == 2
    assert empty(tmp_path) == 1
    assert removed(tmp_path) == []


def test_a_run_that_waits_leaves_the_queue_when_it_is_removed_and_a_live_one_is_refused(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    waiting, running, other = three(tmp_path)
    remove(waiting)
    assert order(runs_dir) == [running.id, other.id]
    change_queue(runs_dir, lambda queue: queue.change([running.id], on="cpu"))
    with pytest.raises(InputError, match="clarinet stop"):
        remove(running)
    process = holder(other)
    with pytest.raises(InputError, match=f"process {process.pid}"):
        remove(other)
    process.kill()
    process.wait()
    assert running.path.exists()
    assert other.path.exists()


def test_what_else_lies_in_the_trash_stays_there(tmp_path: Path) -> None:
    for name in ("mine.txt", "Some.folder", "abc.def"):
        (tmp_path / ".trash" / name).mkdir(parents=True)
    assert removed(tmp_path) == []
    assert empty(tmp_path) == 0


@pytest.mark.parametrize("name", ["../outside", "", "a/b", "..", "ABC", "x" * 40])
def test_nothing_outside_can_be_taken_back(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").mkdir()
    with pytest.raises(InputError):
        restore(tmp_path, name)


def test_trash_that_is_a_link_is_refused(tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    run = make_run(runs_dir)
    (tmp_path / "outside").mkdir()
    (runs_dir / ".trash").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match="symbolic link"):
        remove(run)
    with pytest.raises(InputError, match="symbolic link"):
        empty(runs_dir)
    assert run.path.exists()


@pytest.mark.parametrize("count", [0, 65])
def test_slots_have_bounds(tmp_path: Path, count: int) -> None:
    with pytest.raises(InputError, match="expected 1 to 64"):
        requests.set_slots(tmp_path, {"gpu": 2, "cpu": count})
    assert read_queue(tmp_path).slots == {}
