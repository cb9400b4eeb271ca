"""Run directories that cannot be written: users see the reason, and other runs continue."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from tests.support.disks import read_only, require_mount
from tests.support.forked_python import run_worker, start_worker
from tests.support.supervised import (
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    read_metric_tables,
    read_state,
    read_worker_starts,
    running_supervisor,
    wait_until,
)
from tests.support.workers import events_named, make_task, tiny_run


@contextmanager
def folders_for_files(run: RunDirectory) -> Iterator[None]:
    """Create directories in place of the run's files, for systems where mounting is not permitted."""
    for path in (run.lock, run.log, run.journal):
        path.mkdir()
    yield


@pytest.mark.parametrize("make_unwritable", [lambda run: read_only(run.path), folders_for_files])
def test_an_unwritable_run_is_reported_and_does_not_block_the_queue(
    runs: Path, make_unwritable: Callable[[RunDirectory], AbstractContextManager[None]]
) -> None:
    unwritable, writable = make_fault_run(runs, "unwritable", "steps=3"), make_fault_run(runs, "writable", "steps=3")
    with make_unwritable(unwritable):
        enqueue_directly(unwritable, writable, retries=1)
        with running_supervisor(runs):
            wait_until(lambda: not read_queue(runs).entries, runs)
        assert (read_worker_starts(unwritable), last_event(writable)) == ([], "finished")
        assert "run unwritable: the worker could not be started" in read_logs(runs)
        arguments = ["unwritable", "--runs-dir", str(runs), "--data-dir", str(runs)]
        command = [sys.executable, "-P", "-m", "clarinet_tui.worker.main", *arguments]
        worker = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (worker.returncode, len(worker.stderr.splitlines())) == (2, 1)
        assert "unwritable/lock: cannot be written" in worker.stderr
        assert read_state(unwritable) == "queued"  # and `stopped` half a minute after its creation


def test_a_read_only_run_cannot_be_tagged(runs: Path) -> None:
    run = make_fault_run(runs, "one")
    with read_only(run.path), pytest.raises(InputError, match=r"annotations\.jsonl: cannot be written: Read-only file"):
        add_tag(run, "mine")
    assert read_state(run) == "queued"


def test_a_run_fails_when_its_directory_becomes_read_only_and_can_be_resumed(tmp_path: Path) -> None:
    """The journal is open and stays writable, but no checkpoint can be created."""
    require_mount()
    task = make_task(tmp_path)
    settings = {"epochs": 12, "checkpoint_minutes": 0.001}
    undisturbed, failed = (
        tiny_run(tmp_path / name, task, name, "clarinet", **settings) for name in ("undisturbed", "failed")
    )
    log = tmp_path / "log"
    worker = start_worker(failed, log=log)
    wait_until(lambda: failed.has_checkpoint or worker.poll() is not None, tmp_path)
    worker.send_signal(signal.SIGSTOP)
    with read_only(failed.path):
        worker.send_signal(signal.SIGCONT)
        assert worker.wait() == 1, log.read_text()
    assert "Read-only file system" in events_named(failed, "failed")[0]["message"]
    assert run_worker(failed, log=log) == 0, log.read_text()
    assert run_worker(undisturbed) == 0, undisturbed.log.read_text()
    assert read_metric_tables(failed) == read_metric_tables(undisturbed)
