"""Two ordinary users who share a runs directory. Only root can become them: tests are skipped for other users."""

import ctypes
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from tests.support.forked_python import TIMEOUT, Worker, forkserver, held_in_process

ROOT = Path(__file__).parents[2]
ALICE, BOB, GROUP = 64101, 64102, 64100
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "PYTHONPATH": f"{ROOT}:{sysconfig.get_path('purelib')}",
    "HOME": "/nonexistent",
    "OMP_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
PYTHONS = (sys.executable, "/usr/bin/python3")
NEW_MOUNTS = 0x00020000
"""CLONE_NEWNS of unshare(2)."""


@cache
def _find_python() -> str | None:
    """Return an interpreter that the users can run: that of root may be in a private directory."""
    for python in PYTHONS:
        command = [python, "-P", "-c", "import tests.support.supervised"]
        with suppress(PermissionError):
            if subprocess.run(command, capture_output=True, timeout=TIMEOUT, **_identity(ALICE, 0o022)).returncode == 0:
                return python
    return None


@contextmanager
def shared_directory(mode: int, owner: int = ALICE) -> Iterator[Path]:
    """Create an empty runs directory that both users reach: pytest's own directories are private.

    Skip the test where the users cannot run Python.
    """
    if os.geteuid() != 0:
        pytest.skip("only root can run processes as two other users")
    if _find_python() is None:
        pytest.skip(f"other users can run neither {' nor '.join(PYTHONS)}, because of the permissions of directories")
    parent = Path(tempfile.mkdtemp(prefix="clarinet-users-"))
    try:
        parent.chmod(0o755)
        runs = parent / "runs"
        runs.mkdir()
        os.chown(runs, owner, GROUP)
        runs.chmod(mode)
        yield runs
    finally:
        shutil.rmtree(parent, ignore_errors=True)


def run_as(
    uid: int, function: Callable[..., Any], *arguments: Any, umask: int = 0o022, hide_processes: bool = False
) -> Any:
    """Call a function in a process of a user, where /proc may show only their own processes; return its result."""
    ours, theirs = forkserver.Pipe()
    call = (theirs, uid, umask, hide_processes, function, arguments)
    process = forkserver.Process(target=_call, args=call, daemon=True)
    process.start()
    theirs.close()
    outcome, result = ours.recv()
    process.join(TIMEOUT)
    if outcome == "skipped":
        pytest.skip(f"processes cannot be hidden here: {result}")
    assert outcome == "returned", result
    return result


def _call(
    pipe: Connection, uid: int, umask: int, hide_processes: bool, function: Callable[..., Any], arguments: Any
) -> None:
    try:
        if hide_processes and (error := _hide_processes()):
            pipe.send(("skipped", error))
        else:
            _become(uid, umask)
            pipe.send(("returned", function(*arguments)))
    except BaseException:  # noqa: BLE001 - the test reports it
        pipe.send(("failed", traceback.format_exc()))


def held_as(
    uid: int, enter: Callable[..., AbstractContextManager[Any]], *arguments: Any
) -> AbstractContextManager[Worker]:
    """Keep a context manager open in a process of a user until the block ends."""
    return held_in_process(enter, *arguments, prepare=partial(_become, uid, 0o022))


def _become(uid: int, umask: int) -> None:
    os.setgroups([GROUP])
    os.setgid(GROUP)
    os.setuid(uid)
    os.umask(umask)
    os.chdir("/")
    os.environ.clear()
    os.environ.update(ENVIRONMENT)


def _hide_processes() -> str:
    """Mount a /proc that shows users their own processes; return why that is impossible."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(NEW_MOUNTS):
        return os.strerror(ctypes.get_errno())
    for arguments in (["--make-rprivate", "/"], ["-t", "proc", "-o", "hidepid=2", "proc", "/proc"]):
        result = subprocess.run(["mount", *arguments], capture_output=True, text=True)
        if result.returncode:
            return result.stderr.strip()
    return ""


def start_supervisor_as(uid: int, runs: Path, umask: int = 0o022) -> "subprocess.Popen[bytes]":
    """Start a supervisor with workers that train nothing."""
    command = [_find_python() or "", "-P", "-m", "tests.support.supervised", str(runs)]
    with (runs.parent / f"supervisor-{uid}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, **_identity(uid, umask))


def _identity(uid: int, umask: int) -> dict[str, Any]:
    return {"user": uid, "group": GROUP, "extra_groups": [GROUP], "umask": umask, "cwd": "/", "env": ENVIRONMENT}
