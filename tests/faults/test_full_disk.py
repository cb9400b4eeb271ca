"""No room for the journal, the history or the queue: training waits or goes on, and nothing is lost in the end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import VARIABLE, Database, HistoryError
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.worker import recorder
from clarinet_tui.worker.recorder import Recorder
from core.errors import InputError
from core.events import Finished
from tests.support.child_processes import born
from tests.support.disks import fill, small_disk
from tests.support.events import started, step
from tests.support.histories import history
from tests.support.supervised import begun, directory, fed, logs, make, put, steps, until, word
from tests.support.workers import make_task, said, tiny_run


def test_training_waits_for_room_and_loses_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with small_disk(tmp_path / "disk", "120m") as disk:
        run = tiny_run(disk, make_task(tmp_path), "one", "clarinet", epochs=10, checkpoint_minutes=1000)
        process = born(run, log=log)
        until(lambda: steps(run) or process.poll() is not None, disk)
        filler = fill(disk)
        until(lambda: "training pauses until there is" in log.read_text() or process.poll() is not None, tmp_path)
        assert process.poll() is None, log.read_text()
        assert not run.checkpoint.exists()
        filler.unlink()
        assert process.wait() == 0, log.read_text()
        assert "can be written again: nothing was lost" in log.read_text()
        total = said(run, "started")[0]["iterations_total"]
        assert [fields["iteration"] for fields in said(run, "step")] == list(range(1, total + 1))
        with Database.open_read_only(disk) as db:
            assert db.row("SELECT state, iteration FROM runs")[:] == ("finished", total)  # type: ignore[index]
            assert len(db.tuples("SELECT * FROM iterations")) == total


def test_a_history_without_room_costs_the_run_nothing_and_catches_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    with small_disk(tmp_path / "disk", "2m") as disk:
        monkeypatch.setenv(VARIABLE, str(disk / "history.db"))
        monkeypatch.setattr(recorder, "INTERVAL", 0.02)
        run = make(tmp_path / "runs", "one")
        Database.open(tmp_path / "runs").close()
        filler = fill(disk)
        recording = Recorder(run, run.read_config(), told.append)
        recording.record(started())
        for at in range(1, 3001):
            recording.record(step(at))
        recording.sync()
        until(lambda: told, tmp_path)
        filler.unlink()
        recording.record(Finished(iteration=3000, epoch=1, target_accuracy=None, source_accuracy=None))
        recording.close()
        with Database.open_read_only(tmp_path / "runs") as db:
            assert len(db.tuples("SELECT * FROM iterations")) == 3000
            assert db.rows("SELECT state FROM runs")[0][0] == "finished"
    assert len(told) == 1
    assert "the disk is full: the runs go on, and the history catches up when there is room" in told[0]


LIMITED = """
import resource, signal, sys, time
from pathlib import Path
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.launch import recorder
from core.events import Finished
from tests.support.events import started, step

runs, limit, told = Path(sys.argv[1]), resource.RLIMIT_FSIZE, []
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
recorder.INTERVAL = 0.02
run = RunDirectory(runs, "one")
recording = recorder.Recorder(run, run.read_config(), told.append)
recording.record(started())
resource.setrlimit(limit, (200_000, resource.RLIM_INFINITY))
for at in range(1, 4001):
    recording.record(step(at))
recording.sync()
while not told:
    time.sleep(0.01)
resource.setrlimit(limit, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
recording.record(Finished(iteration=4000, epoch=1, target_accuracy=None, source_accuracy=None))
recording.close()
print(*told, sep="\\n")
"""


def test_a_history_that_may_not_grow_costs_the_run_nothing_and_catches_up(runs: Path) -> None:
    """The system's limit for files, where no disk can be mounted: the journal stays below it."""
    run = make(runs, "one")
    history(runs).close()
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", LIMITED, str(runs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    (sentence,) = done.stdout.splitlines()
    assert "clarinet.db: its disk fails (disk I/O error): the runs go on; try again, or keep it elsewhere" in sentence
    assert run.journal.stat().st_size < 200_000
    with Database.open_read_only(runs) as db:
        assert len(db.tuples("SELECT * FROM iterations")) == 4000
        assert db.rows("SELECT state FROM runs")[0][0] == "finished"


def test_who_looks_at_a_history_without_room_is_told_so(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "2m") as disk:
        make(disk, "one")
        history(disk).close()
        filler = fill(disk)
        with pytest.raises(HistoryError, match="disk is full"), Database.open(disk) as db:
            ingest_all(db, disk)
        filler.unlink()
        with Database.open(disk) as db:
            assert ingest_all(db, disk) == 1


def test_the_queue_waits_for_room(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk, directory(disk / "runs") as runs:
        one, two = make(runs, "one", "steps=3"), make(runs, "two", "steps=3")
        put(one, two, paused=True)
        with fed(runs):
            requests.pause(runs, ["one"], False)
            until(lambda: word(one) == "finished", runs)
            filler = fill(disk)
            with pytest.raises(InputError, match=r"queue\.json: cannot be written: No space left on device"):
                requests.pause(runs, ["two"], False)
            assert [entry.id for entry in read_queue(runs).waiting] == ["two"]
            filler.unlink()
            requests.pause(runs, ["two"], False)
            until(lambda: not read_queue(runs).entries, runs)
        assert [(word(run), len(begun(run))) for run in (one, two)] == [("finished", 1)] * 2


def test_a_waiting_run_is_begun_when_there_is_room_again(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", "8m") as disk, directory(disk / "runs") as runs:
        one, two = make(runs, "one", "steps=100000"), make(runs, "two", "steps=3")
        with fed(runs) as supervisor:
            put(one, two)
            until(lambda: steps(one), runs)
            filler = fill(disk)
            os.kill(int(begun(one)[0][0]), signal.SIGKILL)
            time.sleep(0.5)
            assert supervisor.poll() is None
            assert [entry.id for entry in read_queue(runs).entries] == ["one", "two"]
            filler.unlink()
            until(lambda: not read_queue(runs).entries, runs)
        assert word(two) == "finished"
        assert "queue.json: cannot be written: No space left on device" in logs(runs)


class Disk:
    """Takes nothing until it is told to."""

    def __init__(self) -> None:
        self.room = False

    def write(self, file: int, content: memoryview) -> int:
        if not self.room:
            raise OSError(28, os.strerror(28))
        return os.write(file, content)


def test_no_checkpoint_before_the_journal_holds_what_came_before_it(tmp_path: Path) -> None:
    """`secure` is what a checkpoint waits for: it ends with everything on the disk, or not well."""
    disk, told = Disk(), list[str]()
    looks = iter(range(5))

    def patient() -> bool:
        disk.room = next(looks, None) is None
        return True

    options: dict[str, Any] = {"write": disk.write, "interval": 0.001, "say": told.append}
    with JournalWriter(tmp_path / "one", patient=patient, **options) as journal:
        journal.append(step(1))
        journal.secure()
        assert journal.behind == 0
    assert [sentence.rpartition(": ")[2] for sentence in told][1:] == [
        "training pauses until there is",
        "nothing was lost",
    ]
    disk.room = False
    journal = JournalWriter(tmp_path / "two", patient=lambda: False, **options)
    journal.append(step(1))
    with pytest.raises(OSError, match="No space left on device"):
        journal.secure()
    with pytest.raises(OSError, match="No space left on device"):
        journal.close(patience=0)
