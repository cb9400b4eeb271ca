"""Real workers, forked from a process that has imported torch: they start at once.

Importing torch and its compiler, which its optimizers need, takes ten times longer than a test's run.
"""

import gc
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from multiprocessing.util import Finalize
from pathlib import Path

from clarinet_tui.runs.directory import RunDirectory

TIMEOUT = 120.0
forkserver = multiprocessing.get_context("forkserver")
forkserver.set_forkserver_preload(
    ["core.training.train", "core.data.load", "torch._inductor", "clarinet_tui.worker.main", "clarinet_tui.cli.main"]
)


def _kill_remaining() -> None:
    """Kill what a skipped or failed test leaves: multiprocessing waits at exit also for a stopped process."""
    for process in multiprocessing.active_children():
        process.kill()


Finalize(None, _kill_remaining, exitpriority=0)


class Worker:
    """A process with the interface of `subprocess.Popen`."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._process, self.pid = process, process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = TIMEOUT) -> int | None:
        """Return the exit code, or None if the process is alive."""
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def start_worker(
    run: RunDirectory, *arguments: str, log: Path | None = None, prepare: Callable[[], object] = os.getpid
) -> Worker:
    """Start a worker of the run, which resumes from a checkpoint if there is one; its output goes to its log.

    `prepare` is called in its process, before the log is opened: in a new session, a terminal becomes its own.
    """
    data_dir = run.runs_dir / "data"
    arguments = (run.id, *arguments, "--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir))
    arguments += ("--resume",) if run.has_checkpoint else ()
    environment = {**os.environ, "NO_COLOR": "1"}
    process_arguments = (list(arguments), str(log or run.log), str(run.runs_dir), environment, prepare)
    process = forkserver.Process(target=_work, args=process_arguments, daemon=True)
    process.start()
    return Worker(process)


def run_worker(run: RunDirectory, *arguments: str, log: Path | None = None) -> int | None:
    """Run a worker to its end and return its exit code."""
    return start_worker(run, *arguments, log=log).wait()


def new_session() -> None:
    """Start a session, which the closing of its terminal ends even if the tests were started with `nohup`."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def new_session_with_slow_checkpoints() -> None:
    """Start a session, and make each checkpoint take ten minutes."""
    import torch

    def save(*_: object) -> None:
        print("SAVES", file=sys.stderr, flush=True)
        time.sleep(600)

    new_session()
    torch.save = save  # type: ignore[assignment]


def _work(
    arguments: list[str], log: str, folder: str, environment: dict[str, str], prepare: Callable[[], object]
) -> None:
    from clarinet_tui.worker.main import main

    gc.freeze()  # collecting what was imported before the fork takes longer than a test's run
    prepare()
    file = os.open(log, os.O_RDWR | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["worker", *arguments]
    sys.exit(main())
