"""A run's part in a shared stage 1: it takes the labels, waits for who makes them, or makes them for the others.

A run of GAC is nothing but stage 1: it takes no labels and waits for nobody, but makes them for the others.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Self

import msgspec

from clarinet_tui.runs.atomic_files import replace_file
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.stage1 import DamagedError, Origin, Stage1Folder, key
from clarinet_tui.text import printable
from core.config import RunConfig
from core.errors import InputError
from core.events import Event, PseudoLabelled, Stepped
from core.methods import find_method
from core.stage1 import takes_stage1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from core.data.task_data import TaskData

LOOK = 0.5
"""Seconds between two looks while another run makes the labels."""


class Sharing:
    """The lock is held until the labels are published, or until this is left; of who dies it vanishes by itself."""

    def __init__(
        self,
        run: RunDirectory,
        config: RunConfig,
        data: "TaskData",
        device: str,
        say: Callable[[str], None],
        look: float = LOOK,
    ) -> None:
        self.labels: list[int] | None = None
        """What stands in for stage 1."""
        self._run, self._say, self._look = run, say, look
        self._size, self._classes = len(data.source_train), len(data.classes)
        method = find_method(config.method)
        self._stage, self._takes = method.stages[0].name, takes_stage1(method)
        name = key(config, data, device)
        self._folder = None if name is None else Stage1Folder(run.runs_dir, name)
        self._origin: Origin | None = None
        self._lock: ExitStack | None = None
        self._joined = False
        self._told: set[str] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._release()

    def settle(self, asked_to_stop: Callable[[], bool]) -> bool:
        """Take the labels or become who makes them, which may mean to wait; False if asked to stop meanwhile."""
        self._joined = True
        if self._folder is None:
            return True
        if not self._takes:
            self._join(self._folder, self._stage)
            return True
        try:
            return self._wait(self._folder, asked_to_stop)
        except (OSError, InputError) as error:
            self._give_up(error)
            return True

    def pass_on(self, event: Event) -> Event:
        """The event as it is recorded: labels that were given name their origin, own ones become one."""
        if self._folder is None:
            return event
        if not self._joined and isinstance(event, Stepped):
            self._joined = True
            self._join(self._folder, event.stage)
        elif isinstance(event, PseudoLabelled):
            return self._labelled(self._folder, event)
        return event

    def _wait(self, folder: Stage1Folder, asked_to_stop: Callable[[], bool]) -> bool:
        while not self._found(folder):
            if self._hold(folder):
                if not self._found(folder):  # it may have been published just before the lock was ours
                    folder.begin(self._run.id)
                return True
            if asked_to_stop():
                return False
            self._say_once(_waiting(folder))
            time.sleep(self._look)
        return True

    def _found(self, folder: Stage1Folder) -> bool:
        found = self._read(folder)
        if found is None:
            return False
        self.labels, self._origin = found[0].tolist(), found[1]
        self._release()
        return True

    def _read(self, folder: Stage1Folder) -> "tuple[NDArray[np.int64], Origin] | None":
        try:
            return folder.labels(self._size, self._classes)
        except DamagedError as error:
            self._say_once(f"stage 1 is made anew: {error}")
            return None

    def _hold(self, folder: Stage1Folder) -> bool:
        """Whether the lock is ours."""
        if self._lock is not None:
            return True
        with ExitStack() as stack:
            try:
                stack.enter_context(folder.hold())
            except InputError as error:
                if error.__cause__ is not None:  # it is not another run, but the system that says no
                    raise
                return False
            self._lock = stack.pop_all()
        return True

    def _join(self, folder: Stage1Folder, stage: str) -> None:
        """A run of GAC, or a resumed one, trains its own stage 1: it waits for nobody, but others may wait for it."""
        if stage != self._stage:
            return
        try:
            if self._read(folder) is None and self._hold(folder):
                folder.begin(self._run.id)
        except (OSError, InputError) as error:
            self._give_up(error)

    def _labelled(self, folder: Stage1Folder, event: PseudoLabelled) -> PseudoLabelled:
        if self._origin is not None:
            self._copy(folder, self._origin.run, self._origin.seconds)
            return msgspec.structs.replace(event, origin=self._origin.run, origin_seconds=self._origin.seconds)
        self._copy(folder, self._run.id, event.seconds)
        try:
            if self._hold(folder) and self._read(folder) is None:
                folder.publish(self._run.id, event)
        except (OSError, InputError) as error:
            self._give_up(error)
        self._release()
        return event

    def _copy(self, folder: Stage1Folder, origin: str, seconds: float) -> None:
        """Where the labels are from and what they cost, beside them in the run's own directory."""
        said = {"key": folder.key, "origin": origin, "seconds": seconds}
        replace_file(self._run.stage1, msgspec.json.encode(said) + b"\n")

    def _give_up(self, error: Exception) -> None:
        self._release()
        self._folder = None
        self._say(f"stage 1 is not shared with other runs: {error}")

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._say(sentence)


def _waiting(folder: Stage1Folder) -> str:
    try:
        origin = folder.origin()
    except DamagedError:
        origin = None
    who = f"run {printable(origin.run)}" if origin else "another run"
    holder = folder.holder()
    where = f" (process {holder.pid} on {printable(holder.host)})" if holder else ""
    return f"waiting for stage 1, which {who} makes{where}"
