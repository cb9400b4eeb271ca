"""A journal cut at every byte of its last line can be read, ingested and resumed."""

from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.place import LaunchOptions
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import QueueEntry, read_queue
from clarinet_tui.queue.supervisor import can_retry
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal import read_last_event
from core.events import Event, Finished, Noticed
from tests.support.events import resumed, started, step
from tests.support.histories import content, make_run, open_history, read_row, write_events

LAST_EVENTS: list[Event] = [
    step(4, {"complementary_loss": float("nan"), "lambda": 0.1}),
    Noticed(iteration=3, message="Größe 🎷"),
    Finished(iteration=3, epoch=1, target_accuracy=50.0, source_accuracy=None),
]


@pytest.mark.parametrize("last", LAST_EVENTS, ids=["step", "notice", "finished"])
def test_a_run_can_be_resumed_from_a_journal_cut_at_any_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Event
) -> None:
    monkeypatch.setattr("clarinet_tui.queue.local.ensure_supervisor", lambda runs_dir: None)
    uncut = make_run(tmp_path, "uncut")
    write_events(uncut, [started(), step(1), step(2), step(3), last])
    complete = uncut.journal.read_bytes()
    last_line = complete[:-1].rindex(b"\n") + 1
    second_attempt = [resumed(2), step(3), Finished(iteration=3, epoch=1, target_accuracy=1.0, source_accuracy=None)]
    with open_history(tmp_path) as db:
        for end in range(last_line, len(complete)):
            run = make_run(tmp_path, f"cut{end}")
            run.journal.write_bytes(complete[:end])
            ingest_run(db, run)
            assert (read_row(db, run.id).state, iterations(db, run)) == ("running", [1, 2, 3])
            assert can_continue(run, request_resume=end % 10 == 0)
            write_events(run, second_attempt)
            ingest_run(db, run)
            assert (read_row(db, run.id).state, iterations(db, run)) == ("finished", [1, 2, 3])
            assert db.rows("SELECT 1 FROM events WHERE run = ? AND event = 'damaged'", (run.id,)) == []
        incremental = content(db)
        with Database.open(tmp_path, tmp_path / "rebuilt.db") as rebuilt:
            for run_id in sorted({row["run"] for row in db.rows("SELECT run FROM ingested")}):
                ingest_run(rebuilt, RunDirectory(tmp_path, run_id))
            assert content(rebuilt) == incremental


def can_continue(run: RunDirectory, request_resume: bool) -> bool:
    """Check that the cut event does not count, and return whether the supervisor would retry the run."""
    event = read_last_event(run.journal)
    assert event is None or event["event"] != "finished"
    if request_resume:
        requests.resume([run], LaunchOptions.from_paths(run.runs_dir, run.runs_dir))
        assert run.id in read_queue(run.runs_dir)
    return can_retry(run, QueueEntry(id=run.id, working_directory="", data_dir=""))


def iterations(db: Database, run: RunDirectory) -> list[int]:
    return [row[0] for row in db.tuples("SELECT iteration FROM iterations WHERE run = ? ORDER BY 1", (run.id,))]
