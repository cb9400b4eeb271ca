"""Two ordinary users who share a runs directory. Only root can become them: tests are skipped for other users."""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
ALICE, BOB, GROUP = 64101, 64102, 64100
PACKAGES = sysconfig.get_path("purelib")
PYTHONS = (sys.executable, "/usr/bin/python3")
PRELUDE = """
import os, sys
from pathlib import Path
from clarinet_tui.queue import local, requests
from clarinet_tui.queue.queue_file import *
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue.supervisor import *
from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.lock import is_alive
from core.errors import InputError
from tests.support.supervised import enqueue_directly, make_fault_run
runs = Path(sys.argv[1])
"""


@cache
def require_two_users() -> None:
    """Skip the test where the two users cannot run Python."""
    if os.geteuid() != 0:
        pytest.skip("only root can run processes as two other users")
    if _find_python() is None:
        pytest.skip(f"other users can run neither {' nor '.join(PYTHONS)}, because of the permissions of directories")


@cache
def _find_python() -> str | None:
    """Return an interpreter that the users can run: that of root may be in a private directory."""
    for python in PYTHONS:
        try:
            result = _run(ALICE, 0o022, [python, "-P", "-c", PRELUDE, "/"], {})
        except PermissionError:
            continue
        if result.returncode == 0:
            return python
    return None


@contextmanager
def shared_directory(mode: int, owner: int = ALICE) -> Iterator[Path]:
    """Create an empty runs directory that both users reach: pytest's own directories are private."""
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
    uid: int,
    code: str,
    runs: Path,
    umask: int = 0o022,
    variables: Mapping[str, str] | None = None,
    *,
    hide_processes: bool = False,
) -> str:
    """Run Python code as a user, with `runs` as the runs directory, and return what it prints."""
    command = [_find_python() or "", "-P", "-c", PRELUDE + code, str(runs)]
    run = _run_with_hidden_processes if hide_processes else _run
    result = run(uid, umask, command, variables or {})
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def _run_with_hidden_processes(
    uid: int, umask: int, command: list[str], variables: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a command where /proc shows a user only their own processes."""
    hide = "mount -t proc -o hidepid=2 proc /proc || exit 99; "
    become = ["setpriv", f"--reuid={uid}", f"--regid={GROUP}", "--clear-groups", *command]
    script = hide + shlex.join(["exec", *become])
    environment = _identity(uid, umask, variables)["env"]
    result = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        env=environment,
    )
    if result.returncode in (1, 99) and not result.stdout and "mount" in result.stderr:
        pytest.skip(f"processes cannot be hidden here: {result.stderr.strip()[-200:]}")
    return result


@contextmanager
def running_code(uid: int, code: str, runs: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run Python code as a user while it waits for its input to end, from the line that it prints first."""
    command = [_find_python() or "", "-P", "-c", PRELUDE + code, str(runs)]
    options = _identity(uid, 0o022, {})
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        yield process


def start_supervisor_as(uid: int, runs: Path, umask: int = 0o022) -> "subprocess.Popen[bytes]":
    """Start a supervisor with workers that train nothing."""
    command = [_find_python() or "", "-P", "-m", "tests.support.supervised", str(runs)]
    with (runs.parent / f"supervisor-{uid}.log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log, **_identity(uid, umask, {}))


def _run(uid: int, umask: int, command: list[str], variables: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **_identity(uid, umask, variables))


def _identity(uid: int, umask: int, variables: Mapping[str, str]) -> dict[str, Any]:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT}:{PACKAGES}",
        "HOME": "/nonexistent",
        "OMP_NUM_THREADS": "1",
    }
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", **variables}
    return {"user": uid, "group": GROUP, "extra_groups": [GROUP], "umask": umask, "cwd": "/", "env": environment}
