"""The supervisor: feeds the queue into free slots. One for a runs directory, started on demand, gone when idle.

Runs do not depend on it: if it dies they go on, and the next one finds them in queue.json and by their locks.
"""

import argparse
import contextlib
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.files import size_of
from clarinet_tui.journal.holding import hold
from clarinet_tui.journal.queue import Entry, Queue, change_queue, locked, read_queue
from clarinet_tui.launch.devices import Device, list_devices
from clarinet_tui.launch.executor import Executor, LocalExecutor
from clarinet_tui.launch.outcome import came_to_an_end, died, never_began, record_failure, tries_again
from clarinet_tui.launch.presence import SUPERVISOR_LOCK
from clarinet_tui.launch.slots import decide
from clarinet_tui.launch.stage1 import signature
from core.errors import InputError

POLL = 0.5
LINGER = 60.0
"""Seconds that it stays when there is nothing left to do."""
LOOK_AT_DEVICES = 2.0


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
        """When a run was asked to stop, by our own clock: the other one may jump."""
        self._killed: set[str] = set()
        self._spoke: dict[str, int] = {}
        """How long a journal was when its worker was started."""
        self._looked = float("-inf")
        self._idle_since = clock()
        self._signatures: dict[str, str | None] = {}

    def tend(self) -> None:
        """One look at everything: who has ended, who is to stop, who can start."""
        queue = read_queue(self._runs_dir)
        for entry in queue.started:
            self._look_after(entry)
        self._start(read_queue(self._runs_dir))
        if self._work_left(read_queue(self._runs_dir)):
            self._idle_since = self._clock()

    def may_leave(self) -> bool:
        return self._clock() - self._idle_since >= LINGER

    def leave_if_idle(self, release: Callable[[], None]) -> bool:
        """Give the lock back while nobody can add to the queue: whoever comes later finds nobody here."""
        with locked(self._runs_dir):
            if self._work_left(read_queue(self._runs_dir)):
                return False
            release()
            return True

    def _work_left(self, queue: Queue) -> bool:
        waiting = () if queue.paused else [entry for entry in queue.waiting if not entry.paused]
        return bool(queue.started or waiting)

    # -- runs that were started ----------------------------------------------------------------------------------

    def _look_after(self, entry: Entry) -> None:
        run = self._find(entry)
        if run is None:
            return
        if self._executor.lives(run):
            if entry.stop_within is not None:
                self._stop(run, entry.stop_within)
            return
        self._asked.pop(entry.id, None)
        self._killed.discard(entry.id)
        self._looked = float("-inf")  # a slot is free now
        self._ended(run, entry)

    def _stop(self, run: RunDirectory, patience: float) -> None:
        now = self._clock()
        if run.id not in self._asked:
            self._asked[run.id] = now
            self._executor.stop(run)
        elif now - self._asked[run.id] >= patience and run.id not in self._killed:
            self._killed.add(run.id)
            self._say(f"run {run.id}: has not stopped within {patience:g} s, so that it is killed")
            self._executor.kill(run)

    def _ended(self, run: RunDirectory, entry: Entry) -> None:
        code = self._executor.exit_code(run)
        if run.id not in self._spoke:
            if never_began(run, entry):
                change_queue(self._runs_dir, lambda queue: queue.change([run.id], on=""))
                return
        elif size_of(run.journal) <= self._spoke.pop(run.id) and not came_to_an_end(run, code):
            self._fail(run, died(run, code))
        if entry.stop_within is None and entry.retries > 0 and tries_again(run, code):
            self._say(f"run {run.id}: has not come to its end; it is tried again, and then {entry.retries - 1} times")
            fields = {"on": "", "retries": entry.retries - 1}
            change_queue(self._runs_dir, lambda queue: queue.change([run.id], **fields))
            return
        self._say(f"run {run.id}: has ended")
        change_queue(self._runs_dir, lambda queue: queue.without([run.id]))

    # -- runs that wait ------------------------------------------------------------------------------------------

    def _start(self, queue: Queue) -> None:
        if not queue.waiting or queue.paused or self._clock() - self._looked < LOOK_AT_DEVICES:
            return
        self._looked = self._clock()
        making = [self._signature(entry) for entry in queue.started if self._makes_stage1(entry)]
        decisions = decide(
            queue,
            self._devices(),
            workers=self._executor.pids(),
            stage1_of={entry.id: self._signature(entry) for entry in queue.waiting},
            making=[one for one in making if one],
        )
        for decision in decisions:
            if decision.refused:
                self._refuse(decision.entry, decision.why)
            elif decision.device is not None:
                self._start_on(decision.entry, decision.device)

    def _start_on(self, entry: Entry, device: Device) -> None:
        run = self._find(entry)
        if run is None or not self._take(entry, device):
            return
        self._spoke[run.id] = size_of(run.journal)
        self._say(f"run {run.id}: starts on {device.label}")
        try:
            self._executor.start(run, entry, device)
        except (OSError, InputError) as error:
            self._refuse(entry, f"the worker could not be started: {error}")

    def _take(self, entry: Entry, device: Device) -> bool:
        """Compare and set: the entry may have been moved, paused or cancelled since it was read."""
        taken = False

        def take(queue: Queue) -> Queue:
            nonlocal taken
            taken = entry.id in queue and queue[entry.id] == entry
            return queue.change([entry.id], on=device.key, begun=time.time()) if taken else queue

        change_queue(self._runs_dir, take)
        return taken

    def _refuse(self, entry: Entry, why: str) -> None:
        if run := self._find(entry):
            self._fail(run, why)
            change_queue(self._runs_dir, lambda queue: queue.without([run.id]))

    def _fail(self, run: RunDirectory, why: str) -> None:
        """Failure is data; where the run's directory cannot be written, our log has it."""
        self._say(f"run {run.id}: {why}")
        try:
            record_failure(run, why)
        except (OSError, InputError) as error:
            self._say(f"run {run.id}: {error}")

    def _find(self, entry: Entry) -> RunDirectory | None:
        """The entry's run; one whose directory is gone leaves the queue."""
        try:
            run = RunDirectory(self._runs_dir, entry.id)
            if run.config.exists():
                return run
            self._say(f"run {entry.id}: its directory is gone")
        except InputError as error:
            self._say(str(error))
        change_queue(self._runs_dir, lambda queue: queue.without([entry.id]))
        return None

    def _signature(self, entry: Entry) -> str | None:
        if entry.id not in self._signatures:
            try:
                self._signatures[entry.id] = signature(RunDirectory(self._runs_dir, entry.id).read_config())
            except InputError:
                self._signatures[entry.id] = None
        return self._signatures[entry.id]

    def _makes_stage1(self, entry: Entry) -> bool:
        run = RunDirectory(self._runs_dir, entry.id)
        return self._signature(entry) is not None and not run.pseudo_labels.exists()


def main() -> int:
    parser = argparse.ArgumentParser(prog="clarinet-supervisor", description=__doc__)
    parser.add_argument("runs_dir", type=Path)
    runs_dir: Path = parser.parse_args().runs_dir
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(hold(runs_dir / SUPERVISOR_LOCK, "the supervisor's lock"))
        except InputError:
            return 0  # somebody else was quicker, and does the same
        supervise(Supervisor(runs_dir, LocalExecutor(), say=say), stack.close)
    return 0


def supervise(supervisor: Supervisor, release: Callable[[], None]) -> None:
    trouble = ""
    while True:
        try:
            supervisor.tend()
            if supervisor.may_leave() and supervisor.leave_if_idle(release):
                return
            trouble = ""
        except (InputError, OSError) as error:  # a full disk, a queue that cannot be read: it may pass
            if str(error) != trouble:
                say(str(error))
            trouble = str(error)
        time.sleep(POLL)


def say(sentence: str) -> None:
    print(time.strftime("%F %T"), sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main())
