"""Pseudo-labels of a stage 1 that runs share: runs/stage1/<key>/ has them and the lock of the run that makes them.

Runs share them only with runs of the same user: another one could write other labels, or hold the lock for ever.
"""

import errno
import hashlib
import io
import time
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from clarinet_tui.runs.environment import versions
from clarinet_tui.runs.files import UnreadableFileError, read_file, read_json
from clarinet_tui.runs.lock import LockOwner, hold_lock, host_name
from clarinet_tui.runs.ownership import own_path
from core.config import RunConfig, Tag, settings_tagged
from core.events import PseudoLabelled
from core.files import replace_file
from core.methods import STAGE1_VERSION, find_method
from core.tasks import parse_task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from core.data.task_data import TaskData

MAX_ORIGIN_BYTES, MAX_LABEL_BYTES = 65536, 1 << 30
ROWS = 4096
"""Images hashed at a time: a data set may be larger than memory."""


class Stage1Origin(msgspec.Struct, frozen=True, kw_only=True):
    """Which run made the labels, where, and in how many seconds and iterations."""

    run: str
    host: str
    time: float
    seconds: float = 0.0
    iterations: int = 0
    accuracy: float | None = None
    label_hash: str = ""
    sha256: str = ""
    """The hash of the file of labels; empty until they are published."""


class Stage1Role(NamedTuple):
    """How a run takes part in a shared stage 1."""

    signature: str
    """Equal for runs that train the same stage 1 on the same type of device."""
    reuses_labels: bool
    """Whether it waits for another run's labels instead of making its own."""


def stage1_role(config: RunConfig) -> Stage1Role | None:
    """Return None if the run takes no part in a shared stage 1."""
    method = find_method(config.method)
    if not method.makes_stage1_labels:
        return None
    task = parse_task(config.task)
    source = [task.source.letter, task.shape] if task.shape else config.task
    signature = _hash({"source": source, "stage": method.stages[0].name, **_settings(config, Tag.SOURCE, Tag.STAGE1)})
    return Stage1Role(signature, reuses_labels=method.reuses_stage1_labels)


def stage1_key(config: RunConfig, data: "TaskData", device: str) -> str | None:
    """Return a hash of everything that determines the labels, including the images; None without a shared stage 1."""
    method = find_method(config.method)
    if not method.makes_stage1_labels:
        return None
    installed, weights = versions(), ""
    if config.weights:
        with suppress(OSError), Path(config.weights).open("rb") as file:  # training reports the error
            weights = hashlib.file_digest(file, "sha256").hexdigest()
    inputs = _settings(config, Tag.STAGE1) | {
        "stage": method.stages[0].name,
        "weights": weights,
        "device": device.partition(":")[0],
        "data": _data_hash(data),
        "code": [STAGE1_VERSION, installed.get("clarinet-tui", ""), installed.get("torch", "")],
    }
    return _hash(inputs)


def _settings(config: RunConfig, *tags: Tag) -> dict[str, Any]:
    """Return the tagged settings that are not the default, so that a new setting changes no existing hash."""
    settings, defaults = msgspec.to_builtins(config), msgspec.to_builtins(RunConfig())
    tagged = {name: settings[name] for name in settings_tagged(*tags) if settings[name] != defaults[name]}
    if "stage1" in tagged:
        tagged["stage1"] = {key: value for key, value in tagged["stage1"].items() if value != defaults["stage1"][key]}
    return tagged


def _hash(content: dict[str, Any]) -> str:
    return hashlib.blake2b(msgspec.json.encode(content, order="sorted"), digest_size=8).hexdigest()


def _data_hash(data: "TaskData") -> str:
    """Hash the source images, their complementary labels and their true labels, which the accuracy is measured with."""
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


class Stage1Directory:
    """The files of one shared stage 1, none of which is reached through a symbolic link."""

    def __init__(self, runs_dir: Path, key: str) -> None:
        self.key = key
        self.path = own_path(runs_dir, "stage1") / key
        self._labels, self._origin, self.lock = (self.path / file for file in ("labels.npy", "origin.json", "lock"))

    def hold_lock(self) -> AbstractContextManager[LockOwner]:
        """Hold the lock of the run that makes the labels, or raise LockHeldError; acquire the run's own lock first."""
        self._refuse_links()
        for folder in (self.path.parent, self.path):
            folder.mkdir(mode=0o755, exist_ok=True)
        return hold_lock(self.lock, "stage 1", private=True)

    def read_origin(self) -> Stage1Origin | None:
        """Return the run that has made the labels or is making them; None if there is no such run."""
        self._refuse_links()
        return read_json(self._origin, Stage1Origin, MAX_ORIGIN_BYTES)

    def read_labels(self, count: int, classes: int) -> "tuple[NDArray[np.int64], Stage1Origin] | None":
        """Return the labels and their origin; None if they are not published yet. Raise UnreadableFileError."""
        origin = self.read_origin()
        if origin is None or not origin.sha256:
            return None
        content = read_file(self._labels, 8 * count + 1024)
        if content is not None and hashlib.sha256(content).hexdigest() != origin.sha256:
            raise UnreadableFileError(self._labels, "is damaged or incomplete")
        labels = decode_labels(content, self._labels)
        if labels.shape != (count,) or labels.min() < 0 or labels.max() >= classes:
            raise UnreadableFileError(self._labels, f"does not have {count} labels of {classes} classes")
        return labels, origin

    def publish(self, run_id: str, event: PseudoLabelled) -> None:
        """Write the labels, and then the origin that makes them valid."""
        content = encode_labels(event.labels)
        replace_file(self._labels, content)
        self.write_origin(
            run_id,
            seconds=event.seconds,
            iterations=event.iteration,
            accuracy=event.accuracy,
            label_hash=event.label_hash,
            sha256=hashlib.sha256(content).hexdigest(),
        )

    def write_origin(self, run_id: str, **fields: Any) -> None:
        """Record which run makes the labels; those of an earlier origin become invalid."""
        self._refuse_links()
        origin = Stage1Origin(run=run_id, host=host_name(), time=time.time(), **fields)
        replace_file(self._origin, msgspec.json.format(msgspec.json.encode(origin)) + b"\n")

    def _refuse_links(self) -> None:
        """Raise OSError if the folder is reached through a link, or cannot be reached."""
        with suppress(FileNotFoundError):
            self.path.lstat()
        for folder in (self.path.parent, self.path):
            if folder.is_symlink():
                raise OSError(errno.ELOOP, "is a symbolic link", str(folder))


def encode_labels(labels: list[int]) -> bytes:
    """Return the labels as the content of a .npy file."""
    import numpy as np

    buffer = io.BytesIO()
    np.save(buffer, np.asarray(labels, dtype=np.int64), allow_pickle=False)
    return buffer.getvalue()


def decode_labels(content: bytes | None, path: Path) -> "NDArray[np.int64]":
    """Return the labels of a .npy file, without unpickling: it may come from another machine."""
    import numpy as np

    if content is None:
        raise UnreadableFileError(path, "is missing")
    try:
        labels: NDArray[np.int64] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise UnreadableFileError(path, f"is not a file of labels ({error})") from None
    if labels.dtype != np.int64 or labels.ndim != 1:
        raise UnreadableFileError(path, "is not a list of labels")
    return labels
