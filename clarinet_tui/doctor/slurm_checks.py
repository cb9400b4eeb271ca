"""Checks of `clarinet doctor` on a cluster: the controller, and how a node sees the runs directory and its locks."""

import fcntl
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from clarinet_tui.doctor.machine_checks import CheckResult
from clarinet_tui.doctor.storage_checks import nearest_existing
from clarinet_tui.slurm.attempts import STALE_SECONDS
from clarinet_tui.slurm.commands import SlurmError, call, list_partitions
from clarinet_tui.text import format_count

NAME = "Slurm"
NODE_SECONDS = 60.0
_PROBE = """
import fcntl, sys
try:
    file = open(sys.argv[1])
except OSError:
    print("missing")
    sys.exit()
try:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("held")
else:
    print("free")
"""
"""Run on a node while this machine holds the lock of a file."""


def has_slurm() -> bool:
    return shutil.which("sinfo") is not None


def check_controller() -> CheckResult:
    try:
        partitions = list_partitions()
    except SlurmError as error:
        return CheckResult(NAME, "warning", str(error))
    names = ", ".join(partition.name for partition in partitions[:5])
    return CheckResult(NAME, "good", f"{format_count(len(partitions), 'partition')}: {names}")


def probe_lock_on_node(path: Path) -> str:
    """Return held, free or missing, as a node of the default partition sees a file that is locked here."""
    command = ["--quiet", "--immediate=30", "--ntasks=1", "--time=1", sys.executable, "-P", "-c", _PROBE, str(path)]
    return call("srun", *command, timeout=NODE_SECONDS).stdout.strip()


def check_node(runs_dir: Path, probe: Callable[[Path], str] = probe_lock_on_node) -> CheckResult:
    """Lock a file here and look at it from a node: `flock` does not reach across some network mounts."""
    folder = nearest_existing(runs_dir)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            answer = probe(Path(file.name))
    except SlurmError as error:
        return CheckResult(f"{NAME} node", "warning", f"not checked: {error}", "try again when a node is idle")
    except OSError as error:
        return CheckResult(f"{NAME} node", "warning", f"not checked: {folder}: {error.strerror or error}")
    if answer == "held":
        return CheckResult(f"{NAME} node", "good", f"sees {folder} and its locks")
    if answer == "missing":
        advice = "use a --runs-dir on a file system that all nodes mount"
        return CheckResult(f"{NAME} node", "bad", f"does not see {folder}", advice)
    message = f"sees {folder}, but not its locks (flock): a second attempt waits for a stale lease, {STALE_SECONDS:g} s"
    return CheckResult(f"{NAME} node", "warning", message, "nothing to do; ask for a mount with locks across nodes")
