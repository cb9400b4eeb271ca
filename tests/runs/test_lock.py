"""The lock of a run's only worker, with real processes."""

import errno
import fcntl
import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.lock import (
    LockHeldError,
    current_process,
    hold_lock,
    is_alive,
    is_locked,
    keep_lock,
    process_start,
    read_lock_owner,
)
from core.errors import InputError
from core.resolve import resolve
from tests.support.forked_python import held_in_process
from tests.support.histories import make_run, write_lock

SPAWN = multiprocessing.get_context("spawn")


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, resolve(preset="smoke"))


def test_second_process_gets_an_error_with_host_and_pid(run: RunDirectory) -> None:
    with held_in_process(RunDirectory.hold_lock, run) as process:
        message = f"locked by process {process.pid} on {current_process().host}"
        with pytest.raises(LockHeldError, match=message), run.hold_lock():
            pass
        owner = read_lock_owner(run.lock)
        assert owner is not None
        assert is_alive(owner) is True
    with run.hold_lock() as owner:
        assert owner.pid == os.getpid()
    released = read_lock_owner(run.lock)
    assert released is not None
    assert released.released is not None
    assert is_alive(released) is False


def hold_and_fork(run: RunDirectory, pipe: Connection) -> None:
    with run.hold_lock():
        child = os.fork()
        if child:
            pipe.send(child)
        time.sleep(60)


def test_a_killed_owner_is_gone_even_as_a_zombie_and_its_child_does_not_keep_the_lock(run: RunDirectory) -> None:
    ours, theirs = SPAWN.Pipe()
    process = SPAWN.Process(target=hold_and_fork, args=(run, theirs))
    process.start()
    child, owner = ours.recv(), read_lock_owner(run.lock)
    assert owner is not None
    try:
        process.kill()
        os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)  # dead, and not taken from the process table
        assert is_alive(owner) is False
        process.join()
        assert is_alive(owner) is False
        with run.hold_lock():
            assert process_start(child) is not None
    finally:
        os.kill(child, signal.SIGKILL)


def test_reused_pid_another_boot_and_another_machine() -> None:
    me = current_process()
    assert is_alive(me) is True
    changed = msgspec.structs.replace
    assert is_alive(changed(me, start=me.start + 1)) is False
    assert is_alive(changed(me, boot="another"), changed(me, machine="m")) is None
    assert is_alive(changed(me, machine="m", boot="another"), changed(me, machine="m")) is False
    assert is_alive(changed(me, machine="", boot="another"), changed(me, machine="")) is None
    assert is_alive(changed(me, host="elsewhere", boot="another")) is None
    assert is_alive(changed(me, host="renamed")) is True, "a changed host name does not change the machine"
    assert is_alive(changed(me, host="renamed", start=me.start + 1)) is False
    assert is_alive(changed(me, namespace="container")) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": 3}', b"\xff" * 100])
def test_unreadable_lock_has_no_owner(run: RunDirectory, content: bytes) -> None:
    run.lock.write_bytes(content)
    assert read_lock_owner(run.lock) is None
    with run.hold_lock():
        assert read_lock_owner(run.lock) is not None


def test_symlinked_lock_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    run.lock.symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written"), run.hold_lock():
        pass
    assert outside.read_text() == "precious"


@contextmanager
def locked_by_reader(path: Path) -> Iterator[None]:
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


def test_a_process_that_only_locks_the_file_is_named(run: RunDirectory) -> None:
    """A user who can read a lock file can lock it, without an identity in the file."""
    run.lock.touch()
    with held_in_process(locked_by_reader, run.lock) as process:
        message = f"run {run.id} is locked by process {process.pid} of "
        with pytest.raises(LockHeldError, match=message), run.hold_lock():
            pass


def test_a_private_lock_of_an_older_version_is_closed_to_other_users(tmp_path: Path) -> None:
    (tmp_path / "lock").touch(mode=0o666)
    (tmp_path / "lock").chmod(0o666)
    with hold_lock(tmp_path / "lock", "the queue", private=True):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_named(run: RunDirectory, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(file: int, operation: int) -> None:
        raise OSError(number, os.strerror(number))

    write_lock(run, host="elsewhere", boot="another")
    monkeypatch.setattr(fcntl, "flock", refuse)
    message = "lock: the file system does not support locks"
    with pytest.raises(InputError, match=message), run.hold_lock():
        pass
    with pytest.raises(InputError, match=message):
        update_queue(run.runs_dir, lambda queue: queue.with_paused(True))
    with pytest.raises(InputError, match=f"^{run.runs_dir}: the file system does not support locks"):
        make_run(run.runs_dir)
    assert [path.name for path in run.runs_dir.iterdir() if path.is_dir()] == [run.id]
    assert not is_locked(run.lock)
    assert find_worker(run) is None, "its journal is silent, and it holds no lock"
    assert not (run.runs_dir / "queue.json").exists()


def test_a_lock_that_is_deleted_while_a_process_waits_for_it_is_not_held(tmp_path: Path) -> None:
    """The waiting process opens the new file instead of holding one that no other process sees."""
    path = tmp_path / "lock"
    with hold_lock(path, "the queue", private=True):
        path.unlink()
        with hold_lock(path, "the queue", wait=1.0, private=True) as second:
            assert read_lock_owner(path) == second
            assert keep_lock(path)
        path.unlink()
        assert not keep_lock(path)
