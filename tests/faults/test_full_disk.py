"""The disk of the journal, the history or the queue is full: training waits or continues, and nothing is lost."""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import DATABASE_VARIABLE, Database, HistoryError
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import lock_queue, read_queue
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.worker import recorder
from clarinet_tui.worker.recorder import Recorder
from core.errors import InputError
from core.events import Finished
from tests.support.cli import invoke
from tests.support.disks import fill, small_disk
from tests.support.events import started, step
from tests.support.forked_python import call_in_process, start_worker
from tests.support.histories import open_history
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    read_worker_starts,
    running_supervisor,
    runs_directory,
    wait_until,
)
from tests.support.workers import events_named, make_task, tiny_run


def test_training_waits_for_free_space_and_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with small_disk(tmp_path / "disk", "120m") as disk:
        run = tiny_run(disk, make_task(tmp_path), "one", "clarinet", epochs=10, checkpoint_minutes=1000)
        process = start_worker(run, log=log)
        wait_until(lambda: count_steps(run) or process.poll() is not None, disk)
        filler = fill(disk)
        wait_until(lambda: "training pauses until it can" in log.read_text() or process.poll() is not None, tmp_path)
        assert process.poll() is None, log.read_text()
        assert not run.checkpoint.exists()
        filler.unlink()
        assert process.wait() == 0, log.read_text()
        assert "can be written again: nothing was lost" in log.read_text()
        total = events_named(run, "started")[0]["iterations_total"]
        assert [fields["iteration"] for fields in events_named(run, "step")] == list(range(1, total + 1))
        with Database.open_read_only(disk) as db:
            assert db.row("SELECT state, iteration FROM runs")[:] == ("finished", total)  # type: ignore[index]
            assert len(db.tuples("SELECT * FROM iterations")) == total


def record_while(full: AbstractContextManager[object], run: RunDirectory) -> list[str]:
    """Record a run of which most iterations are trained while its history cannot be written; return the messages."""
    messages: list[str] = []
    recorder.INTERVAL = 0.02
    recording = Recorder(run, run.read_config(), messages.append)
    recording.record(started())
    with full:
        for iteration in range(1, 4001):
            recording.record(step(iteration))
        recording.sync()
        wait_until(lambda: messages, run.runs_dir)
    recording.record(Finished(iteration=4000, epoch=1, target_accuracy=None, source_accuracy=None))
    recording.close()
    with Database.open_read_only(run.runs_dir) as db:
        assert len(db.tuples("SELECT * FROM iterations")) == 4000
        assert db.rows("SELECT state FROM runs")[0][0] == "finished"
    return messages


def test_a_run_continues_while_the_disk_of_the_history_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "INTERVAL", recorder.INTERVAL)
    with small_disk(tmp_path / "disk", "2m") as disk:
        monkeypatch.setenv(DATABASE_VARIABLE, str(disk / "history.db"))
        run = make_fault_run(tmp_path / "runs", "one")
        Database.open(tmp_path / "runs").close()
        with ExitStack() as full:
            full.callback(fill(disk).unlink)
            (message,) = record_while(full, run)
    assert "the disk is full: runs continue, and the history is updated when there is room again" in message


@contextmanager
def limited_file_size() -> Iterator[None]:
    unlimited = resource.RLIM_INFINITY
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, unlimited))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, unlimited))


def record_with_limited_file_size(run: RunDirectory) -> None:
    (message,) = record_while(limited_file_size(), run)
    run.log.write_text(message)


def test_a_run_continues_while_the_database_file_cannot_grow(runs: Path) -> None:
    """A limit on file sizes, for systems where mounting is not permitted. The journal stays below it."""
    run = make_fault_run(runs, "one")
    open_history(runs).close()
    assert call_in_process(record_with_limited_file_size, run) == 0
    advice = "runs continue; try again, or give --db a path on another disk"
    assert f"clarinet.db: disk error (disk I/O error): {advice}" in run.log.read_text()
    assert run.journal.stat().st_size < 200_000


def test_ingesting_on_a_full_disk_raises_an_error_that_names_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        make_fault_run(disk, "one")
        open_history(disk).close()
        filler = fill(disk)
        with pytest.raises(HistoryError, match="disk is full"), Database.open(disk) as db:
            ingest_all(db, disk)
        filler.unlink()
        with Database.open(disk) as db:
            assert ingest_all(db, disk) == 1


def test_a_queue_change_on_a_full_disk_is_refused_and_can_be_repeated(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk, runs_directory(disk / "runs") as runs:
        one, two = make_fault_run(runs, "one", "steps=3"), make_fault_run(runs, "two", "steps=3")
        enqueue_directly(one, two, paused=True)
        with running_supervisor(runs):
            requests.hold(runs, ["one"], False)
            wait_until(lambda: [entry.id for entry in read_queue(runs).entries] == ["two"], runs)
            filler = fill(disk)
            with pytest.raises(InputError, match=r"queue\.json: cannot be written: No space left on device"):
                requests.hold(runs, ["two"], False)
            assert [entry.id for entry in read_queue(runs).waiting] == ["two"]
            filler.unlink()
            requests.hold(runs, ["two"], False)
            wait_until(lambda: not read_queue(runs).entries, runs)
        assert [(last_event(run), len(read_worker_starts(run))) for run in (one, two)] == [("finished", 1)] * 2


def test_a_waiting_run_starts_once_the_disk_has_free_space(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk, runs_directory(disk / "runs") as runs:
        one, two = make_fault_run(runs, "one", "steps=100000"), make_fault_run(runs, "two", "steps=3")
        with running_supervisor(runs) as supervisor:
            enqueue_directly(one, two)
            wait_until(lambda: count_steps(one), runs)
            filler = fill(disk)
            os.kill(int(read_worker_starts(one)[0][0]), signal.SIGKILL)
            wait_until(lambda: "queue.json: cannot be written: No space left on device" in read_logs(runs), runs)
            assert supervisor.poll() is None
            assert [entry.id for entry in read_queue(runs).entries] == ["one", "two"]
            filler.unlink()
            wait_until(lambda: not read_queue(runs).entries, runs)
        assert last_event(two) == "finished"


def test_rm_and_undo_work_on_a_full_disk(tmp_path: Path) -> None:
    """A run is moved without space; its rows follow when there is room again."""
    with small_disk(tmp_path / "disk", "2m") as disk:
        run = make_fault_run(disk, "one")
        with run.hold_lock(), lock_queue(disk):  # so that the lock files exist
            pass
        with open_history(disk) as db:
            ingest_all(db, disk)
        (disk / ".trash").mkdir()
        filler = fill(disk)
        removed = invoke(disk, "rm", "one")
        assert (removed.exit_code, removed.stdout[:11]) == (0, "one removed"), (removed.output, removed.exception)
        assert not run.path.exists()
        restored = invoke(disk, "rm", "--undo", "one")
        assert (restored.exit_code, restored.stdout) == (0, "one restored\n"), (restored.output, restored.exception)
        filler.unlink()
        assert "one" in invoke(disk, "ls", "--quiet").stdout


class Disk:
    """A disk that is full until `has_space` is set."""

    def __init__(self) -> None:
        self.has_space = False

    def write(self, file: int, content: memoryview) -> int:
        if not self.has_space:
            raise OSError(28, os.strerror(28))
        return os.write(file, content)


def test_a_checkpoint_waits_until_the_journal_is_on_the_disk(tmp_path: Path) -> None:
    """`sync_or_wait` returns once everything is written, and raises if it cannot wait."""
    disk, messages = Disk(), list[str]()
    polls = iter(range(5))

    def can_wait() -> bool:
        disk.has_space = next(polls, None) is None
        return True

    options: dict[str, Any] = {"write": disk.write, "interval": 0.001, "notify": messages.append}
    with JournalWriter(tmp_path / "one", can_wait=can_wait, **options) as journal:
        journal.append(step(1))
        journal.sync_or_wait()
        assert journal.pending_bytes == 0
    assert [message.rpartition(": ")[2] for message in messages][1:] == [
        "training pauses until it can",
        "nothing was lost",
    ]
    disk.has_space = False
    journal = JournalWriter(tmp_path / "two", can_wait=lambda: False, **options)
    journal.append(step(1))
    with pytest.raises(OSError, match="No space left on device"):
        journal.sync_or_wait()
    with pytest.raises(OSError, match="No space left on device"):
        journal.close(timeout=0)
