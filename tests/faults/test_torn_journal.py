"""A journal cut at every byte of its last line: readers, the history, and whoever wants to go on with the run."""

from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import Entry, read_queue
from clarinet_tui.queue.worker_exit import tries_again
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import Damaged, last_word, read
from core.events import Event, Finished, Noticed
from tests.support.events import resumed, started, step
from tests.support.histories import content, history, make_run, say

LAST: list[Event] = [
    step(4, {"complementary_loss": float("nan"), "lambda": 0.1}),
    Noticed(iteration=3, message="Größe 🎷"),
    Finished(iteration=3, epoch=1, target_accuracy=50.0, source_accuracy=None),
]


@pytest.mark.parametrize("last", LAST, ids=["step", "notice", "finished"])
def test_cut_at_every_byte_of_the_last_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Event) -> None:
    monkeypatch.setattr(requests, "ensure_supervisor", lambda runs_dir: None)
    uncut = make_run(tmp_path, "uncut")
    say(uncut, [started(), step(1), step(2), step(3), last])
    whole = uncut.journal.read_bytes()
    begins = whole[:-1].rindex(b"\n") + 1
    goes_on = [resumed(2), step(3), Finished(iteration=3, epoch=1, target_accuracy=1.0, source_accuracy=None)]
    with history(tmp_path) as db:
        for end in range(begins, len(whole)):
            run = make_run(tmp_path, f"cut{end}")
            run.journal.write_bytes(whole[:end])
            assert not [item for item in read(run.journal) if isinstance(item, Damaged)]
            ingest_run(db, run)
            assert (state(db, run), iterations(db, run)) == ("running", [1, 2, 3])
            assert may_go_on(run, asked=end % 10 == 0)
            say(run, goes_on)
            ingest_run(db, run)
            assert (state(db, run), iterations(db, run)) == ("finished", [1, 2, 3])
            assert db.rows("SELECT 1 FROM events WHERE run = ? AND event = 'damaged'", (run.id,)) == []
        grown = content(db)
        with Database.open(tmp_path, tmp_path / "anew.db") as anew:
            for run_id in sorted({row["run"] for row in db.rows("SELECT run FROM ingested")}):
                ingest_run(anew, RunDirectory(tmp_path, run_id))
            assert content(anew) == grown


def may_go_on(run: RunDirectory, asked: bool) -> bool:
    """A last word that was cut was not said."""
    word = last_word(run.journal)
    assert word is None or word["event"] != "finished"
    if asked:
        requests.resume([run], requests.Wishes(run.runs_dir, run.runs_dir))
        assert run.id in read_queue(run.runs_dir)
    return tries_again(run, Entry(id=run.id, folder="", data_dir=""))


def state(db: Database, run: RunDirectory) -> str:
    found: str = db.rows("SELECT state FROM runs WHERE id = ?", (run.id,))[0][0]
    return found


def iterations(db: Database, run: RunDirectory) -> list[int]:
    return [row[0] for row in db.tuples("SELECT iteration FROM iterations WHERE run = ? ORDER BY 1", (run.id,))]
