"""Stage 1 of two-step runs, made once: runs/stage1/<key>/ has its labels, and a lock while a run makes them."""

import errno
import hashlib
import io
import os
import time
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clarinet_tui.runs.atomic_files import replace_file
from clarinet_tui.runs.environment import versions
from clarinet_tui.runs.lock import hold, read_holder
from clarinet_tui.runs.process import Holder, host_name
from core.config import RunConfig
from core.events import PseudoLabelled
from core.methods import find_method
from core.stage1 import SOURCE_SETTINGS, TRAINING_SETTINGS, VERSION, makes_stage1, takes_stage1
from core.tasks import parse_task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from core.data.task_data import TaskData

PACKAGES = ("clarinet-tui", "torch")
ROWS = 4096
"""Images that are hashed at a time: there may be more than fit into memory."""
LARGEST_ORIGIN = 65536


class DamagedError(Exception):
    """What is there cannot be used; the sentence says why."""


class Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Which run made the labels, where, and at what cost."""

    run: str
    host: str
    time: float
    seconds: float = 0.0
    iterations: int = 0
    accuracy: float | None = None
    label_hash: str = ""
    sha256: str = ""
    """Of the file of labels; empty while they are being made."""


class Part(NamedTuple):
    """A run's part in a stage 1 that runs share."""

    signature: str
    """Equal for runs that make the same stage 1 on devices of one kind."""
    waits: bool
    """Whether it would rather wait for the labels than make them."""


def part_of(config: RunConfig) -> Part | None:
    """None if a run makes no labels for others."""
    method = find_method(config.method)
    if not makes_stage1(method):
        return None
    task = parse_task(config.task)
    source = [task.source.letter, task.shape] if task.shape else config.task
    signature = _hash({"source": source, **_settings(config, SOURCE_SETTINGS + TRAINING_SETTINGS)})
    return Part(signature, waits=takes_stage1(method))


def key(config: RunConfig, data: "TaskData", device: str) -> str | None:
    """All that decides the labels, the images themselves among it; None if the run makes none for others."""
    if not makes_stage1(find_method(config.method)):
        return None
    installed = versions()
    said = _settings(config, TRAINING_SETTINGS) | {
        "weights": _file_hash(Path(config.weights)) if config.weights else "",
        "device": device.partition(":")[0],
        "data": _data_hash(data),
        "code": [VERSION, *(installed.get(package, "") for package in PACKAGES)],
    }
    return _hash(said)


def _settings(config: RunConfig, names: tuple[str, ...]) -> dict[str, Any]:
    everything = msgspec.to_builtins(config)
    return {name: everything[name] for name in names}


def _hash(said: dict[str, Any]) -> str:
    return hashlib.blake2b(msgspec.json.encode(said, order="sorted"), digest_size=8).hexdigest()


def _data_hash(data: "TaskData") -> str:
    """Source images, complementary labels, and the true ones, which tell how many pseudo-labels are right."""
    import numpy as np

    source = data.source_train
    digest = hashlib.blake2b(digest_size=16)
    for array in (source.x, source.y, source.ybar):
        if array is None:
            continue
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        for start in range(0, len(array), ROWS):
            digest.update(np.ascontiguousarray(array[start : start + ROWS]).data)
    return digest.hexdigest()


def _file_hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""  # the run itself says what is wrong with it


class Stage1Folder:
    """The files of one stage 1. Nothing here is reached through a symbolic link."""

    def __init__(self, runs_dir: Path, name: str) -> None:
        self.key = name
        self.path = runs_dir / "stage1" / name
        self._labels, self._origin, self._lock = (self.path / file for file in ("labels.npy", "origin.json", "lock"))

    def hold(self) -> AbstractContextManager[Holder]:
        """Be the one who makes the labels. Locks are taken in this order: the run's own, then this one."""
        self._refuse_links()
        self.path.mkdir(parents=True, exist_ok=True)
        return hold(self._lock, "stage 1")

    def holder(self) -> Holder | None:
        return read_holder(self._lock)

    def origin(self) -> Origin | None:
        """Who made the labels, or makes them; None if nobody has begun."""
        content = self._read(self._origin, LARGEST_ORIGIN)
        if content is None:
            return None
        try:
            return msgspec.json.decode(content, type=Origin)
        except msgspec.DecodeError:
            raise DamagedError(f"{self._origin} is damaged") from None

    def labels(self, count: int, classes: int) -> "tuple[NDArray[np.int64], Origin] | None":
        """The labels and who made them; None if they are not there yet."""
        origin = self.origin()
        if origin is None or not origin.sha256:
            return None
        content = self._read(self._labels, 8 * count + 1024)
        if content is None:
            raise DamagedError(f"{self._labels} is gone")
        if hashlib.sha256(content).hexdigest() != origin.sha256:
            raise DamagedError(f"{self._labels} is damaged or cut short")
        return _decoded(content, count, classes, self._labels), origin

    def begin(self, run_id: str) -> None:
        """Say who makes the labels now; what was there no longer counts."""
        self._write(Origin(run=run_id, host=host_name(), time=time.time()))

    def publish(self, run_id: str, event: PseudoLabelled) -> Origin:
        """First the labels, then the word that they are there."""
        content = encoded(event.labels)
        origin = Origin(
            run=run_id,
            host=host_name(),
            time=time.time(),
            seconds=event.seconds,
            iterations=event.iteration,
            accuracy=event.accuracy,
            label_hash=event.label_hash,
            sha256=hashlib.sha256(content).hexdigest(),
        )
        replace_file(self._labels, content)
        self._write(origin)
        return origin

    def _write(self, origin: Origin) -> None:
        self._refuse_links()
        replace_file(self._origin, msgspec.json.format(msgspec.json.encode(origin)) + b"\n")

    def _read(self, path: Path, limit: int) -> bytes | None:
        self._refuse_links()
        try:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as stream:
            return stream.read(limit)

    def _refuse_links(self) -> None:
        for folder in (self.path.parent, self.path):
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "is a symbolic link", str(folder))


def encoded(labels: list[int]) -> bytes:
    """Labels as a .npy file."""
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(labels, dtype=np.int64), allow_pickle=False)
    return buffer.getvalue()


def _decoded(content: bytes, count: int, classes: int, path: Path) -> "NDArray[np.int64]":
    import numpy as np

    try:
        labels: NDArray[np.int64] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DamagedError(f"{path} is no file of labels ({error})") from None
    if labels.shape != (count,) or labels.dtype != np.int64 or labels.min() < 0 or labels.max() >= classes:
        raise DamagedError(f"{path} does not have {count} labels of {classes} classes")
    return labels
