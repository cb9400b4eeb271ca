"""Starts, stops and looks after workers on this machine. Another executor may do the same on a cluster."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Protocol

from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.files import open_append
from clarinet_tui.journal.holding import read_holder
from clarinet_tui.journal.process import alive, send_signal
from clarinet_tui.journal.queue import Entry
from clarinet_tui.launch.devices import Device, worker_device, worker_environment


class Executor(Protocol):
    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None: ...

    def lives(self, run: RunDirectory) -> bool:
        """Whether a worker of the run is there, whoever has started it."""

    def exit_code(self, run: RunDirectory) -> int | None:
        """How a worker that we have started ended; None for others."""

    def stop(self, run: RunDirectory) -> None:
        """Ask it to save and end."""

    def kill(self, run: RunDirectory) -> None: ...

    def pids(self) -> set[int]:
        """The workers that we have started and that still live."""


class LocalExecutor:
    """Workers are processes in sessions of their own: they outlive the terminal and whoever has started them."""

    def __init__(self) -> None:
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, run: RunDirectory, entry: Entry, device: Device) -> None:
        command = [sys.executable, "-P", *worker_words(run, Path(entry.data_dir), queued=True)]
        command += ["--device", worker_device(device)]
        log = open_append(run.log, 0o600)
        try:
            self._children[run.id] = subprocess.Popen(
                command,
                cwd=entry.folder if Path(entry.folder).is_dir() else run.path,
                env=worker_environment(device),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)

    def lives(self, run: RunDirectory) -> bool:
        child = self._children.get(run.id)
        if child is not None and child.poll() is None:
            return True
        holder = read_holder(run.lock)
        return holder is not None and alive(holder) is not False

    def exit_code(self, run: RunDirectory) -> int | None:
        child = self._children.get(run.id)
        return None if child is None else child.poll()

    def stop(self, run: RunDirectory) -> None:
        self._signal(run, signal.SIGTERM)

    def kill(self, run: RunDirectory) -> None:
        self._signal(run, signal.SIGKILL)

    def pids(self) -> set[int]:
        return {child.pid for child in self._children.values() if child.poll() is None}

    def _signal(self, run: RunDirectory, number: signal.Signals) -> None:
        child = self._children.get(run.id)
        if child is not None and child.poll() is None:
            child.send_signal(number)
        elif holder := read_holder(run.lock):
            send_signal(holder, number)


def worker_words(
    run: RunDirectory, data_dir: Path, *, json: bool = False, fresh: bool = False, queued: bool = False
) -> list[str]:
    """The worker of a run, as words for Python. It goes on from a checkpoint where there is one."""
    words = ["-m", "clarinet_tui.launch.worker", run.id]
    words += ["--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir)]
    flags = {"--json": json, "--resume": run.has_checkpoint, "--fresh": fresh, "--queued": queued}
    return words + [flag for flag, given in flags.items() if given]
