"""The disk of the journal, the history or the queue is full: training waits or continues, and nothing is lost."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import DATABASE_VARIABLE, Database, HistoryError
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import lock_queue, read_queue
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.worker import recorder
from clarinet_tui.worker.recorder import Recorder
from core.errors import InputError
from core.events import Finished
from tests.support.cli import invoke
from tests.support.disks import fill, small_disk
from tests.support.events import started, step
from tests.support.forked_python import start_worker
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


def test_a_run_continues_while_the_disk_of_the_history_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    messages: list[str] = []
    with small_disk(tmp_path / "disk", "2m") as disk:
        monkeypatch.setenv(DATABASE_VARIABLE, str(disk / "history.db"))
        monkeypatch.setattr(recorder, "INTERVAL", 0.02)
        run = make_fault_run(tmp_path / "runs", "one")
        Database.open(tmp_path / "runs").close()
        filler = fill(disk)
        recording = Recorder(run, run.read_config(), messages.append)
        recording.record(started())
        for iteration in range(1, 3001):
            recording.record(step(iteration))
        recording.sync()
        wait_until(lambda: messages, tmp_path)
        filler.unlink()
        recording.record(Finished(iteration=3000, epoch=1, target_accuracy=None, source_accuracy=None))
        recording.close()
        with Database.open_read_only(tmp_path / "runs") as db:
            assert len(db.tuples("SELECT * FROM iterations")) == 3000
            assert db.rows("SELECT state FROM runs")[0][0] == "finished"
    assert len(messages) == 1
    assert "the disk is full: runs continue, and the history is updated when there is room again" in messages[0]


RECORD_WITH_FILE_SIZE_LIMIT = """
import resource, signal, sys, time
from pathlib import Path
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.worker import recorder
from core.events import Finished
from tests.support.events import started, step

runs, limit, messages = Path(sys.argv[1]), resource.RLIMIT_FSIZE, []
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder.INTERVAL = 0.02
run = RunDirectory(runs, "one")
recording = recorder.Recorder(run, run.read_config(), messages.append)
recording.record(started())
resource.setrlimit(limit, (200_000, resource.RLIM_INFINITY))
for iteration in range(1, 4001):
    recording.record(step(iteration))
recording.sync()
while not messages:
    time.sleep(0.01)
resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recording.record(Finished(iteration=4000, epoch=1, target_accuracy=None, source_accuracy=None))
recording.close()
print(*messages, sep="\\n")
"""


def test_a_run_continues_while_the_database_file_cannot_grow(runs: Path) -> None:
    """A limit on file sizes, for systems where mounting is not permitted. The journal stays below it."""
    run = make_fault_run(runs, "one")
    open_history(runs).close()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", RECORD_WITH_FILE_SIZE_LIMIT, str(runs)]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    (message,) = result.stdout.splitlines()
    assert (
        "clarinet.db: disk error (disk I/O error): runs continue; try again, or give --db a path on another disk"
        in message
    )
    assert run.journal.stat().st_size < 200_000
    with Database.open_read_only(runs) as db:
        assert len(db.tuples("SELECT * FROM iterations")) == 4000
        assert db.rows("SELECT state FROM runs")[0][0] == "finished"


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
            wait_until(lambda: last_event(one) == "finished", runs)
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
