"""States with real processes, other machines and clocks that jump."""

import os
import time
from multiprocessing.synchronize import Event
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import get_run
from clarinet_tui.history.states import refresh_states, update_history
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.lock import current_process
from core.events import Finished
from tests.support.events import resumed, started, step
from tests.support.forked_python import forkserver
from tests.support.histories import ingest, make_run, open_history, read_row, record_run, write_events, write_lock

TIMEOUT = 60.0


def work(runs_dir: Path, run_id: str, held: Event, go_on: Event, written: Event) -> None:
    """Hold a run's lock, and write its first events when told to; then wait to be killed."""
    run = RunDirectory(runs_dir, run_id)
    with run.hold_lock():
        held.set()
        go_on.wait()
        with JournalWriter(run.journal) as journal:
            journal.append(started())
            journal.append(step(1))
            journal.sync()
            written.set()
            time.sleep(600)


def state(db: Database, run: RunDirectory) -> str:
    return read_row(db, run.id).state


def test_queued_starting_running_lost_and_running_again(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    ingest_all(db, tmp_path)
    assert refresh_states(db, tmp_path) == 0
    assert state(db, run) == "queued"
    held, go_on, written = forkserver.Event(), forkserver.Event(), forkserver.Event()
    worker = forkserver.Process(target=work, args=(tmp_path, run.id, held, go_on, written))
    worker.start()
    assert held.wait(TIMEOUT)
    assert refresh_states(db, tmp_path) == 1
    assert state(db, run) == "starting"
    go_on.set()
    assert written.wait(TIMEOUT)
    ingest_all(db, tmp_path)
    assert state(db, run) == "running"
    assert refresh_states(db, tmp_path) == 0
    worker.kill()
    worker.join()
    assert refresh_states(db, tmp_path) == 1
    assert state(db, run) == "lost"
    assert refresh_states(db, tmp_path) == 0
    with run.hold_lock():
        refresh_states(db, tmp_path)
        assert state(db, run) == "starting"
        write_events(run, [resumed(0), step(1)])
        os.utime(run.journal, (time.time(), time.time()))  # the kernel's own stamp lags by up to a tick
        ingest_all(db, tmp_path)
        assert state(db, run) == "running"
        assert refresh_states(db, tmp_path) == 0


def test_the_history_is_updated_with_or_without_states(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_lock(run, start=1.0)
    write_events(run, [started(), step(1)])
    with open_history(tmp_path) as db:
        update_history(db, tmp_path, first=[run.id], states=False)
        assert (state(db, run), get_run(db, run.id).iteration) == ("running", 1)  # type: ignore[union-attr]
        update_history(db, tmp_path)
        assert state(db, run) == "lost"


def test_last_lines_are_ingested_before_a_run_is_lost(db: Database, tmp_path: Path) -> None:
    run = record_run(db, started(), step(1))
    write_lock(run, start=-1.0)
    write_events(run, [Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert refresh_states(db, tmp_path) == 0
    assert state(db, run) == "finished"


@pytest.mark.parametrize(
    ("changes", "machine", "expected"),
    [
        ({"pid": os.getpid(), "start": current_process().start - 5}, "m", "lost"),
        ({"boot": "before"}, "m", "lost"),
        ({"boot": "before"}, "", "running"),
    ],
    ids=["reused pid", "restarted machine", "another machine of the same name"],
)
def test_a_process_of_an_earlier_time_is_lost(
    db: Database, tmp_path: Path, changes: dict[str, object], machine: str, expected: str
) -> None:
    run = record_run(db, started())
    write_lock(run, machine=machine, **changes)
    refresh_states(db, tmp_path, here=msgspec.structs.replace(current_process(), machine=machine))
    assert state(db, run) == expected


def test_runs_of_other_hosts_are_silent_and_never_lost(db: Database, tmp_path: Path) -> None:
    run = record_run(db, started())
    write_lock(run, host="gpu1", boot="another")
    refresh_states(db, tmp_path)
    assert state(db, run) == "running"
    later = time.time() + 601
    refresh_states(db, tmp_path, now=lambda: later)
    assert state(db, run) == "silent"
    refresh_states(db, tmp_path, now=lambda: later - 10**6)  # the clock jumped back
    assert state(db, run) == "running"
    refresh_states(db, tmp_path, now=lambda: later)
    ingest(db, run, step(1))
    assert state(db, run) == "running"


def test_a_worker_that_was_refused_leaves_its_run_waiting(db: Database, tmp_path: Path) -> None:
    run = record_run(db)
    with run.hold_lock():
        pass
    assert refresh_states(db, tmp_path) == 0
    assert state(db, run) == "queued"
    write_lock(run, start=-1.0)
    refresh_states(db, tmp_path)
    assert state(db, run) == "lost"


def test_a_state_that_changed_meanwhile_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    write_events(run, [started()])
    db, other = open_history(tmp_path), open_history(tmp_path)
    ingest_run(db, run)
    write_lock(run, start=-1.0)

    def change_first(db: Database, run: RunDirectory) -> int:
        write_events(run, [Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
        return ingest_run(other, run)

    monkeypatch.setattr("clarinet_tui.history.states.ingest_run", change_first)
    assert refresh_states(db, tmp_path) == 0
    assert state(db, run) == "finished"
