"""Starts, stops and looks after workers on this machine. Another executor may do the same on a cluster."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from clarinet_tui.devices.local import Device, worker_device, worker_environment
from clarinet_tui.queue.queue_file import Entry
from clarinet_tui.queue.supervisor_process import holder_of
from clarinet_tui.runs.atomic_files import open_append
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import Holder, alive, ask_to_stop, listens, send_signal


class Executor(Protocol):
    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None: ...

    def lives(self, run: RunDirectory) -> bool:
        """Whether a worker of the run is there, whoever has started it."""

    def exit_code(self, run: RunDirectory) -> int | None:
        """How a worker that we have started ended; None for others."""

    def stop(self, run: RunDirectory) -> bool:
        """Ask it to save and end; False if it does not listen, because it was asked before or has just begun."""

    def kill(self, run: RunDirectory) -> None: ...

    def pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        """The live workers of these runs, whoever has started them."""


class LocalExecutor:
    """Workers are processes in sessions of their own: they outlive the terminal and whoever has started them."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None:
        self._children.pop(run.id, None)  # how a sitting before came to its end no longer counts
        log = open_append(run.log, 0o600)
        try:
            self._children[run.id] = subprocess.Popen(
                self.command(run, entry, device),
                cwd=entry.folder if Path(entry.folder).is_dir() else run.path,
                env=worker_environment(device),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)

    def command(self, run: RunDirectory, entry: Entry, device: Device) -> list[str]:
        words = worker_words(run, Path(entry.data_dir), queued=True, on_alarm=entry.on_alarm)
        return [sys.executable, "-P", *words, "--device", worker_device(device)]

    def lives(self, run: RunDirectory) -> bool:
        return self._child(run) is not None or holder_of(run) is not None

    def exit_code(self, run: RunDirectory) -> int | None:
        child = self._children.get(run.id)
        return None if child is None else child.poll()

    def stop(self, run: RunDirectory) -> bool:
        if child := self._child(run):
            if heard := listens(child.pid, signal.SIGTERM):
                child.terminate()
            return heard
        holder = holder_of(run)
        return holder is not None and ask_to_stop(holder)

    def kill(self, run: RunDirectory) -> None:
        if child := self._child(run):
            child.kill()
        elif holder := holder_of(run):
            send_signal(holder, signal.SIGKILL)

    def pids(self, runs: Iterable[RunDirectory]) -> set[int]:
        found: list[subprocess.Popen[bytes] | Holder | None] = [self._child(run) or _holder_here(run) for run in runs]
        return {one.pid for one in found if one is not None}

    def _child(self, run: RunDirectory) -> "subprocess.Popen[bytes] | None":
        """The worker that we have started ourselves, while it lives."""
        child = self._children.get(run.id)
        return child if child is not None and child.poll() is None else None


def _holder_here(run: RunDirectory) -> Holder | None:
    """Another machine's pids mean nothing here."""
    holder = read_holder(run.lock)
    return holder if holder is not None and alive(holder) else None


def worker_words(
    run: RunDirectory,
    data_dir: Path,
    *,
    json: bool = False,
    fresh: bool = False,
    queued: bool = False,
    on_alarm: Iterable[str] = (),
) -> list[str]:
    """The worker of a run, as words for Python. It goes on from a checkpoint where there is one."""
    words = ["-m", "clarinet_tui.worker.main", run.id]
    words += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    flags = {"--json": json, "--resume": run.has_checkpoint, "--fresh": fresh, "--queued": queued}
    words += [flag for flag, given in flags.items() if given]
    return words + [f"--on-alarm={word}" for word in on_alarm]
