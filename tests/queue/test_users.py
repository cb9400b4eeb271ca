"""Several users and one runs directory: work runs only as who submitted it, and looking starts nothing of others."""

import fcntl
import json
import os
import signal
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.history.trash import remove_run, restore_run
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import requests
from clarinet_tui.queue.local import LocalPlace, ensure_supervisor_if_needed
from clarinet_tui.queue.queue_file import (
    QUEUE_FILE,
    Queue,
    QueueEntry,
    only_schedulable,
    read_all_queues,
    read_queue,
    update_queue,
)
from clarinet_tui.queue.scheduling import schedule_queue
from clarinet_tui.queue.supervisor import LocalExecutor, Supervisor, ensure_supervisor, queue_origin
from clarinet_tui.runs import ownership
from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from clarinet_tui.runs.lock import current_process, is_alive, process_start, read_lock_owner
from clarinet_tui.runs.ownership import SAFE_VARIABLE, own_path
from clarinet_tui.runs.stage1 import Stage1Directory
from core.errors import InputError
from tests.support.fault_worker import STARTS_FILE
from tests.support.histories import make_run, write_lock
from tests.support.supervised import enqueue_directly, make_fault_run, wait_until
from tests.support.users import ALICE, BOB, held_as, run_as, shared_directory, start_supervisor_as

CPU = Device(key="cpu", label="cpu", name="a CPU")
PLANTED_COMMAND = ("touch", "/tmp/clarinet-planted")


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


def write_queue(runs: Path, uid: int, *ids: str, name: str = QUEUE_FILE, mode: int = 0o644) -> None:
    """Write a queue as another user can: with a command for alarms and the current directory."""
    entries = [QueueEntry(id=run, working_directory="/", data_dir="/", on_alarm=PLANTED_COMMAND) for run in ids]
    queue = Queue(entries=tuple(entries))
    with_directory = msgspec.to_builtins(queue) | {"directory": runs.stat().st_ino}
    (runs / name).write_text(json.dumps(with_directory))
    (runs / name).chmod(mode)
    os.chown(runs / name, uid, -1)


def queue_fault_run(runs: Path, name: str, behaviour: str = "") -> None:
    enqueue_directly(make_fault_run(runs, name, behaviour))


def refusal(attempt: Callable[[], object]) -> str:
    """Return the error of an attempt; empty if it succeeds."""
    try:
        attempt()
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("mode", [0o1777, 0o2775])
@pytest.mark.parametrize("name", ["queue.json", f"queue.{BOB}.json"])
def test_looking_at_the_directory_of_another_user_starts_nothing(mode: int, name: str) -> None:
    """Alice writes a queue, also under the name that Bob's would have, and Bob opens the app."""
    with shared_directory(mode) as runs:
        run_as(ALICE, make_fault_run, runs, "one")
        write_queue(runs, ALICE, "one", name=name)
        run_as(BOB, refusal, partial(ensure_supervisor_if_needed, runs))  # as the app does
        assert not list(runs.glob("*supervisor*"))


def test_a_supervisor_drops_runs_of_other_users_from_its_queue() -> None:
    with shared_directory(0o1777, owner=BOB) as runs:
        run_as(ALICE, make_fault_run, runs, "one", "steps=1", umask=0)
        run_as(BOB, enqueue_directly, RunDirectory(runs, "one"))
        run_as(BOB, queue_fault_run, runs, "two", "steps=1")
        with running_as(runs, BOB):
            wait_until(lambda: not json.loads((runs / "queue.json").read_text()).get("entries"), runs.parent)
        assert not (runs / "one" / STARTS_FILE).exists()
        assert (runs / "two" / STARTS_FILE).stat().st_uid == BOB


@contextmanager
def running_as(runs: Path, *uids: int) -> Iterator[None]:
    """Run a supervisor for each user."""
    processes = [start_supervisor_as(uid, runs, 0o002) for uid in uids]
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGTERM)
            process.wait()


@pytest.mark.parametrize(("mode", "umask"), [(0o2775, 0o002), (0o3775, 0o077)])
def test_the_supervisor_of_each_user_feeds_their_own_runs(mode: int, umask: int) -> None:
    with shared_directory(mode) as runs:
        for uid, name in ((ALICE, "one"), (BOB, "two")):
            run_as(uid, queue_fault_run, runs, name, "steps=2", umask=umask)
        with running_as(runs, ALICE, BOB):
            wait_until(lambda: (runs / "one" / STARTS_FILE).exists(), runs.parent)
            wait_until(lambda: (runs / "two" / STARTS_FILE).exists(), runs.parent)
        assert [(runs / name / STARTS_FILE).stat().st_uid for name in ("one", "two")] == [ALICE, BOB]


def attempt_changes(runs: Path) -> list[str]:
    """Try to change the run of another user in every way, and return the errors."""
    run = RunDirectory(runs, "one")
    attempts: list[Callable[[], object]] = [
        lambda: requests.stop(run),
        lambda: requests.resume([run], LaunchOptions.from_paths(runs, runs)),
        lambda: requests.cancel(runs, ["one"]),
        lambda: requests.move(runs, ["one"], 0),
        lambda: remove_run(run),
    ]
    return [refusal(attempt) for attempt in attempts]


def look_at_queues(runs: Path) -> tuple[list[tuple[str, bool]], int]:
    """Return the runs in all queues, with whether they are another user's, and the number in one's own."""
    return [(entry.id, entry.user != "") for entry in read_all_queues(runs).entries], len(read_queue(runs).entries)


@pytest.mark.parametrize(("mode", "umask"), [(0o2775, 0o002), (0o3775, 0o022)])
def test_others_see_a_run_and_its_place_in_the_queue_and_change_neither(mode: int, umask: int) -> None:
    with shared_directory(mode) as runs:
        run_as(ALICE, queue_fault_run, runs, "one", umask=umask)
        assert run_as(BOB, look_at_queues, runs, umask=umask) == ([("one", True)], 0)
        errors = run_as(BOB, attempt_changes, runs, umask=umask)
        assert [error.startswith(f"run one: belongs to user {ALICE}: only they can ") for error in errors] == [True] * 5
        for path in (runs / "one", runs / "one" / "config.toml"):
            assert not run_as(BOB, os.access, path, os.W_OK)


def test_the_runs_of_a_private_umask_are_not_seen() -> None:
    with shared_directory(0o3775) as runs:
        run_as(ALICE, queue_fault_run, runs, "one", umask=0o077)
        assert run_as(BOB, list_run_ids, runs) == []
        assert run_as(BOB, look_at_queues, runs) == ([], 0)


def remove_and_restore(runs: Path, name: str, database: Path) -> str:
    remove_run(make_fault_run(runs, name), database)
    return restore_run(runs, name, database).id


@pytest.mark.parametrize("mode", [0o2775, 0o3775])
def test_each_user_deletes_and_restores_their_own_runs(mode: int) -> None:
    with shared_directory(mode) as runs:
        for uid, name in ((ALICE, "one"), (BOB, "two")):
            database = runs.parent / str(uid)
            database.mkdir()
            os.chown(database, uid, -1)
            assert run_as(uid, remove_and_restore, runs, name, database / "history.db") == name


def test_another_user_cannot_open_and_so_cannot_lock_the_queue() -> None:
    with shared_directory(0o2775) as runs:
        run_as(ALICE, queue_fault_run, runs, "one", umask=0o002)
        assert not run_as(BOB, os.access, runs / "queue.lock", os.R_OK)


@contextmanager
def planted_lock(lock: Path, pid: int) -> Iterator[None]:
    """Write and hold a lock that names another process as its owner."""
    owner = msgspec.structs.replace(current_process(), pid=pid, start=process_start(pid), beat=1.0)
    lock.write_bytes(msgspec.json.encode(owner))
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.mark.parametrize("mode", [0o1777, 0o2775])
def test_a_planted_lock_makes_no_one_kill_a_process_of_their_own(mode: int) -> None:
    """Bob names a process of Alice in a file that has the name of her supervisor's lock, and holds it."""
    with shared_directory(mode, owner=BOB) as runs, held_as(ALICE, nullcontext) as victim:
        lock = runs / f"supervisor.{ALICE}.lock"
        with held_as(BOB, planted_lock, lock, victim.pid):
            error = run_as(ALICE, refusal, partial(ensure_supervisor, runs))
        assert victim.poll() is None
        assert error == f"{lock}: belongs to user {BOB}, but has the name of your own file: remove it"


def claim_stage1(runs: Path) -> tuple[object, list[bool]]:
    """Return the origin of a shared stage 1, and which of its locks this user can open once they have claimed it."""
    stage1 = Stage1Directory(runs, "key")
    found = stage1.read_origin()
    with stage1.hold_lock():
        stage1.write_origin("one")
    return found, [os.access(path, os.R_OK) for path in sorted(runs.glob("stage1*/key/lock"))]


def test_a_shared_stage_1_takes_nothing_of_another_user_and_cannot_be_locked_by_them() -> None:
    with shared_directory(0o2775) as runs:
        assert run_as(ALICE, claim_stage1, runs, umask=0o002) == (None, [True])
        assert run_as(BOB, claim_stage1, runs, umask=0o002) == (None, [False, True])
        assert [stat.S_IMODE(path.stat().st_mode) & 0o777 for path in runs.glob("stage1*")] == [0o755, 0o755]


def is_worker_alive(run: RunDirectory) -> bool | None:
    owner = read_lock_owner(run.lock)
    assert owner is not None
    return is_alive(owner)


def test_a_worker_that_is_hidden_from_other_users_does_not_count_as_dead() -> None:
    """With the mount option hidepid, /proc shows only the user's own processes."""
    with shared_directory(0o2775) as runs:
        run = run_as(ALICE, make_fault_run, runs, "one")
        with held_as(ALICE, RunDirectory.hold_lock, run):
            assert run_as(BOB, is_worker_alive, run) is True
            assert run_as(BOB, is_worker_alive, run, hide_processes=True) is None
        assert run_as(BOB, is_worker_alive, run, hide_processes=True) is False


def test_a_command_in_a_queue_that_others_can_write_is_ignored(tmp_path: Path) -> None:
    write_queue(tmp_path, os.geteuid(), "one", mode=0o600)
    assert read_queue(tmp_path)["one"].on_alarm == PLANTED_COMMAND
    write_queue(tmp_path, os.geteuid(), "one", mode=0o620)
    assert read_queue(tmp_path)["one"].on_alarm == ()


def test_a_queue_is_never_written_so_that_others_could_change_it(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        remove_run(make_fault_run(tmp_path, "two"))
        enqueue_directly(make_fault_run(tmp_path, "one"))
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    written = {"queue.json": 0o644, "queue.lock": 0o600, "one": 0o755, ".trash": 0o755, "clarinet.db": 0o644}
    assert modes == written
    assert stat.S_IMODE((tmp_path / "one" / "config.toml").stat().st_mode) == 0o644


def test_a_copied_queue_starts_nothing_until_it_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy of a colleague's directory belongs to who copied it, with all its files."""
    original, copy, starts = tmp_path / "original", tmp_path / "copy", list[Path]()
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", starts.append)
    enqueue_directly(make_run(original, "one"), on_alarm=PLANTED_COMMAND)
    original.rename(tmp_path / "moved")
    ensure_supervisor_if_needed(tmp_path / "moved")
    assert (starts, read_queue(tmp_path / "moved")["one"].on_alarm) == ([tmp_path / "moved"], PLANTED_COMMAND)
    copy.mkdir()
    (copy / QUEUE_FILE).write_bytes((tmp_path / "moved" / QUEUE_FILE).read_bytes())
    make_run(copy, "one")
    ensure_supervisor_if_needed(copy)
    LocalPlace(copy).pause(True)
    LocalPlace(copy).set_slots({"cpu": 2})
    assert (starts, queue_origin(copy)) == ([tmp_path / "moved"], "another directory")
    LocalPlace(copy).pause(False)
    assert (starts, queue_origin(copy)) == ([tmp_path / "moved", copy], "")
    assert read_queue(copy)["one"].on_alarm == ()


def test_a_file_that_appears_meanwhile_is_still_the_one_of_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that make the first lock at once must lock the same file."""
    find_owner = ownership.find_owner

    def find_and_make(path: Path) -> int | None:
        owner = find_owner(path)
        (tmp_path / QUEUE_FILE).touch()
        return owner

    monkeypatch.setattr(ownership, "find_owner", find_and_make)
    assert own_path(tmp_path, QUEUE_FILE).name == QUEUE_FILE


@needs_root
def test_files_of_a_safe_directory_count_as_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For file systems that have no owners."""
    write_queue(tmp_path, ALICE, "one")
    os.chown(tmp_path, ALICE, -1)
    assert read_queue(tmp_path).entries == ()
    assert own_path(tmp_path, QUEUE_FILE).name == "queue.0.json"
    monkeypatch.setenv(SAFE_VARIABLE, f"/elsewhere:{tmp_path}")
    assert "one" in read_queue(tmp_path)


@needs_root
def test_a_run_of_another_user_is_refused_by_name(tmp_path: Path) -> None:
    run = make_run(tmp_path, "one")
    os.chown(run.config, ALICE, -1)
    with pytest.raises(InputError, match=f"run one: belongs to user {ALICE}: only they can resume it"):
        requests.resume([run], LaunchOptions.from_paths(tmp_path, tmp_path))
    assert read_queue(tmp_path).entries == ()
    enqueue_directly(run)
    Supervisor(tmp_path, LocalExecutor(), devices=lambda: [CPU]).run_once()
    assert (read_queue(tmp_path).entries, run.log.exists()) == ((), False), "no worker was started"


@needs_root
def test_a_queue_planted_under_the_name_of_ones_own_is_named(tmp_path: Path) -> None:
    os.chown(tmp_path, ALICE, -1)
    write_queue(tmp_path, ALICE, "one", name="queue.0.json")
    with pytest.raises(InputError, match=rf"queue\.0\.json: belongs to user {ALICE}, .*: remove it"):
        update_queue(tmp_path, lambda queue: queue.with_paused(True))


@needs_root
def test_running_runs_of_other_users_use_slots_and_dead_ones_do_not(tmp_path: Path) -> None:
    running, dead, own = (make_run(tmp_path, name) for name in ("running", "dead", "own"))
    enqueue_directly(own)
    write_queue(tmp_path, ALICE, "running", "dead", "own", "../etc", name=f"queue.{ALICE}.json")
    started = (tmp_path / f"queue.{ALICE}.json").read_text().replace('"data_dir"', '"device_key": "cpu", "data_dir"')
    (tmp_path / f"queue.{ALICE}.json").write_text(started)
    for run in (running, dead):
        os.chown(run.path, ALICE, -1)
    write_lock(dead, start=1.0)
    with running.hold_lock():
        everyone = read_all_queues(tmp_path)
        assert [(entry.id, entry.user, entry.on_alarm) for entry in everyone.entries] == [
            ("own", "", ()),
            ("running", f"user {ALICE}", ()),
            ("dead", f"user {ALICE}", ()),
        ]
        assert [entry.id for entry in only_schedulable(everyone, tmp_path).entries] == ["own", "running"]
        (decision,) = schedule_queue(tmp_path, only_schedulable(everyone, tmp_path), [CPU])
        assert (decision.device, decision.reason) == (None, "cpu has no free slot")
    (decision,) = schedule_queue(tmp_path, only_schedulable(everyone, tmp_path), [CPU])
    assert decision.device == CPU
