"""Real workers from a process that has loaded torch already: they are there in a blink, to be killed in the next.

Loading torch and its compiler, which its optimizers ask for, takes ten times longer than a run of tests computes.
"""

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from clarinet_tui.runs.directory import RunDirectory

PATIENCE = 120.0
_nursery = multiprocessing.get_context("forkserver")
_nursery.set_forkserver_preload(
    ["core.training.train", "core.data.load", "torch._inductor", "clarinet_tui.worker.main"]
)


class Worker:
    """A process, spoken to as `subprocess.Popen` is."""

    def __init__(self, process: BaseProcess) -> None:
        assert process.pid is not None
        self._process, self.pid = process, process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float = PATIENCE) -> int | None:
        """Its exit code, or none if it still lives."""
        self._process.join(timeout)
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        self._process.kill()


def start_worker(run: RunDirectory, *words: str, log: Path | None = None) -> Worker:
    """A worker of the run; it goes on from a checkpoint where there is one. What it prints goes to its log."""
    data_dir = run.runs_dir / "data"
    words = (run.id, *words, "--runs-dir", str(run.runs_dir), "--data-dir", str(data_dir))
    words += ("--resume",) if run.has_checkpoint else ()
    environment = {**os.environ, "NO_COLOR": "1"}
    arguments = (list(words), str(log or run.log), str(run.runs_dir), environment)
    process = _nursery.Process(target=_work, args=arguments, daemon=True)
    process.start()
    return Worker(process)


def run_worker(run: RunDirectory, *words: str, log: Path | None = None) -> int | None:
    """The exit code of such a worker."""
    return start_worker(run, *words, log=log).wait()


def _work(words: list[str], log: str, folder: str, environment: dict[str, str]) -> None:
    from clarinet_tui.worker.main import main

    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["worker", *words]
    sys.exit(main())
