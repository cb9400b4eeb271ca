"""Workers as processes of this machine: how they start, stop and end."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.placement import worker_environment, worker_options
from clarinet_tui.queue.queue_file import QueueEntry
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import file_size, open_append
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.journal_writer import append_failure
from clarinet_tui.runs.lock import (
    find_local_worker,
    find_worker,
    handles_signal,
    read_lock_owner,
    request_stop,
    signal_holder,
)
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from clarinet_tui.runs.worker_command import hook_environment, worker_arguments
from clarinet_tui.runs.worker_log import read_last_line
from clarinet_tui.text import printable
from core.events import PERMANENT_FAILURES, Failed, FailureKind

STOP_EXIT_CODES = frozenset(128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
GPU_IN_USE = os.EX_TEMPFAIL
"""The exit code of a worker whose GPU another run has locked first: the run keeps waiting."""
CLOSE_TIMEOUT = 2.0
"""Seconds to wait for room on a full disk: other runs wait meanwhile."""


class LocalExecutor:
    """Workers run in sessions of their own: they outlive the terminal and the process that started them."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None:
        self._children.pop(run.id, None)  # the exit code of an earlier attempt
        cwd = Path(entry.working_directory) if Path(entry.working_directory).is_dir() else run.path
        command = self.command(run, entry, device)
        environment = {**worker_environment(device), **hook_environment(entry.on_alarm, entry.on_end)}
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
    output = open_append(log, 0o600)
    try:
        return subprocess.Popen(
            command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    finally:
        os.close(output)


def has_written(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the journal has grown since the run was started."""
    return file_size(run.journal) > entry.journal_size


def never_started(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether no worker has held the run's lock since it was to start: the supervisor died in between."""
    owner = read_lock_owner(run.lock)
    return not has_written(run, entry) and (owner is None or owner.since < entry.started_at)


def can_retry(run: RunDirectory, entry: QueueEntry) -> bool:
    """Return whether the run was lost or has failed in a way that a retry may avoid."""
    event = read_last_event(run.journal) if has_written(run, entry) else None
    if event is None or event["event"] not in FINAL_EVENTS:
        return True
    return event["event"] == RunState.FAILED and event.get("kind") not in PERMANENT_FAILURES


def record_failure(run: RunDirectory, message: str) -> None:
    """Write the failure of a worker that could not record it."""
    with run.hold_lock():
        append_failure(run.journal, Failed(iteration=0, message=message, kind=FailureKind.NOT_STARTED), CLOSE_TIMEOUT)


def describe_exit(run: RunDirectory, exit_code: int) -> str:
    cause = f" by signal {-exit_code}" if exit_code < 0 else f" with exit code {exit_code}"
    last_line = printable(read_last_line(run))[:500]
    return f"the worker ended{cause} before it wrote to its journal{': ' if last_line else ''}{last_line}"


def start_end_command(run: RunDirectory, entry: QueueEntry, state: RunState) -> None:
    """Start the user's command, with its output in worker.log; nothing waits for it."""
    folder = Path(entry.working_directory) if Path(entry.working_directory).is_dir() else run.path
    variables = {
        "CLARINET_RUN": run.id,
        "CLARINET_RUNS": str(run.runs_dir.absolute()),
        "CLARINET_STATE": state,
        "CLARINET_MESSAGE": "its worker died" if state is RunState.LOST else "its worker did not start",
    }
    start_detached(entry.on_end, run.log, cwd=folder, env={**os.environ, **variables})
