"""What the doctor says of the place where runs are kept: real files, locks and databases."""

import fcntl
import os
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.doctor.storage import (
    check_clock,
    check_database,
    check_file_system,
    check_room,
    check_supervisor,
    check_writing,
    file_system,
    free_bytes,
    read_mounts,
)
from clarinet_tui.history.database import NAME
from clarinet_tui.runs.lock import hold
from clarinet_tui.runs.process import myself
from tests.support.histories import history

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
def test_room(free: int, verdict: str) -> None:
    assert check_room(Path("runs"), free).verdict == verdict


def test_room_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "not" / "yet") > 0


def test_the_kind_of_a_file_system(tmp_path: Path) -> None:
    mounts = MOUNTS.format(folder=tmp_path)
    for name in ("net work", "net works", "twice"):
        (tmp_path / name).mkdir()
    assert file_system(tmp_path / "net work" / "runs", mounts) == "nfs4"
    assert file_system(tmp_path / "net works", mounts) == "ext4"
    assert file_system(tmp_path / "twice", mounts) == "xfs"
    (tmp_path / "link").symlink_to("net work")
    assert file_system(tmp_path / "link" / "runs", mounts) == "nfs4"
    assert file_system(tmp_path, "") == ""
    assert file_system(Path("/proc"), read_mounts()) == "proc"


def test_a_shared_disk_wants_the_history_elsewhere(tmp_path: Path) -> None:
    mounts = MOUNTS.format(folder=tmp_path)
    runs = tmp_path / "net work"
    runs.mkdir()
    found = check_file_system(runs, runs / NAME, mounts)
    assert (found.verdict, "nfs4" in found.sentence, "CLARINET_DB" in found.advice) == ("warning", True, True)
    apart = check_file_system(runs, tmp_path / "history.db", mounts)
    assert (apart.verdict, apart.sentence) == ("good", "nfs4, and the history on ext4")


def test_writing_and_locking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_writing(tmp_path).verdict == "good"
    assert "the first run makes" in check_writing(tmp_path / "new" / "runs").sentence
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").touch()
    assert check_writing(tmp_path / "file").verdict == "bad"
    assert check_writing(Path("/proc")).verdict == "bad"
    monkeypatch.setattr(fcntl, "flock", lambda file, operation: None)
    assert "locks do not hold" in check_writing(tmp_path).sentence


def test_clock(tmp_path: Path) -> None:
    assert check_clock(tmp_path).verdict == "good"
    found = check_clock(tmp_path, lambda: time.time() - 60)
    assert (found.verdict, found.sentence) == ("warning", "the disk's clock is 60 s ahead of ours")
    assert "behind" in check_clock(tmp_path, lambda: time.time() + 60).sentence
    assert check_clock(Path("/proc")).verdict == "warning"
    assert not list(tmp_path.iterdir())


def test_history(tmp_path: Path) -> None:
    path = tmp_path / NAME
    assert "not there yet" in check_database(path).sentence
    history(tmp_path).close()
    before = path.read_bytes()
    assert check_database(path).verdict == "good"
    assert path.read_bytes() == before
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE _sqlite_migrations SET name = '9999' WHERE name = '0001'")
        connection.commit()
    assert "newer version" in check_database(path).sentence


def test_history_that_is_hurt(tmp_path: Path) -> None:
    path = tmp_path / NAME
    history(tmp_path).close()
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 5] = b"\xff" * 8192
    path.write_bytes(content)
    assert check_database(path).verdict == "bad"
    path.write_bytes(b"garbage" * 1000)
    found = check_database(path)
    assert (found.verdict, "clarinet reindex" in found.sentence) == ("bad", True)
    path.write_bytes(b"")
    assert check_database(path).verdict == "warning"


def test_supervisor(tmp_path: Path) -> None:
    assert "not running" in check_supervisor(tmp_path).sentence
    lock = tmp_path / "supervisor.lock"
    with hold(lock, "supervisor"):
        assert check_supervisor(tmp_path).sentence == f"process {os.getpid()} on {myself().host}"
    assert "not running" in check_supervisor(tmp_path).sentence
    lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(myself(), host="gpu7")))
    assert "on gpu7" in check_supervisor(tmp_path).sentence
