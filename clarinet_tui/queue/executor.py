"""Start and stop workers on this machine. Another executor may do the same on a cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.placement import worker_environment, worker_options
from clarinet_tui.queue.queue_file import QueueEntry
from clarinet_tui.runs.atomic_files import open_append
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.live_worker import find_local_worker, find_worker
from clarinet_tui.runs.signals import handles_signal, request_stop, signal_holder
from clarinet_tui.runs.worker_command import hook_environment, worker_arguments


class Executor(Protocol):
    def start(self, run: RunDirectory, entry: QueueEntry, device: Device) -> None: ...

    def is_running(self, run: RunDirectory) -> bool:
        """Return whether the run has a live worker, also one that another process started."""

    def exit_code(self, run: RunDirectory) -> int | None:
        """Return the exit code of a worker that this executor started; None for others."""

    def stop(self, run: RunDirectory) -> bool:
        """Ask the worker to save and end; False if it does not handle the signal yet, or no longer."""

    def kill(self, run: RunDirectory) -> None: ...

    def worker_pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        """Return the pids of the live workers of these runs on this machine."""


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
        return self._live_child(run) is not None or find_worker(run) is not None

    def exit_code(self, run: RunDirectory) -> int | None:
        child = self._children.get(run.id)
        return None if child is None else child.poll()

    def stop(self, run: RunDirectory) -> bool:
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
