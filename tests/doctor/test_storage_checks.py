"""Checks of the runs directory, with real files, locks and databases."""

import fcntl
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.doctor.checks import (
    check_clock,
    check_database,
    check_file_system,
    check_free_space,
    check_queue,
    check_supervisor,
    check_writing,
    file_system,
    free_bytes,
    read_mount_table,
)
from clarinet_tui.history.database import DATABASE_NAME
from clarinet_tui.runs.lock import current_process, hold_lock
from tests.support.histories import make_run, open_history
from tests.support.supervised import enqueue_directly
from tests.support.users import ALICE

MOUNTS = """22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
28 27 0:40 / {folder}/net\\040work rw shared:2 master:3 - nfs4 server:/home rw
29 27 0:41 / {folder}/twice rw - nfs server:/a rw
30 27 0:42 / {folder}/twice rw - xfs /dev/vdb rw
nonsense
"""


@pytest.mark.parametrize(
    ("free", "verdict"), [(5 * 10**9, "good"), (5 * 10**9 - 1, "warning"), (2 * 10**8, "warning"), (10**8, "bad")]
)
def test_free_space(free: int, verdict: str) -> None:
    assert check_free_space(Path("runs"), free).verdict == verdict


def test_free_space_of_a_missing_folder(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet") > 0


def test_file_system_type(tmp_path: Path) -> None:
    mounts = MOUNTS.format(folder=tmp_path)
    for name in ("net work", "net works", "twice"):
        (tmp_path / name).mkdir()
    assert file_system(tmp_path / "net work" / "runs", mounts) == "nfs4"
    assert file_system(tmp_path / "net works", mounts) == "ext4"
    assert file_system(tmp_path / "twice", mounts) == "xfs"
    (tmp_path / "link").symlink_to("net work")
    assert file_system(tmp_path / "link" / "runs", mounts) == "nfs4"
    assert file_system(tmp_path, "") == ""
    assert file_system(Path("/proc"), read_mount_table()) == "proc"


def test_history_on_a_network_disk_is_a_warning(tmp_path: Path) -> None:
    mounts = MOUNTS.format(folder=tmp_path)
    runs = tmp_path / "net work"
    runs.mkdir()
    result = check_file_system(runs, runs / DATABASE_NAME, mounts)
    assert (result.verdict, "nfs4" in result.message, "CLARINET_DB" in result.advice) == ("warning", True, True)
    separate = check_file_system(runs, tmp_path / "history.db", mounts)
    assert (separate.verdict, separate.message) == ("good", "nfs4, and the history on ext4")


def test_writing_and_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_writing(tmp_path).verdict == "good"
    assert "the first run creates runs there" in check_writing(tmp_path / "new" / "runs").message
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert check_writing(tmp_path / "file").verdict == "bad"
    assert check_writing(Path("/proc")).verdict == "bad"
    monkeypatch.setattr(fcntl, "flock", lambda file, operation: None)
    assert "locks have no effect" in check_writing(tmp_path).message


def test_clock(tmp_path: Path) -> None:
    assert check_clock(tmp_path).verdict == "good"
    result = check_clock(tmp_path, lambda: time.time() - 60)
    assert (result.verdict, result.message) == ("warning", "the disk's clock is 60 s ahead of ours")
    assert "behind" in check_clock(tmp_path, lambda: time.time() + 60).message
    assert check_clock(Path("/proc")).verdict == "warning"
    assert not list(tmp_path.iterdir())


def test_history(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    assert "does not exist yet" in check_database(path).message
    open_history(tmp_path).close()
    before = path.read_bytes()
    assert check_database(path).verdict == "good"
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET name = '9999'")
        connection.commit()
        assert "newer version" in check_database(path).message
        connection.execute("UPDATE _sqlite_migrations SET name = '0006'")
        connection.commit()
    assert check_database(path).verdict == "warning"
    assert check_database(path).advice == "clarinet ls rebuilds it"


def test_damaged_history(tmp_path: Path) -> None:
    path = tmp_path / DATABASE_NAME
    open_history(tmp_path).close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 5] = b"\xff" * 8192
    path.write_bytes(content)
    assert check_database(path).verdict == "bad"
    path.write_bytes(b"garbage" * 1000)
    result = check_database(path)
    assert (result.verdict, "clarinet reindex" in result.message) == ("bad", True)
    path.write_bytes(b"")
    assert check_database(path).verdict == "warning"


def test_supervisor(tmp_path: Path) -> None:
    assert "not running" in check_supervisor(tmp_path).message
    lock = tmp_path / "supervisor.lock"
    with hold_lock(lock, "supervisor"):
        assert check_supervisor(tmp_path).message == f"process {os.getpid()} on {current_process().host}"
    assert "not running" in check_supervisor(tmp_path).message
    lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(current_process(), host="gpu7", boot="another")))
    assert "on gpu7" in check_supervisor(tmp_path).message


def test_queue(tmp_path: Path) -> None:
    enqueue_directly(make_run(tmp_path, "one"))
    assert check_queue(tmp_path).message == "1 run waiting or started"
    os.mkfifo(tmp_path / "slurm.json")
    assert "slurm.json: not a list of Slurm jobs (is not a regular file)" in check_queue(tmp_path).message
    (tmp_path / "queue.json").write_bytes(b"\xff{")
    result = check_queue(tmp_path)
    assert (result.verdict, "queue.json: not a queue" in result.message) == ("bad", True)


@pytest.mark.parametrize("name", ["queue.0.json", "supervisor.0.lock", "slurm.0.json", ".trash.0"])
def test_a_file_that_another_user_has_put_in_place_of_ones_own(tmp_path: Path, name: str) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    (tmp_path / name).touch()
    for path in (tmp_path / name, tmp_path):
        os.chown(path, ALICE, -1)
    expected = f"{tmp_path / name}: belongs to user {ALICE}, but has the name of your own file: remove it"
    assert check_queue(tmp_path).message == expected
