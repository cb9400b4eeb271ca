"""A run's directory: its id, its paths, its settings and its size."""

import errno
import itertools
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import msgspec

from clarinet_tui.runs.files import (
    ContentError,
    StorageError,
    UnreadableFileError,
    append_line,
    as_input_error,
    modified_time,
    parse_toml,
    read_file,
)
from clarinet_tui.runs.lock import (
    UNSUPPORTED,
    LockOwner,
    LocksUnsupportedError,
    hold_lock,
    is_held_by,
    is_locked,
    read_lock_owner,
)
from clarinet_tui.runs.ownership import find_owner, is_own, user_name
from clarinet_tui.text import format_bytes, shorten
from core.config import RunConfig, convert_settings
from core.errors import InputError
from core.files import replace_file, sync_directory

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
LENGTH = 9
"""The number of digits of a new id."""
IDS = len(DIGITS) ** LENGTH
STEP = 62_767_505_117_051
"""IDS divided by the golden ratio, and coprime to IDS: its multiples fill the range evenly and meet again after IDS."""
ID = re.compile(r"[0-9a-z]{3,32}", re.ASCII)
LAST = "last"
"""The word for the newest run; no new id begins with it."""
MISREAD = re.compile(rf"{LAST}.*|[0-9]+e?[0-9]*", re.ASCII)
"""What is not an id for a user, or a number for other programs: 123456789, 12345e678."""
RESERVED = frozenset({"stage1", "queue"})
"""Names in a runs directory that match the pattern of ids but are not runs."""
MAX_CONFIG_BYTES = 1 << 20
CONFIG, JOURNAL, ANNOTATIONS = "config.toml", "journal.jsonl", "annotations.jsonl"
STAGED = ".new-"
"""The prefix of directories of runs that are being created."""
SECRET_OPTIONS = ("--on-alarm", "--on-end", "--notify")
"""Options whose value may contain a password or a secret address."""
SILENT_AFTER = 600.0
"""Seconds without a journal line after which a run on another machine counts as silent."""
LEFTOVER_AGE = 3600.0
"""Seconds after which a temporary file is a leftover: it is renamed or removed within moments."""
TEMPORARY = re.compile(rf"{re.escape(STAGED)}\d+-[0-9a-f]+|\.(queue|slurm)(\.\d+)?\.json\.\d+", re.ASCII)


_numbers: Iterator[int] = iter(())


def _start_ids() -> None:
    """Let this process make ids from a random one on; a forked child would make those of its parent."""
    global _numbers
    _numbers = itertools.count(int.from_bytes(os.urandom(16), "big") % IDS)


_start_ids()
os.register_at_fork(after_in_child=_start_ids)


def new_id() -> str:
    """Return an id that this process has not made yet; ids differ in their first digits, and are in no order."""
    while True:
        number = next(_numbers) * STEP % IDS
        id_ = "".join(DIGITS[number // 36**place % 36] for place in reversed(range(LENGTH)))
        if not MISREAD.fullmatch(id_):
            return id_


def is_valid_id(text: str) -> bool:
    return ID.fullmatch(text) is not None and text not in RESERVED


class _RunFile:
    """The path of a file of a run, built on access: a list may have thousands of runs."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, run: "RunDirectory", owner: type) -> Path:
        return run.path / self.name


class RunDirectory:
    """All paths of a run. Its directory is never a symbolic link."""

    def __init__(self, runs_dir: Path, id: str) -> None:  # noqa: A002
        if not is_valid_id(id):
            raise InputError(f"run id: expected 3 to 32 of 0-9 and a-z, got {quote_word(id)}")
        self.id = id
        self.runs_dir = Path(runs_dir)
        self.path = self.runs_dir / id
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a symbolic link: copy the run's directory here instead")

    config = _RunFile(CONFIG)
    journal = _RunFile(JOURNAL)
    annotations = _RunFile(ANNOTATIONS)
    log = _RunFile("worker.log")
    checkpoint = _RunFile("checkpoint.pt")
    checkpoint_previous = _RunFile("checkpoint.previous.pt")
    model = _RunFile("model.safetensors")
    environment = _RunFile("environment.json")
    lock = _RunFile("lock")
    pseudo_labels = _RunFile("pseudo_labels.npy")
    stage1 = _RunFile("stage1.json")
    inspection = _RunFile("inspection.json")
    slurm_attempts = _RunFile("slurm.jsonl")
    slurm_lease = _RunFile("slurm.lease")

    def __repr__(self) -> str:
        return f"RunDirectory({self.id})"

    @classmethod
    def create(
        cls,
        runs_dir: Path,
        config: RunConfig,
        *,
        id: str | None = None,  # noqa: A002
        now: datetime | None = None,
    ) -> Self:
        """Create a run's directory under a temporary name and rename it: it appears complete, or not at all."""
        with create_runs(runs_dir, [config], run_id=id, now=now) as (run,):
            return cls(runs_dir, run.id)

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint.exists() or self.checkpoint_previous.exists()

    def check_weights(self) -> None:
        """Raise InputError if the run has neither final weights nor a checkpoint."""
        if not self.model.exists() and not self.has_checkpoint:
            raise InputError(f"run {self.id}: has no weights yet: it has neither finished nor saved a checkpoint")

    def read_config(self) -> RunConfig:
        version = None
        with suppress(OSError):
            status = self.config.lstat()
            version = status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
        return _read_config(self.config, version)

    def check_own(self, action: str) -> None:
        """Raise InputError if the run or its settings belong to another user, whose files are never instructions."""
        for path in (self.path, self.config):
            owner = find_owner(path)
            if owner is not None and not is_own(owner, self.runs_dir):
                raise InputError(f"run {self.id}: belongs to {user_name(owner)}: only they can {action} it")

    def hold_lock(self) -> AbstractContextManager[LockOwner]:
        """Hold the lock of the run's only worker, or raise LockHeldError."""
        return hold_lock(self.lock, f"run {self.id}")


RUN_FILES = tuple(file.name for file in vars(RunDirectory).values() if isinstance(file, _RunFile))
"""The names of all files of a run; one that keeps the weights of epochs has others, `model-<epoch>.safetensors`."""


def find_worker(run: RunDirectory) -> LockOwner | None:
    """Return the live worker of a run.

    A worker on another machine counts as dead when its lock is free and its journal was not written for SILENT_AFTER s.
    """
    owner = read_lock_owner(run.lock)
    if owner is None or (alive := is_held_by(run.lock, owner)) is False:
        return None
    silent = time.time() - modified_time(run.journal) > SILENT_AFTER
    return owner if alive or not silent or is_locked(run.lock) else None


def find_local_worker(run: RunDirectory) -> LockOwner | None:
    """Return the run's worker only if it is on this machine: pids of another one mean nothing here."""
    owner = read_lock_owner(run.lock)
    return owner if owner is not None and is_held_by(run.lock, owner) else None


def _creating_command() -> str:
    """Return the command line of this process with placeholders for secrets; empty if it is not `clarinet`."""
    program, *words = sys.argv or [""]
    shown = [Path(program).name]
    for word in words:
        option, equals, _ = word.partition("=")
        if shown[-1] in SECRET_OPTIONS:
            shown.append("...")
        else:
            shown.append(f"{option}=..." if equals and option in SECRET_OPTIONS else word)
    return shlex.join(shown) if shown[0] == "clarinet" else ""


def _write_run(folder: Path, config: RunConfig, now: datetime) -> None:
    """Write the files of a new run into a directory with a temporary name; other users cannot write there."""
    import tomli_w

    settings = tomli_w.dumps(msgspec.to_builtins(config)).encode()
    if len(settings) > MAX_CONFIG_BYTES:
        raise InputError("settings: expected less than 1 MB in total")
    with as_input_error(folder.parent):
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o755)
        created = {"event": "created", "time": now.timestamp(), "command": _creating_command()}
        try:
            append_line(folder / ANNOTATIONS, created)
        except StorageError as error:
            if error.errno in UNSUPPORTED:
                raise LocksUnsupportedError(folder.parent) from error
            raise
        replace_file(folder / CONFIG, settings, 0o644)
        created_ns = 1000 * round(1e6 * now.timestamp())
        with suppress(OSError):  # the file system keeps times of its own
            os.utime(folder / CONFIG, ns=(created_ns, created_ns))  # see list_run_ids


def _publish_run(staged: Path, run: RunDirectory) -> bool:
    """Rename a staged directory to that of the run; return False if there is one already."""
    with as_input_error(run.path):
        try:
            staged.rename(run.path)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
            return False
    return True


@contextmanager
def create_runs(
    runs_dir: Path, configs: Sequence[RunConfig], *, run_id: str | None = None, now: datetime | None = None
) -> Iterator[list[RunDirectory]]:
    """Create runs that appear together, once all are written; none is left if the block raises.

    Their times of creation differ by a microsecond, so that lists keep their order. `run_id` is that of a single run.
    """
    runs: list[RunDirectory] = []
    staged: list[Path] = []
    now, runs_dir = now or datetime.now(UTC), Path(runs_dir)
    with ExitStack() as on_error:
        for number, config in enumerate(configs):
            staged.append(runs_dir / f"{STAGED}{os.getpid()}-{os.urandom(8).hex()}")
            on_error.callback(shutil.rmtree, staged[-1], ignore_errors=True)
            _write_run(staged[-1], config, now + timedelta(microseconds=number))
        for path in staged:
            while not _publish_run(path, run := RunDirectory(runs_dir, run_id or new_id())):
                if run_id:
                    raise InputError(f"run {run_id}: {run.path} already exists")
            on_error.callback(shutil.rmtree, run.path, ignore_errors=True)
            runs.append(run)
        if runs:
            with as_input_error(runs_dir):
                sync_directory(runs_dir)
        yield runs
        on_error.pop_all()


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of settings that the user has named, which may be a pipe or a link."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_CONFIG_BYTES + 1)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    if len(content) > MAX_CONFIG_BYTES:
        raise InputError(f"{path}: expected at most 1 MB")
    return _parse_config(content, path)


def find_config(runs_dir: Path, run_id: str) -> RunConfig | None:
    """Return the settings of a run; None if they cannot be read."""
    try:
        return RunDirectory(runs_dir, run_id).read_config()
    except InputError:
        return None


@lru_cache(maxsize=10_000)  # a queue may be as long, and its runs are looked at again and again
def _read_config(path: Path, version: object) -> RunConfig:
    """Read a config.toml; while its `version` stays the same, it is not parsed again."""
    content = read_file(path, MAX_CONFIG_BYTES)
    if content is None:
        raise UnreadableFileError(path, "No such file or directory")
    return convert_settings(_parse_config(content, path), str(path))


def _parse_config(content: bytes, path: Path) -> dict[str, Any]:
    try:
        return parse_toml(content)
    except ContentError as error:
        raise UnreadableFileError(path, str(error)) from None


def find_run(runs_dir: Path, prefix: str) -> RunDirectory:
    """Return the run with this id or unique prefix of an id."""
    run = match_prefix(runs_dir, prefix)
    if run is None:
        raise InputError(f"no run in {runs_dir} has an id starting with {quote_word(prefix)}: see `clarinet ls`")
    return run


def match_prefix(runs_dir: Path, prefix: str) -> RunDirectory | None:
    """Return the run with this id or unique prefix of an id; None if there is none, InputError if there are several."""
    ids = list_run_ids(runs_dir)
    matches = [prefix] if prefix in ids else [id_ for id_ in ids if prefix and id_.startswith(prefix)]
    if len(matches) > 1:
        listed = list_some(matches)
        raise InputError(f"{quote_word(prefix)} is the prefix of {len(matches)} runs: {listed}: give a longer one")
    return RunDirectory(runs_dir, matches[0]) if matches else None


def list_runs(runs_dir: Path) -> list[RunDirectory]:
    """Return all runs, newest first, by the times that their annotations record."""
    runs = [RunDirectory(runs_dir, name) for name in list_run_ids(runs_dir)]
    return sorted(runs, key=read_creation_time, reverse=True)


def read_creation_time(run: RunDirectory) -> float:
    """Return the Unix time of a run's creation, or else of its settings, as the history has it."""
    from clarinet_tui.runs.journal import read_first_event

    created = None
    with suppress(UnreadableFileError, OSError):
        created = (read_first_event(run.annotations) or {}).get("time")
    return created if isinstance(created, float | int) else modified_time(run.config)


def list_run_ids(runs_dir: Path) -> list[str]:
    """Return the ids of all runs, newest first: directories, not links, that contain config.toml.

    config.toml has the time of the run's creation as its own; that of a run which was copied or imported may differ.
    """
    try:
        with os.scandir(runs_dir) as entries:
            names = [entry.name for entry in entries if is_valid_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    found = [(created, name) for name in names if (created := _modified_ns(f"{runs_dir}/{name}/{CONFIG}")) is not None]
    return [name for _, name in sorted(found, reverse=True)]


def _modified_ns(path: str) -> int | None:
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 - Path.stat is too slow for a list of thousands of runs
    except OSError:
        return None


def list_some(values: Sequence[str], maximum: int = 5) -> str:
    """Return the first of the values, and the number of the others."""
    return ", ".join(values[:maximum]) + (f" and {len(values) - maximum} more" if len(values) > maximum else "")


def quote_word(text: str) -> str:
    """Quote what a user has typed, for a message."""
    return ascii(shorten(text, 40))


def remove_leftovers(runs_dir: Path, now: Callable[[], float] = time.time) -> list[str]:
    """Remove this user's leftovers from a runs directory; return their names."""
    removed = []
    for path in [path for path in runs_dir.iterdir() if TEMPORARY.fullmatch(path.name)]:
        with suppress(OSError):  # it may have been renamed meanwhile
            status = path.lstat()
            if status.st_uid != os.geteuid() or now() - status.st_mtime < LEFTOVER_AGE:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed.append(path.name)
    return removed


@dataclass(frozen=True)
class DiskUse:
    """Bytes of a run's files."""

    total: int = 0
    checkpoints: int = 0
    models: int = 0

    def __add__(self, other: "DiskUse") -> "DiskUse":
        return DiskUse(self.total + other.total, self.checkpoints + other.checkpoints, self.models + other.models)

    def __str__(self) -> str:
        parts = {"checkpoints": self.checkpoints, "model": self.models}
        shown = ", ".join(f"{name} {format_bytes(size)}" for name, size in parts.items() if size)
        return format_bytes(self.total) + (f" ({shown})" if shown else "")


def disk_use(folder: Path) -> DiskUse:
    """Return the space of the files directly in a run's directory; nothing if it cannot be read."""
    use = DiskUse()
    with suppress(OSError), os.scandir(folder) as entries:  # the run may be removed meanwhile
        for entry in entries:
            if entry.is_file(follow_symlinks=False):
                size, name = entry.stat(follow_symlinks=False).st_size, entry.name.lstrip(".")
                use += DiskUse(size, size * name.startswith("checkpoint"), size * name.startswith("model"))
    return use
