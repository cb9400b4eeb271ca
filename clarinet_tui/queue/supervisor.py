"""The supervisor: feeds the queue into free slots. One for a runs directory, started on demand, gone when idle.

Runs do not depend on it: if it dies they go on, and the next one finds them in queue.json and by their locks.
"""

import argparse
import contextlib
import errno
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from clarinet_tui.devices.local import Device, list_devices
from clarinet_tui.queue.executor import Executor, LocalExecutor
from clarinet_tui.queue.queue_file import Queue, QueueEntry, lock_queue, read_queue, update_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.queue.waiting import Scheduler
from clarinet_tui.queue.worker_exit import can_retry, describe_exit, ended_unrecorded, never_started, record_failure
from clarinet_tui.runs.atomic_files import StorageError, file_size
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import LockHeldError, hold_lock, is_held_here
from core.errors import DISK_FULL, InputError

POLL = 0.5
IDLE_SECONDS = 60.0
"""Seconds that it stays when there is nothing left to do."""
LOOK_AT_DEVICES = 2.0
SETTLE = 10.0
"""Seconds that a worker has to take its run's lock after the supervisor that started it was killed."""
TRANSIENT_ERRORS = DISK_FULL | {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
"""What keeps a worker from being started now, and not for ever."""


class Supervisor:
    def __init__(
        self,
        runs_dir: Path,
        executor: Executor,
        *,
        devices: Callable[[], Sequence[Device]] = lambda: list_devices(seconds=0),
        clock: Callable[[], float] = time.monotonic,
        say: Callable[[str], None] = print,
    ) -> None:
        self._runs_dir = runs_dir
        self._executor = executor
        self._devices, self._clock, self._say = devices, clock, say
        self._asked: dict[str, float] = {}
        """When a run was first to be stopped, by our own clock: the other one may jump."""
        self._heard: set[str] = set()
        """Runs that have our signal to stop."""
        self._killed: set[str] = set()
        self._missed: dict[str, float] = {}
        """Since when a run that another supervisor has started is without a worker."""
        self._troubles: dict[str, str] = {}
        self._looked = float("-inf")
        self._idle_since = clock()
        self._waiting = Scheduler(runs_dir)

    def run_once(self) -> None:
        """One look at everything: who has ended, who is to stop, who can start."""
        for entry in read_queue(self._runs_dir).started:
            with self._minding(entry):
                self._look_after(entry)
        self._start(read_queue(self._runs_dir))
        if self._work_left(read_queue(self._runs_dir)):
            self._idle_since = self._clock()

    @contextlib.contextmanager
    def _minding(self, entry: QueueEntry) -> Iterator[None]:
        """Trouble with one run is told once, and keeps none of the others waiting."""
        try:
            yield
            self._troubles.pop(entry.id, None)
        except (OSError, InputError) as error:
            if self._troubles.get(entry.id) != str(error):
                self._say(f"run {entry.id}: {error}")
            self._troubles[entry.id] = str(error)

    def can_exit(self) -> bool:
        return self._clock() - self._idle_since >= IDLE_SECONDS

    def release_if_idle(self, release: Callable[[], None]) -> bool:
        """Give the lock back while nobody can add to the queue: whoever comes later finds nobody here."""
        with lock_queue(self._runs_dir):
            if self._work_left(read_queue(self._runs_dir)):
                return False
            release()
            return True

    def _work_left(self, queue: Queue) -> bool:
        waiting = () if queue.paused else [entry for entry in queue.waiting if not entry.paused]
        return bool(queue.started or waiting)

    # -- runs that were started ----------------------------------------------------------------------------------

    def _look_after(self, entry: QueueEntry) -> None:
        run = self._find(entry)
        if run is None:
            return
        if self._executor.is_running(run):
            self._missed.pop(entry.id, None)
            if entry.stop_timeout is not None:
                self._stop(run, entry.stop_timeout)
        elif not self._may_yet_come(run, entry):
            self._asked.pop(entry.id, None)
            self._heard.discard(entry.id)
            self._killed.discard(entry.id)
            self._looked = float("-inf")  # a slot is free now
            self._ended(run, entry)

    def _may_yet_come(self, run: RunDirectory, entry: QueueEntry) -> bool:
        """A worker whose supervisor was killed at once may be there, and not have the lock yet."""
        if self._executor.exit_code(run) is not None or not never_started(run, entry):
            return False
        return self._clock() - self._missed.setdefault(run.id, self._clock()) < SETTLE

    def _stop(self, run: RunDirectory, patience: float) -> None:
        asked = self._asked.setdefault(run.id, self._clock())
        if run.id not in self._heard and self._executor.stop(run):
            self._heard.add(run.id)
        if self._clock() - asked >= patience and run.id not in self._killed:
            self._killed.add(run.id)
            self._say(f"run {run.id}: has not stopped within {patience:g} s, so that it is killed")
            self._executor.kill(run)

    def _ended(self, run: RunDirectory, entry: QueueEntry) -> None:
        self._missed.pop(run.id, None)
        code = self._executor.exit_code(run)
        if ended_unrecorded(run, entry, code):
            self._fail(run, describe_exit(run, code))
        waits = code is None and never_started(run, entry)
        again = not waits and can_retry(run, entry)

        def leave(queue: Queue) -> Queue:
            """Whoever was asked to stop meanwhile goes for good."""
            if run.id not in queue or queue[run.id].stop_timeout is not None:
                return queue.without([run.id])
            left = queue[run.id].retries
            if waits or (again and left > 0):
                return queue.with_changes([run.id], on="", retries=left - again)
            return queue.without([run.id])

        queue = update_queue(self._runs_dir, leave)
        self._say(f"run {run.id}: {'waits again' if run.id in queue else 'has ended'}")

    # -- runs that wait ------------------------------------------------------------------------------------------

    def _start(self, queue: Queue) -> None:
        if not queue.waiting or queue.paused or self._clock() - self._looked < LOOK_AT_DEVICES:
            return
        self._looked = self._clock()
        started = [RunDirectory(self._runs_dir, entry.id) for entry in queue.started]
        for decision in self._waiting.decide(queue, self._devices(), self._executor.worker_pids(started)):
            with self._minding(decision.entry):
                if decision.is_impossible:
                    self._refuse(decision.entry, decision.reason)
                elif decision.device is not None:
                    self._start_on(decision.entry, decision.device)

    def _start_on(self, entry: QueueEntry, device: Device) -> None:
        run = self._find(entry)
        if run is None or not self._take(run, entry, device):
            return
        self._say(f"run {run.id}: starts on {device.label}")
        try:
            self._executor.start(run, entry, device)
        except (OSError, InputError) as error:
            if not isinstance(error, OSError | StorageError) or error.errno not in TRANSIENT_ERRORS:
                self._refuse(entry, f"the worker could not be started: {error}")
                return
            update_queue(self._runs_dir, lambda queue: queue.with_changes([run.id], on=""))
            raise

    def _take(self, run: RunDirectory, entry: QueueEntry, device: Device) -> bool:
        """Compare and set: the entry may have been moved, paused or cancelled since it was read."""
        taken = False
        fields = {"on": device.key, "begun": time.time(), "spoken": file_size(run.journal)}

        def take(queue: Queue) -> Queue:
            nonlocal taken
            taken = not queue.paused and entry.id in queue and queue[entry.id] == entry
            return queue.with_changes([entry.id], **fields) if taken else queue

        update_queue(self._runs_dir, take)
        return taken

    def _refuse(self, entry: QueueEntry, why: str) -> None:
        if run := self._find(entry):
            self._fail(run, why)
            update_queue(self._runs_dir, lambda queue: queue.without([run.id]))

    def _fail(self, run: RunDirectory, why: str) -> None:
        """Failure is data; where the run's directory cannot be written, our log has it."""
        self._say(f"run {run.id}: {why}")
        try:
            record_failure(run, why)
        except (OSError, InputError) as error:
            self._say(f"run {run.id}: {error}")

    def _find(self, entry: QueueEntry) -> RunDirectory | None:
        """The entry's run; one whose directory is gone leaves the queue."""
        try:
            run = RunDirectory(self._runs_dir, entry.id)
            if run.config.exists():
                return run
            self._say(f"run {entry.id}: its directory is gone")
        except InputError as error:
            self._say(str(error))
        update_queue(self._runs_dir, lambda queue: queue.without([entry.id]))
        return None


def main(executor: Executor | None = None) -> int:
    parser = argparse.ArgumentParser(prog="clarinet-supervisor", description=__doc__)
    parser.add_argument("runs_dir", type=Path)
    runs_dir: Path = parser.parse_args().runs_dir
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(runs_dir / SUPERVISOR_LOCK, "the supervisor's lock"))
        except LockHeldError:
            return 0  # another supervisor is running
        except InputError as error:
            log(str(error))
            return 1
        mine = partial(is_held_here, runs_dir / SUPERVISOR_LOCK)
        supervise(Supervisor(runs_dir, executor or LocalExecutor(), say=log), stack.close, mine)
    return 0


def supervise(supervisor: Supervisor, release: Callable[[], None], mine: Callable[[], bool] = lambda: True) -> None:
    """Until nothing is left to do, or until the runs' directory is no longer `mine`: it was deleted or exchanged."""
    trouble = ""
    while mine():
        try:
            supervisor.run_once()
            if supervisor.can_exit() and supervisor.release_if_idle(release):
                return
            trouble = ""
        except (InputError, OSError) as error:  # a full disk, a queue that cannot be read: it may pass
            if str(error) != trouble:
                log(str(error))
            trouble = str(error)
        time.sleep(POLL)


def log(sentence: str) -> None:
    """To our log; what a full disk does not take is kept until there is room."""
    with contextlib.suppress(OSError):
        print(time.strftime("%F %T"), sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main())
