"""A disk that fails to sync: the run fails instead of finishing, and no checkpoint precedes a durable journal."""

import errno
import os
from pathlib import Path

from clarinet_tui.runs.journal_writer import JournalWriter
from tests.support.forked_python import start_worker
from tests.support.supervised import last_event, read_state
from tests.support.workers import events_named, make_task, tiny_run


def fail_to_sync(file: int) -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def break_disk() -> None:
    """In the worker's process, let every fsync of a journal fail."""
    defaults = JournalWriter.__init__.__kwdefaults__
    assert defaults is not None
    defaults["fsync"] = fail_to_sync


def test_a_run_whose_journal_cannot_be_synced_fails_without_a_checkpoint(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = tiny_run(tmp_path / "runs", make_task(tmp_path), "one", "clarinet", checkpoint_minutes=0.0001)
    assert start_worker(run, log=log, prepare=break_disk).wait() == 1, log.read_text()
    assert last_event(run) == "failed"
    assert "Input/output error" in events_named(run, "failed")[0]["message"]
    assert not run.has_checkpoint
    assert "Input/output error: what was written may be lost if the machine fails" in log.read_text()
    assert "nothing was lost" not in log.read_text()
    assert read_state(run) == "failed"


def test_a_run_without_a_checkpoint_does_not_finish_either(tmp_path: Path) -> None:
    log = tmp_path / "log"
    run = tiny_run(tmp_path / "runs", make_task(tmp_path), "one", "clarinet", epochs=1, checkpoints="none")
    assert start_worker(run, log=log, prepare=break_disk).wait() == 1, log.read_text()
    assert not events_named(run, "finished")
    assert last_event(run) == "failed"
