"""The supervisor starts a user's queued runs in free slots. It is started on demand, and exits when idle.

Runs do not depend on it: if it dies they continue, and the next one finds them in queue.json and by their locks.
"""

import argparse
import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from clarinet_tui.devices.device import Device, select_device, worker_options
from clarinet_tui.devices.local import DeviceReader
from clarinet_tui.queue.queue_file import (
    Queue,
    QueueEntry,
    has_written,
    is_copied,
    lock_queue,
    never_started,
    only_schedulable,
    read_all_queues,
    read_queue,
    update_queue,
)
from clarinet_tui.queue.scheduling import schedule_queue
from clarinet_tui.runs.directory import RunDirectory, find_local_worker, find_worker, remove_leftovers
from clarinet_tui.runs.files import StorageError, file_size, open_append
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.journal_writer import append_failure
from clarinet_tui.runs.lock import (
    LockHeldError,
    LockOwner,
    boot_id,
    current_process,
    find_holder,
    handles_signal,
    hold_lock,
    is_alive,
    is_locked,
    is_same_machine,
    keep_lock,
    read_lock_owner,
    request_stop,
    signal_holder,
)
from clarinet_tui.runs.ownership import own_path
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from clarinet_tui.runs.worker_command import hook_environment, worker_arguments
from clarinet_tui.runs.worker_log import quote_last_line
from core.errors import DISK_FULL, InputError
from core.events import PERMANENT_FAILURES, Failed, FailureKind

SUPERVISOR_LOCK, SUPERVISOR_LOG = "supervisor.lock", "supervisor.log"
STOP_EXIT_CODES = frozenset(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
GPU_IN_USE = os.EX_TEMPFAIL
"""The exit code of a worker whose GPU another run has locked first: the run keeps waiting."""
UNRESPONSIVE_AFTER = 30.0
"""Seconds without a heartbeat after which a supervisor is replaced."""
KILL_SECONDS = 5.0
"""Seconds for a killed process to end; one that waits for a network disk may not."""
POLL = 0.5
IDLE_SECONDS = 60.0
"""Time without work after which it exits."""
SCHEDULE_INTERVAL = 2.0
LOCK_TIMEOUT = 10.0
"""Seconds for a worker to lock its run after the supervisor that started it was killed."""
TRANSIENT_ERRORS = DISK_FULL | {errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE}
"""Reasons why a worker cannot be started now, but may be later."""


def find_supervisor(runs_dir: Path) -> LockOwner | None:
    """Return the running supervisor."""
    return find_holder(own_path(Path(runs_dir), SUPERVISOR_LOCK), own_file=True)


def is_unresponsive(supervisor: LockOwner) -> bool:
    """Return whether it is alive but does nothing, such as a stopped process."""
    has_beat = bool(supervisor.beat) and supervisor.boot == boot_id()
    return has_beat and time.monotonic() - supervisor.beat > UNRESPONSIVE_AFTER


def queue_origin(runs_dir: Path) -> str:
    """Return where the queue belongs if that is not here: another machine, or a directory that it was copied from."""
    last = read_lock_owner(own_path(Path(runs_dir), SUPERVISOR_LOCK), own_file=True)
    if last and not is_same_machine(last, current_process()):
        return last.host
    return "another directory" if is_copied(runs_dir, read_queue(runs_dir)) else ""


def ensure_supervisor(runs_dir: Path) -> None:
    """Start a supervisor unless one is running. Of two that start at once, the second one exits.

    One that does nothing is killed; its runs continue, and the new supervisor adopts them.
    """
    runs_dir = Path(runs_dir).absolute()
    lock = own_path(runs_dir, SUPERVISOR_LOCK)
    if is_locked(lock):
        supervisor = find_supervisor(runs_dir)
        if not (supervisor and is_unresponsive(supervisor) and signal_holder(lock, supervisor, signal.SIGKILL)):
            return
        deadline = time.monotonic() + KILL_SECONDS
        while is_alive(supervisor) and time.monotonic() < deadline:
            time.sleep(0.01)
        if is_alive(supervisor):
            return
    command = [sys.executable, "-P", "-m", "clarinet_tui.queue.supervisor", str(runs_dir)]
    process = start_detached(command, own_path(runs_dir, SUPERVISOR_LOG), cwd=runs_dir)
    # Without a wait, a supervisor that ends before this process would stay in the process table.
    threading.Thread(target=process.wait, name="supervisor", daemon=True).start()


class LocalExecutor:
    """Workers run in sessions of their own: they outlive the terminal and the process that started them."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self._children.pop(run.id, None)  # the exit code of an earlier attempt
        command, cwd = self.command(run, entry, device), working_folder(run, entry)
        environment = {**os.environ, **select_device(device.key), **hook_environment(entry.on_alarm, entry.on_end)}
        self._children[run.id] = start_detached(command, run.log, cwd=cwd, env=environment)

    def command(self, run: RunDirectory, entry: QueueEntry, device: Device) -> list[str]:
        arguments = worker_arguments(run, Path(entry.data_dir), queued=True, time_limit=entry.time_limit)
        return [sys.executable, "-P", *arguments, *worker_options([device], share=entry.share_device)]

    def is_running(self, run: RunDirectory) -> bool:
        """Return whether the run has a live worker, also one that another process started."""
        return self._live_child(run) is not None or find_worker(run) is not None

    def exit_code(self, run: RunDirectory) -> int | None:
        """Return the exit code of a worker that this object started; None for others."""
        child = self._children.get(run.id)
        return None if child is None else child.poll()

    def stop(self, run: RunDirectory) -> bool:
        """Ask the worker to save and end; False if it does not handle the signal yet, or no longer."""
        if child := self._live_child(run):
            if handled := handles_signal(child.pid, signal.SIGTERM):
                child.terminate()
            return handled
        worker = find_worker(run)
        return worker is not None and request_stop(run.lock, worker)

    def kill(self, run: RunDirectory) -> None:
        if child := self._live_child(run):
            child.kill()
        elif worker := find_worker(run):
            signal_holder(run.lock, worker, signal.SIGKILL)

    def worker_pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        """Return the pids of the live workers of these runs on this machine."""
        workers = [self._live_child(run) or find_local_worker(run) for run in runs]
        return {worker.pid for worker in workers if worker is not None}

    def _live_child(self, run: RunDirectory) -> "subprocess.Popen[bytes] | None":
        child = self._children.get(run.id)
        return child if child is not None and child.poll() is None else None


def start_detached(
    command: Sequence[str], log: Path, *, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> "subprocess.Popen[bytes]":
    """Start a process in a session of its own that appends its output to `log`."""
    with os.fdopen(open_append(log, 0o600), "ab") as output:
        return subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )


def working_folder(run: RunDirectory, entry: QueueEntry) -> Path:
    """Return where relative paths start; the run's directory if the user has deleted theirs."""
    folder = Path(entry.working_directory)
    return folder if folder.is_dir() else run.path


def can_retry(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the run was lost or has failed in a way that a retry may avoid."""
    event = read_last_event(run.journal) if has_written(run, entry) else None
    if event is None or event["event"] not in FINAL_EVENTS:
        return True
    return event["event"] == RunState.FAILED and event.get("kind") not in PERMANENT_FAILURES


class Supervisor:
    def __init__(
        self,
        runs_dir: Path,
        executor: LocalExecutor,
        *,
        devices: Callable[[], Sequence[Device]] | None = None,
        clock: Callable[[], float] = time.monotonic,
        log: Callable[[str], None] = print,
    ) -> None:
        self._runs_dir = runs_dir
        self._executor = executor
        self._reader = DeviceReader(seconds=0)
        """Open while runs wait."""
        self._devices, self._clock, self._log = devices or self._reader.read, clock, log
        self._stop_requests: dict[str, float] = {}
        """When each stop request was first seen, by the monotonic clock."""
        self._signalled: set[str] = set()
        """Runs whose worker has received the signal to stop."""
        self._killed: set[str] = set()
        self._missing_since: dict[str, float] = {}
        """When a run that another supervisor started was first seen without a worker."""
        self._errors: dict[str, str] = {}
        self._scheduled_at = float("-inf")
        self._idle_since = clock()

    def run_once(self) -> None:
        """Handle runs that ended, runs to stop and runs that can start."""
        for entry in read_queue(self._runs_dir).started:
            with self.log_errors(f"run {entry.id}: "):
                self._check_started(entry)
        self._start_waiting(only_schedulable(read_all_queues(self._runs_dir), self._runs_dir))
        if self._has_work(read_queue(self._runs_dir)):
            self._idle_since = self._clock()

    @contextlib.contextmanager
    def log_errors(self, prefix: str = "") -> Iterator[None]:
        """Log an error, which may pass, such as a full disk; the same one of a run, or of all, once."""
        try:
            yield
            self._errors.pop(prefix, None)
        except (OSError, InputError) as error:
            if self._errors.get(prefix) != str(error):
                self._log(f"{prefix}{error}")
            self._errors[prefix] = str(error)

    def can_exit(self) -> bool:
        return self._clock() - self._idle_since >= IDLE_SECONDS

    def release_if_idle(self, release: Callable[[], None]) -> bool:
        """Release the supervisor's lock under the queue's lock: a later request then starts a new supervisor."""
        with lock_queue(self._runs_dir):
            if self._has_work(read_queue(self._runs_dir)):
                return False
            release()
            return True

    def _has_work(self, queue: Queue) -> bool:
        waiting = () if queue.paused else [entry for entry in queue.waiting if not entry.paused]
        return bool(queue.started or waiting)

    def _check_started(self, entry: QueueEntry) -> None:
        run = self._find_run(entry)
        if run is None:
            return
        if self._executor.is_running(run):
            self._missing_since.pop(entry.id, None)
            if entry.stop_timeout is not None:
                self._stop(run, entry.stop_timeout)
            return
        if (
            self._executor.exit_code(run) is None
            and never_started(run, entry)
            and self._clock() - self._missing_since.setdefault(run.id, self._clock()) < LOCK_TIMEOUT
        ):
            return  # a worker may exist that has no lock yet: its supervisor was killed right after starting it
        self._stop_requests.pop(entry.id, None)
        self._signalled.discard(entry.id)
        self._killed.discard(entry.id)
        self._scheduled_at = float("-inf")  # a slot is free now
        self._handle_end(run, entry)

    def _stop(self, run: RunDirectory, timeout: float) -> None:
        requested_at = self._stop_requests.setdefault(run.id, self._clock())
        if run.id not in self._signalled and self._executor.stop(run):
            self._signalled.add(run.id)
        if self._clock() - requested_at >= timeout and run.id not in self._killed:
            self._killed.add(run.id)
            self._log(f"run {run.id}: did not stop within {timeout:g} s and is killed")
            self._executor.kill(run)

    def _handle_end(self, run: RunDirectory, entry: QueueEntry) -> None:
        self._missing_since.pop(run.id, None)
        exit_code = self._executor.exit_code(run)
        stopped = entry.stop_timeout is not None or exit_code in STOP_EXIT_CODES or exit_code == GPU_IN_USE
        unrecorded = False
        if exit_code is not None and not stopped and not has_written(run, entry):
            unrecorded = True
            cause = f"by signal {-exit_code}" if exit_code < 0 else f"with exit code {exit_code}"
            self._fail(run, f"the worker ended {cause} before it wrote to its journal{quote_last_line(run)}")
        keeps_waiting = exit_code == GPU_IN_USE or (exit_code is None and never_started(run, entry))
        retry = not keeps_waiting and can_retry(run, entry)
        has_failed = retry and entry.stop_timeout is None

        def requeue_or_drop(queue: Queue) -> Queue:
            """A run that was asked to stop meanwhile is not retried."""
            if not keeps_waiting:
                queue = queue.with_outcome(entry.device_key, has_failed)
            if run.id not in queue or queue[run.id].stop_timeout is not None:
                return queue.without([run.id])
            retries = queue[run.id].retries
            if keeps_waiting or (retry and retries > 0):
                return queue.with_changes([run.id], device_key="", retries=retries - retry)
            return queue.without([run.id])

        queue = update_queue(self._runs_dir, requeue_or_drop)
        self._log(f"run {run.id}: {'queued again' if run.id in queue else 'ended'}")
        if entry.on_end and run.id not in queue:
            event = read_last_event(run.journal)
            if unrecorded or event is None or event["event"] not in FINAL_EVENTS:  # else the worker has run it
                variables = {
                    "CLARINET_RUN": run.id,
                    "CLARINET_RUNS": str(run.runs_dir.absolute()),
                    "CLARINET_STATE": RunState.FAILED if unrecorded else RunState.LOST,
                    "CLARINET_MESSAGE": "its worker did not start" if unrecorded else "its worker died",
                }
                # Nothing waits for the user's command; its output is in worker.log.
                start_detached(entry.on_end, run.log, cwd=working_folder(run, entry), env={**os.environ, **variables})

    def _start_waiting(self, queue: Queue) -> None:
        if not queue.waiting or queue.paused:
            self._reader.close()
            return
        if self._clock() - self._scheduled_at < SCHEDULE_INTERVAL:
            return
        self._scheduled_at = self._clock()
        started = [RunDirectory(self._runs_dir, entry.id) for entry in queue.started if not entry.user]
        pids = self._executor.worker_pids(started)
        for decision in schedule_queue(self._runs_dir, queue, self._devices(), pids):
            with self.log_errors(f"run {decision.entry.id}: "):
                if decision.is_impossible:
                    self._fail_and_drop(decision.entry, decision.reason)
                elif decision.device is not None:
                    self._start(decision.entry, decision.device)

    def _start(self, entry: QueueEntry, device: Device) -> None:
        run = self._find_run(entry)
        if run is None:
            return
        size, now = file_size(run.journal), time.time()
        starting = msgspec.structs.replace(entry, device_key=device.key, started_at=now, journal_size=size)

        def claim(queue: Queue) -> Queue:
            """Compare and set: the entry may have been moved, paused or cancelled since it was read."""
            entries = [starting if other == entry else other for other in queue.entries]
            return queue if queue.paused else queue.with_entries(entries)

        if starting not in update_queue(self._runs_dir, claim).entries:
            return
        self._log(f"run {run.id}: starts on {device.label}")
        try:
            self._executor.start(run, entry, device)
        except (OSError, InputError) as error:
            if not isinstance(error, OSError | StorageError) or error.errno not in TRANSIENT_ERRORS:
                self._fail_and_drop(entry, f"the worker could not be started: {error}")
                return
            update_queue(self._runs_dir, lambda queue: queue.with_changes([run.id], device_key=""))
            raise

    def _fail_and_drop(self, entry: QueueEntry, message: str) -> None:
        if run := self._find_run(entry):
            self._fail(run, message)
            update_queue(self._runs_dir, lambda queue: queue.without([run.id]))

    def _fail(self, run: RunDirectory, message: str) -> None:
        """Record a failure in the run's journal, and in the log in case the journal cannot be written."""
        self._log(f"run {run.id}: {message}")
        failed = Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED)
        try:
            with run.hold_lock():
                append_failure(run.journal, failed, timeout=2.0)  # on a full disk; other runs wait meanwhile
        except (OSError, InputError) as error:
            self._log(f"run {run.id}: {error}")

    def _find_run(self, entry: QueueEntry) -> RunDirectory | None:
        """Return the entry's run; drop the entry if the directory is gone or belongs to another user."""
        try:
            run = RunDirectory(self._runs_dir, entry.id)
            run.check_own("start")
            if run.config.exists():
                return run
            self._log(f"run {entry.id}: its directory does not exist")
        except InputError as error:
            self._log(str(error))
        # Compare and set: the run may have been restored and queued again since the entry was read.
        update_queue(
            self._runs_dir, lambda queue: queue.with_entries([kept for kept in queue.entries if kept != entry])
        )
        return None


def main(executor: LocalExecutor | None = None) -> int:
    parser = argparse.ArgumentParser(prog="clarinet-supervisor", description=__doc__)
    parser.add_argument("runs_dir", type=Path)
    runs_dir: Path = parser.parse_args().runs_dir
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    with contextlib.ExitStack() as stack:
        try:
            lock = own_path(runs_dir, SUPERVISOR_LOCK)
            stack.enter_context(hold_lock(lock, "the supervisor's lock", private=True))
            remove_leftovers(runs_dir)
        except LockHeldError:
            return 0  # another supervisor is running
        except InputError as error:
            log(str(error))
            return 1
        supervisor = Supervisor(runs_dir, executor or LocalExecutor(), log=log)
        while keep_lock(lock):  # until the runs directory is deleted or replaced
            with supervisor.log_errors():
                supervisor.run_once()
                if supervisor.can_exit() and supervisor.release_if_idle(stack.close):
                    break
            time.sleep(POLL)
    return 0


def log(message: str) -> None:
    """Print to the supervisor's log; on a full disk the message is dropped."""
    with contextlib.suppress(OSError):
        print(time.strftime("%F %T"), message, flush=True)


if __name__ == "__main__":
    sys.exit(main())
