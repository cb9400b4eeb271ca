"""Real workers from a process that has loaded torch already: they are there in a blink, to be killed in the next."""

import multiprocessing
import os
import sys
from multiprocessing.process import BaseProcess
from pathlib import Path

from clarinet_tui.journal.directory import RunDirectory

_nursery = multiprocessing.get_context("forkserver")
_nursery.set_forkserver_preload(["core.train", "core.data.load", "clarinet_tui.launch.worker"])


def born(run: RunDirectory, log: Path | None = None) -> BaseProcess:
    """A worker of the run; it goes on from a checkpoint where there is one."""
    words = [run.id, "--runs-dir", str(run.runs_dir), "--data-dir", str(run.runs_dir)]
    words += ["--resume"] if run.has_checkpoint else []
    process = _nursery.Process(target=_work, args=(words, str(log or run.log)), daemon=True)
    process.start()
    return process


def _work(words: list[str], log: str) -> None:
    from clarinet_tui.launch.worker import main

    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(words[2])
    sys.argv = ["worker", *words]
    sys.exit(main())
