"""Small runs in real worker processes, on tiny data."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from clarinet_tui.runs.directory import RunDirectory
from core.config import RunConfig
from core.resolve import resolve
from tests.support.events import CLOCK_FIELDS, read_journal

TIMEOUT = 120.0


class Process(Protocol):
    def poll(self) -> int | None: ...


def make_task(folder: Path, size: int = 40, *, true_labels: bool = True) -> str:
    """Write two domains as arrays, the source perhaps without true labels, and return the task between them."""
    import numpy as np  # not needed by processes that import this module

    from tests.support.tiny import tiny_images

    for name, seed, shift in (("photos", 1, 0), ("scans", 3, 2)):
        (folder / name).mkdir()
        for split, count in (("train", size), ("test", 20)):
            images = tiny_images(count, seed, shift, labelled=name == "photos")
            arrays: dict[str, Any] = {"x": images.x}
            if images.ybar is not None:
                arrays["ybar"] = images.ybar
            if true_labels or images.ybar is None:
                arrays["y"] = images.y
            np.savez(folder / name / f"{split}.npz", **arrays)
    return f"{folder / 'photos'}->{folder / 'scans'}"


def small_config(task: str, method: str, **settings: Any) -> RunConfig:
    base = {"preset": "smoke", "batch_size": 8, "epochs": 2, "source_size": 0, "threads": 1, "device": "cpu"}
    stage1 = {"epochs": 2, "batch_size": 8, "rate": 1e-3, **settings.pop("stage1", {})}
    return resolve(base, task=task, method=method, stage1=stage1, **settings)


def tiny_run(runs_dir: Path, task: str, name: str, method: str = "gac+dann", **settings: Any) -> RunDirectory:
    return RunDirectory.create(runs_dir, small_config(task, method, **settings), id=name)


def start_worker_process(run: RunDirectory, *arguments: str, **options: Any) -> "subprocess.Popen[str]":
    """Start the worker of a run, with its output in the run's log and outside of any git repository."""
    command = [sys.executable, "-P", "-m", "clarinet_tui.worker.main", run.id, *arguments]
    command += ["--runs-dir", str(run.runs_dir), "--data-dir", str(run.runs_dir / "data")]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    with run.log.open("ab") as log:
        defaults = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "env": environment}
        return subprocess.Popen(command, text=True, cwd=run.runs_dir, **{**defaults, **options})


def read_events(run: RunDirectory) -> list[dict[str, Any]]:
    """Return the events in the journal now."""
    return read_journal(run.journal)


def events_named(run: RunDirectory, name: str) -> list[dict[str, Any]]:
    return [fields for fields in read_events(run) if fields["event"] == name]


def valid_iterations(run: RunDirectory) -> list[int]:
    """Return the iterations in the journal's order, without those that a resume superseded."""
    iterations: list[int] = []
    for fields in read_events(run):
        if fields["event"] in ("started", "resumed"):
            iterations = [iteration for iteration in iterations if iteration <= fields.get("from_iteration", 0)]
        elif fields["event"] == "step":
            iterations.append(fields["iteration"])
    return iterations


def repeatable(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in (*CLOCK_FIELDS, "time")}


def wait_until(process: Process, run: RunDirectory, condition: Callable[[], object]) -> None:
    """Wait until a condition is true; fail if the worker ends before."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert process.poll() is None, run.log.read_text()
        assert time.monotonic() < deadline, run.log.read_text()
        time.sleep(0.02)
