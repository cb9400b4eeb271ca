"""The checks of `clarinet doctor`: the machine, the runs directory, its runs and the cluster. Nothing imports torch."""

import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.local import parse_assignment
from clarinet_tui.history.database import Database, OutdatedHistoryError
from clarinet_tui.history.reindex import find_mismatches
from clarinet_tui.history.schema import SCHEMA
from clarinet_tui.history.trash import TRASH
from clarinet_tui.queue import supervisor
from clarinet_tui.queue.queue_file import QUEUE_LOCK, read_queue
from clarinet_tui.runs.directory import DiskUse, disk_use, list_runs
from clarinet_tui.runs.ownership import own_path
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.slurm.attempts import STALE_SECONDS
from clarinet_tui.slurm.commands import SlurmError, call, list_partitions
from clarinet_tui.slurm.jobs import JOB_LOCK, read_jobs
from clarinet_tui.text import format_count
from core.errors import InputError
from core.methods import METHODS, methods, plugin_problems

Verdict = Literal["good", "warning", "bad"]
MIN_TERMINAL = (80, 24)
"""Columns and lines that the app needs."""
_TORCH_PROBE = """
import json, torch
devices = ["cpu", *(f"cuda:{number}" for number in range(torch.cuda.device_count()))]
for device in devices:
    torch.ones(64, 64, device=device).mm(torch.ones(64, 64, device=device)).sum().item()
print(json.dumps({"version": torch.__version__, "devices": devices}))
"""
LOW_SPACE, TOO_LITTLE_SPACE = 5 * 10**9, 200 * 10**6
"""Bytes of free disk space below which the check warns and fails."""
SHARED = frozenset(
    {"9p", "afs", "beegfs", "ceph", "cifs", "gpfs", "lustre", "nfs", "nfs4", "smb3", "smbfs"}
    | {"fuse.ceph", "fuse.glusterfs", "fuse.sshfs"}
)
"""Network file systems, on which SQLite's locks and shared memory do not work between machines."""
MAX_NAMED = 5
SLURM = "Slurm"
_NODE_PROBE = """
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


@dataclass(frozen=True)
class CheckResult:
    """The result of one check, and what to do about it."""

    name: str
    verdict: Verdict
    message: str
    advice: str = ""


def check_torch(folder: Path | None, gpus: int) -> CheckResult:
    """Read torch's version.py; a build without CUDA cannot use the machine's GPUs."""
    try:
        text = "" if folder is None else (folder / "version.py").read_text(errors="replace")
    except OSError as error:
        return CheckResult("torch", "bad", f"{folder} cannot be read: {error.strerror}", "reinstall torch")
    version = parse_assignment(text, "__version__")
    if version is None:
        advice = "reinstall Clarinet, which depends on torch"
        return CheckResult("torch", "bad", "is not installed: nothing can be trained", advice)
    cuda, hip = parse_assignment(text, "cuda"), parse_assignment(text, "hip")
    if cuda or hip:
        return CheckResult("torch", "good", f"{version}, built for {f'CUDA {cuda}' if cuda else f'ROCm {hip}'}")
    if not gpus:
        return CheckResult("torch", "good", f"{version}, built for the CPU only")
    message = f"{version} is built for the CPU only: {format_count(gpus, 'GPU')} cannot be used"
    return CheckResult("torch", "warning", message, "install a build of torch with CUDA: see pytorch.org/get-started")


def check_torch_works(
    command: Sequence[str] = (sys.executable, "-P", "-c", _TORCH_PROBE), seconds: float = 120.0
) -> CheckResult:
    """Multiply two matrices on every device, in a process of its own."""
    name, advice = "torch computation", "reinstall torch, or install a build that fits the driver"
    try:
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return CheckResult(name, "bad", f"no answer within {seconds:g} s", "check the load and nvidia-smi")
    if result.returncode:
        error = (result.stderr.strip().splitlines() or [f"exit code {result.returncode}"])[-1]
        return CheckResult(name, "bad", f"fails: {error}", advice)
    torch: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return CheckResult(name, "good", f"{torch['version']} computes on {', '.join(torch['devices'])}")


def check_plugins() -> Iterator[CheckResult]:
    """Name the methods of plug-ins, and the plug-ins that cannot be used; nothing if none is installed."""
    for problem in plugin_problems():
        yield CheckResult("plug-ins", "warning", problem, "repair or uninstall it; all other methods work")
    added = {name: method for name, method in methods().items() if name not in METHODS}
    for name, stage in ((name, stage) for name, method in added.items() for stage in method.stages):
        module = stage.algorithm.partition(":")[0]
        try:
            found = find_spec(module) is not None
        except Exception:  # noqa: BLE001 - the package of a plug-in may raise anything
            found = False
        if not found:
            message = f"method {name}: stage {stage.name}: module {module} is not found"
            yield CheckResult("plug-ins", "warning", message, "repair the plug-in; all other methods work")
    if added:
        yield CheckResult("plug-ins", "good", f"{format_count(len(added), 'method')}: {', '.join(added)}")


def check_devices(devices: Sequence[Device]) -> CheckResult:
    gpus = [device for device in devices if device.is_gpu]
    problems = [f"{gpu.label}: {problem}" for gpu in gpus if (problem := gpu.problem or gpu.warning)]
    driver = [device.problem for device in devices if not device.is_gpu and device.problem]
    if driver:
        return CheckResult("GPUs", "warning", driver[0], "repair the driver, or train on the CPU")
    if problems:
        return CheckResult("GPUs", "warning", "; ".join(problems), "check nvidia-smi")
    if notes := [device.note for device in devices if device.note]:
        return CheckResult("GPUs", "warning", notes[0], "or train on the CPU")
    if not gpus:
        return CheckResult("GPUs", "good", "none: runs compute on the CPU")
    names = ", ".join(f"{device.label} {device.name} ({(device.memory_total or 0) / 2**30:.0f} GiB)" for device in gpus)
    return CheckResult("GPUs", "good", f"{format_count(len(gpus), 'GPU')}: {names}")


def check_data(data_dir: Path) -> CheckResult:
    """Missing data is not an error: the offline task needs none."""
    from core.data.digit_domains import list_domains

    try:
        domains = list_domains(data_dir)
    except (InputError, OSError) as error:
        return CheckResult("data", "bad", str(error), "run clarinet data verify for details")
    available = ", ".join(domain.title for domain in domains if domain.present)
    missing = ", ".join(domain.title for domain in domains if not domain.present)
    if not missing:
        return CheckResult("data", "good", f"{data_dir}: all domains are available")
    advice = "clarinet data list shows how to get the others"
    return CheckResult("data", "good", f"{data_dir}: {available}; missing: {missing}", advice)


def check_terminal(environ: Mapping[str, str] = os.environ, size: tuple[int, int] | None = None) -> CheckResult:
    """`size` is None without a terminal, and 0 if the terminal does not report it."""
    if size is None:
        return CheckResult("terminal", "good", "none: the output goes to a pipe, a file or a job")
    term = environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return CheckResult("terminal", "warning", f"TERM is {term or 'not set'}", "export TERM=xterm-256color")
    charset = next((environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(name)), "")
    if "utf8" not in charset.lower().replace("-", ""):
        message = f"the locale is {charset or 'not set'}: lines and charts may look broken"
        return CheckResult("terminal", "warning", message, "export LANG=C.UTF-8")
    colours = "256 colours" if "256color" in term else "16 colours"
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit") or term.endswith("-direct"):
        colours = "16 million colours"
    if environ.get("NO_COLOR"):
        colours = "no colours (NO_COLOR)"
    message = f"{term}, {colours}, {size[0]}×{size[1]}, UTF-8"
    if 0 < size[0] < MIN_TERMINAL[0] or 0 < size[1] < MIN_TERMINAL[1]:
        advice = f"the app needs {MIN_TERMINAL[0]}×{MIN_TERMINAL[1]}: make the window larger"
        return CheckResult("terminal", "warning", message, advice)
    return CheckResult("terminal", "good", message)


def nearest_existing(path: Path) -> Path:
    """Return the path itself, or the closest parent that exists."""
    path = path.absolute()
    return next(folder for folder in (path, *path.parents) if os.access(folder, os.F_OK))


def check_free_space(runs_dir: Path) -> CheckResult:
    free = shutil.disk_usage(nearest_existing(runs_dir)).free
    message = f"{free / 1e9:.1f} GB free for {runs_dir}"
    if free < TOO_LITTLE_SPACE:
        return CheckResult("disk space", "bad", message, "free some: runs pause while the disk is full")
    if free < LOW_SPACE:
        return CheckResult("disk space", "warning", message, "free some soon")
    return CheckResult("disk space", "good", message)


def check_runs_size(runs_dir: Path) -> CheckResult:
    """For information: what all runs take, and how much of it could be freed."""
    sizes = [disk_use(run.path) for run in list_runs(runs_dir)]
    use = sum(sizes, DiskUse())
    advice = 'set checkpoints = "none" for runs that need not be resumed' if use.checkpoints > LOW_SPACE else ""
    return CheckResult("runs", "good", f"{format_count(len(sizes), 'run')}: {use}", advice)


def check_file_system(runs_dir: Path, database: Path) -> CheckResult:
    """Only the database needs a local disk: each journal has one writer."""
    runs, history = file_system(runs_dir), file_system(database)
    if history in SHARED:
        message = f"the history is on {history}, where SQLite cannot be shared safely"
        return CheckResult("file system", "warning", message, "set --db or CLARINET_DB to a path on a local disk")
    other = "" if runs == history else f", and the history on {history or 'an unknown file system'}"
    return CheckResult("file system", "good", f"{runs or 'unknown'}{other}")


def file_system(path: Path) -> str:
    """Return the type of the path's file system; empty if unknown."""
    import psutil

    folder = nearest_existing(path).resolve()
    mounts = [mount for mount in psutil.disk_partitions(all=True) if folder.is_relative_to(mount.mountpoint)]
    # A later mount hides an earlier one at the same path.
    innermost = max(reversed(mounts), key=lambda mount: len(Path(mount.mountpoint).parts), default=None)
    return innermost.fstype if innermost else ""


def check_writing(runs_dir: Path) -> CheckResult:
    """Write a file there and lock it twice: the second lock must be refused."""
    name, folder = "writing", nearest_existing(runs_dir)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
            fcntl.flock(file, fcntl.LOCK_EX)
            with Path(file.name).open("rb") as other, suppress(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                message = f"{folder}: locks have no effect: two workers could train one run"
                advice = "use a --runs-dir on another disk, or mount this one with locks"
                return CheckResult(name, "bad", message, advice)
    except OSError as error:
        message = f"{folder}: {error.strerror or error}"
        return CheckResult(name, "bad", message, "use a --runs-dir where you can write and lock files")
    created = "" if runs_dir.exists() else f"; the first run creates {runs_dir.name} there"
    return CheckResult(name, "good", f"{folder} can be written and locked{created}")


def check_clock(runs_dir: Path, now: Callable[[], float] = time.time) -> CheckResult:
    """Run states depend on the times of files: the disk's clock must agree with ours."""
    try:
        with tempfile.NamedTemporaryFile(dir=nearest_existing(runs_dir), prefix=".doctor-") as file:
            file.write(b"x")
            file.flush()
            offset = os.fstat(file.fileno()).st_mtime - now()
    except OSError:
        return CheckResult("clock", "warning", "not compared: the runs directory cannot be written")
    if abs(offset) <= 5.0:
        return CheckResult("clock", "good", "agrees with the disk's clock")
    message = f"the disk's clock is {abs(offset):.0f} s {'ahead of' if offset > 0 else 'behind'} ours"
    return CheckResult("clock", "warning", message, "synchronise the clocks of both machines with NTP")


def check_database(path: Path) -> CheckResult:
    """Check the database's pages and schema without changing it."""
    if not os.access(path, os.F_OK):
        message = f"{path}: does not exist yet; it is built from the run directories when needed"
        return CheckResult("history", "good", message)
    try:
        with Database.open_read_only(path.parent, path) as db:
            result = db.rows("PRAGMA quick_check(1)")[0][0]
    except OutdatedHistoryError:
        return CheckResult("history", "warning", f"{path}: has an older schema", "clarinet ls rebuilds it")
    except InputError as error:
        return CheckResult("history", "bad", str(error))
    if result != "ok":
        advice = "clarinet reindex rebuilds it from the run directories"
        return CheckResult("history", "bad", f"{path}: {result}", advice)
    return CheckResult("history", "good", f"{path}: intact, schema {SCHEMA}")


def check_queue(runs_dir: Path) -> CheckResult:
    """Read the queue and the Slurm jobs, and look for files of other users that have the names of this user's."""
    try:
        for name in (QUEUE_LOCK, supervisor.SUPERVISOR_LOCK, supervisor.SUPERVISOR_LOG, JOB_LOCK, TRASH):
            own_path(runs_dir, name)
        entries, jobs = read_queue(runs_dir).entries, read_jobs(runs_dir).jobs
    except InputError as error:
        return CheckResult("queue", "bad", str(error))
    sent = f", {format_count(len(jobs), 'run')} sent to Slurm" if jobs else ""
    return CheckResult("queue", "good", f"{format_count(len(entries), 'run')} waiting or started{sent}")


def check_supervisor(runs_dir: Path) -> CheckResult:
    """For information: the supervisor starts when runs are queued and ends when none is left."""
    try:
        owner = supervisor.find_supervisor(runs_dir)
    except InputError as error:
        return CheckResult("supervisor", "bad", str(error))
    if owner is None:
        return CheckResult("supervisor", "good", "not running: it starts with the first queued run")
    if supervisor.is_unresponsive(owner):
        message = f"process {owner.pid} on {owner.host} has not responded for {supervisor.UNRESPONSIVE_AFTER:g} s"
        return CheckResult("supervisor", "bad", message, "clarinet queue continue replaces it; runs continue")
    return CheckResult("supervisor", "good", f"process {owner.pid} on {owner.host}")


def check_run_files(runs_dir: Path) -> CheckResult:
    """Read every file of every run but the lines of the journals."""
    runs = list_runs(runs_dir)
    problems = [f"run {run.id}: {name}: {problem}" for run in runs for name, problem in find_problems(run)]
    if not problems:
        return CheckResult("run files", "good", f"the files of {format_count(len(runs), 'run')} can be read")
    advice = "clarinet doctor --repair moves files that runs can do without out of the way"
    return CheckResult("run files", "warning", _list(problems), advice)


def check_journals(runs_dir: Path, database: Path) -> CheckResult:
    """Compare the checksum of what was ingested with the journals, and name unreadable lines."""
    if not database.exists():
        return CheckResult("journals", "good", "there is no history to compare them with")
    try:
        with Database.open_read_only(runs_dir, database) as db:
            mismatches = [f"run {run.id}: {mismatch}" for run, mismatch in find_mismatches(db, runs_dir)]
            sql = "SELECT run, message FROM events WHERE event = 'damaged' ORDER BY run, position"
            damaged = [f"run {run}: {message}" for run, message in db.tuples(sql)]
    except InputError as error:
        return CheckResult("journals", "warning", f"not compared with the history: {error}")
    if mismatches:
        return CheckResult("journals", "bad", _list(mismatches), "clarinet doctor --repair ingests these runs again")
    if damaged:
        return CheckResult("journals", "warning", _list(damaged), "everything else in these journals was read")
    return CheckResult("journals", "good", "the history agrees with all journals")


def _list(sentences: Sequence[str]) -> str:
    more = f"; and {len(sentences) - MAX_NAMED} more" if len(sentences) > MAX_NAMED else ""
    return "; ".join(sentences[:MAX_NAMED]) + more


def check_controller() -> CheckResult:
    try:
        partitions = list_partitions()
    except SlurmError as error:
        return CheckResult(SLURM, "warning", str(error))
    names = ", ".join(partition.name for partition in partitions[:5])
    return CheckResult(SLURM, "good", f"{format_count(len(partitions), 'partition')}: {names}")


def probe_lock_on_node(path: Path) -> str:
    """Return held, free or missing, as a node of the default partition sees a file that is locked here."""
    options = ("--quiet", "--immediate=30", "--ntasks=1", "--time=1")
    return call("srun", *options, sys.executable, "-P", "-c", _NODE_PROBE, str(path), timeout=60.0).stdout.strip()


def check_node(runs_dir: Path, probe: Callable[[Path], str] = probe_lock_on_node) -> CheckResult:
    """Lock a file here and look at it from a node: `flock` does not reach across some network mounts."""
    folder = nearest_existing(runs_dir)
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".doctor-") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            answer = probe(Path(file.name))
    except SlurmError as error:
        return CheckResult(f"{SLURM} node", "warning", f"not checked: {error}", "try again when a node is idle")
    except OSError as error:
        return CheckResult(f"{SLURM} node", "warning", f"not checked: {folder}: {error.strerror or error}")
    if answer == "held":
        return CheckResult(f"{SLURM} node", "good", f"sees {folder} and its locks")
    if answer == "missing":
        advice = "use a --runs-dir on a file system that all nodes mount"
        return CheckResult(f"{SLURM} node", "bad", f"does not see {folder}", advice)
    message = f"sees {folder}, but not its locks (flock): a second attempt waits for a stale lease, {STALE_SECONDS:g} s"
    return CheckResult(f"{SLURM} node", "warning", message, "nothing to do; ask for a mount with locks across nodes")
