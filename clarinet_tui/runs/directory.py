"""One run is one directory: its id, its paths, its settings."""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

import msgspec

from clarinet_tui.runs.annotations import write_created
from clarinet_tui.runs.atomic_files import replace_file, told
from clarinet_tui.runs.lock import hold
from clarinet_tui.runs.process import Holder
from core.config import RunConfig, convert
from core.errors import InputError

DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
"""Ids count seconds from here, so that six digits last until 2088."""
ID = re.compile(r"[0-9a-z]{3,32}", re.ASCII)
RESERVED = frozenset({"stage1", "queue"})
"""Names in a runs directory that look like ids and are none."""
LARGEST_CONFIG = 1 << 20
CONFIG, JOURNAL, ANNOTATIONS = "config.toml", "journal.jsonl", "annotations.jsonl"


def new_id(now: datetime, random: Callable[[int], bytes] = os.urandom) -> str:
    """Short, lowercase, and sorted by time: six digits of seconds and three of chance."""
    seconds = max(0, int((now.astimezone(UTC) - EPOCH).total_seconds()))
    chance = int.from_bytes(random(4), "big") % 36**3
    return _base36(seconds, 6) + _base36(chance, 3)


def _base36(number: int, width: int) -> str:
    digits = ""
    while number or len(digits) < width:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
    return digits


def valid_id(text: str) -> bool:
    return ID.fullmatch(text) is not None and text not in RESERVED


class _Inside:
    """The path of one file of a run, made when it is asked for: a listing has thousands of runs."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, run: "RunDirectory", owner: type) -> Path:
        return run.path / self._name


class RunDirectory:
    """Every path of a run. A symbolic link is never a run's directory."""

    def __init__(self, runs_dir: Path, id: str) -> None:  # noqa: A002
        if not valid_id(id):
            raise InputError(f"run id: expected 3 to 32 of 0-9 and a-z, got {_shown(id)}")
        self.id = id
        self.runs_dir = Path(runs_dir)
        self.path = self.runs_dir / id
        if self.path.is_symlink():
            raise InputError(f"{self.path} is a symbolic link: copy the run's directory here instead")

    config = _Inside(CONFIG)
    journal = _Inside(JOURNAL)
    annotations = _Inside(ANNOTATIONS)
    log = _Inside("worker.log")
    checkpoint = _Inside("checkpoint.pt")
    checkpoint_previous = _Inside("checkpoint.previous.pt")
    environment = _Inside("environment.json")
    lock = _Inside("lock")
    pseudo_labels = _Inside("pseudo_labels.npy")
    stage1 = _Inside("stage1.json")

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
        random: Callable[[int], bytes] = os.urandom,
    ) -> Self:
        """A new directory; it is a run from the moment that its config.toml is there, which is at once and whole."""
        import tomli_w

        now = now or datetime.now(UTC)
        settings = tomli_w.dumps(msgspec.to_builtins(config)).encode()
        if len(settings) > LARGEST_CONFIG:
            raise InputError("settings: expected less than 1 MB of them: one is far too long")
        with told(Path(runs_dir)):
            Path(runs_dir).mkdir(parents=True, exist_ok=True)
            run = cls._reserve(runs_dir, id, now, random)
            write_created(run.annotations, now.timestamp())
            replace_file(run.config, settings)
        return run

    @classmethod
    def _reserve(cls, runs_dir: Path, id: str | None, now: datetime, random: Callable[[int], bytes]) -> Self:  # noqa: A002
        while True:
            run = cls(runs_dir, id or new_id(now, random))
            try:
                run.path.mkdir()
                return run
            except FileExistsError:
                if id:
                    raise InputError(f"run {id}: {run.path} is there already") from None

    @property
    def has_checkpoint(self) -> bool:
        return self.checkpoint.exists() or self.checkpoint_previous.exists()

    def read_config(self) -> RunConfig:
        import tomllib

        try:
            with self.config.open("rb") as file:
                content = file.read(LARGEST_CONFIG + 1)
        except OSError as error:
            raise InputError(f"{self.config}: {error.strerror}") from None
        if len(content) > LARGEST_CONFIG:
            raise InputError(f"{self.config}: larger than 1 MB, which no run's settings are")
        try:
            settings = tomllib.loads(content.decode())
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{self.config}: {error}") from None
        except RecursionError:
            raise InputError(f"{self.config}: nested deeper than any run's settings are") from None
        return convert(settings, str(self.config))

    def hold(self) -> AbstractContextManager[Holder]:
        """Be the run's one worker: a second one gets an InputError that names host and pid."""
        return hold(self.lock, f"run {self.id}")


def find_run(runs_dir: Path, prefix: str) -> RunDirectory:
    """The run whose id begins with `prefix`."""
    names = all_ids(runs_dir)
    found = [prefix] if prefix in names else [name for name in names if prefix and name.startswith(prefix)]
    if len(found) == 1:
        return RunDirectory(runs_dir, found[0])
    if not found:
        raise InputError(f"no run in {runs_dir} begins with {_shown(prefix)}: `clarinet ls` lists them")
    more = f" and {len(found) - 5} more" if len(found) > 5 else ""
    raise InputError(f"{_shown(prefix)} is not one run but {len(found)}: {', '.join(found[:5])}{more}")


def all_runs(runs_dir: Path) -> list[RunDirectory]:
    """Every run, newest first."""
    return [RunDirectory(runs_dir, name) for name in all_ids(runs_dir)]


def all_ids(runs_dir: Path) -> list[str]:
    """The ids of every run, newest first: directories, not links, with settings in them."""
    try:
        with os.scandir(runs_dir) as entries:
            names = [entry.name for entry in entries if valid_id(entry.name) and entry.is_dir(follow_symlinks=False)]
    except FileNotFoundError:
        return []
    return sorted((name for name in names if os.access(f"{runs_dir}/{name}/{CONFIG}", os.F_OK)), reverse=True)


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 40 else text[:39] + "…")
