"""Ingest: each line exactly once in batches of any size, superseded rows, damaged lines."""

import math
import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.history import journal_batches as batches
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import delete_run, ingest_all, ingest_run
from clarinet_tui.history.queries import get_run, read_evaluations, read_events, read_iterations
from clarinet_tui.history.reindex import reindex
from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note
from clarinet_tui.runs.environment import write_environment
from core.events import Event, Failed, Finished, Noticed, PseudoLabelled, StageStarted, Stopped
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import content, ingest, make_run, open_history, read_row, record_run, write_events


def test_a_run_from_start_to_end(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path, seed=3, name="mine")
    row = ingest(db, run)
    assert (row.state, row.method, row.seed, row.name, row.iteration) == ("queued", "clarinet", 3, "mine", None)
    write_environment(run, run.read_config(), device="cuda:1")
    stage = StageStarted(stage="clarinet", index=1, iteration=0, epoch=0)
    row = ingest(db, run, started(device="cuda:1", notes=["made"]), stage)
    assert (row.state, row.device, row.stage, row.notes) == ("running", "cuda:1", "clarinet", ("made",))
    assert row.started == 1000.0
    assert row.host
    write_events(run, [step(1), step(2), evaluation(2, 88.5, source_accuracy=90.0), step(3)])
    row = ingest(db, run, Finished(iteration=3, epoch=1, target_accuracy=88.5, source_accuracy=90.0, seconds=9.0))
    assert (row.state, row.iteration, row.target_accuracy, row.source_accuracy) == ("finished", 3, 88.5, 90.0)
    assert (row.ended, row.seconds, row.epochs_total, row.iterations_total) == (1000.0, 9.0, 10, 1000)


def test_a_failure_is_stored_and_cleared_by_a_resume(db: Database) -> None:
    failed = Failed(iteration=2, message="loss is nan", terms={"mmd": math.nan})
    run = record_run(db, started(), step(1), step(2), failed)
    row = read_row(db, run.id)
    assert (row.state, row.error) == ("failed", "loss is nan")
    fields = db.rows("SELECT fields FROM events WHERE event = 'failed'")[0]["fields"]
    assert msgspec.json.decode(fields)["terms"] == {"mmd": "nan"}
    row = ingest(db, run, resumed(1), step(2))
    assert (row.state, row.error, row.ended, row.iteration) == ("running", None, None, 2)
    events = db.tuples("SELECT event, superseded FROM events ORDER BY position")
    assert events == [("started", 0), ("failed", 1), ("resumed", 0)]


def test_pseudo_label_accuracy_is_stored_before_an_evaluation(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path, method="gac+dann")
    labelled = PseudoLabelled(iteration=5, label_hash="x", accuracy=71.5, given=True, labels=[1, 2])
    stage = StageStarted(stage="dann", index=2, iteration=5, epoch=3)
    row = ingest(db, run, started(method="gac+dann"), labelled, stage)
    assert (row.family, row.pseudo_label_accuracy, row.stage, row.epoch) == ("two-step", 71.5, "dann", 3)
    row = ingest(db, run, step(6), step(7))
    assert (row.iteration, row.iterations_given) == (7, 5)


def test_nan_is_kept(db: Database) -> None:
    not_finite = {"mmd": math.nan, "entropy": math.inf, "own": 3.0, "bad": -math.inf}
    evaluated = evaluation(2, math.nan, confusion=[[1, 2], [3, 4]], target_loss=math.inf)
    run = record_run(db, step(1, not_finite), step(2, {"mmd": 1.0}), evaluated)
    row = db.rows("SELECT mmd, entropy, other FROM iterations WHERE iteration = 1")[0]
    assert (row["mmd"], row["entropy"]) == (None, None)
    assert msgspec.json.decode(row["other"]) == {"mmd": "nan", "entropy": "inf", "own": 3, "bad": "-inf"}
    first, second = read_iterations(db, run.id)
    assert math.isnan(first["mmd"])
    assert (first["bad"], first["own"], second["mmd"]) == (-math.inf, 3, 1)
    assert "entropy" not in second
    assert [row["iteration"] for row in read_iterations(db, run.id, start=2, stop=3)] == [2]
    (last,) = read_evaluations(db, run.id)
    assert math.isnan(last["target_accuracy"])
    assert (last["target_loss"], last["confusion"]) == (math.inf, [[1, 2], [3, 4]])
    missing = {row["metric"]: row["missing"] for row in db.rows("SELECT * FROM rollups WHERE level = 4")}
    assert missing == {"mmd": 1, "entropy": 1, "own": 0, "bad": 1}


def test_a_new_start_supersedes_everything(db: Database) -> None:
    run = record_run(db, started(), step(1), step(2), evaluation(2, 99.0), resumed(2), step(3))
    row = ingest(db, run, started(), step(1))
    assert [row["iteration"] for row in db.rows("SELECT iteration FROM iterations")] == [1]
    assert (row.target_accuracy, row.seconds) == (None, 1 / 64)


def test_a_damaged_line_is_an_event_with_its_number(db: Database) -> None:
    run = record_run(db, started(), step(1))
    with run.journal.open("ab") as file:
        file.write(b'[2,0,null,"clarinet",0.1,"n\\u0061n"]\n{"event": "no\n')
    ingest_run(db, run)
    ingest(db, run, step(3))
    rows = db.tuples("SELECT iteration, complementary_loss, other FROM iterations ORDER BY iteration")
    assert rows == [(1, 0.25, None), (2, None, '{"complementary_loss":"nan"}'), (3, 0.75, None)]
    damaged = db.rows("SELECT message FROM events WHERE event = 'damaged'")
    assert [row["message"] for row in damaged] == ["line 5 cannot be read and was skipped: Input data was truncated"]


@pytest.mark.parametrize("together", [True, False])
def test_a_torn_line_before_a_new_attempt_is_not_damage(db: Database, together: bool) -> None:
    run = record_run(db, started(), step(1))
    with run.journal.open("ab") as file:
        file.write(b"[2,0,nul\n" if not together else b"[2,0,nul")
    ingest_run(db, run)
    ingest(db, run, resumed(1), step(2))
    assert not db.rows("SELECT * FROM events WHERE event = 'damaged'")


def test_tags_and_notes(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    add_tag(run, "icml")
    add_tag(run, "O'Brien;--")
    ingest_run(db, run)
    remove_tag(run, "icml")
    set_note(run, "first")
    set_note(run, "[b]second[/b]\x1b[2J")
    row = ingest(db, run)
    assert (row.tags, row.note) == (("O'Brien;--",), "[b]second[/b]\x1b[2J")
    set_note(run, "")
    ingest_run(db, run)
    assert db.rows("SELECT * FROM notes") == []


def test_a_deleted_run_is_removed_and_a_replaced_one_ingested_again(db: Database, tmp_path: Path) -> None:
    run, other = make_run(tmp_path), make_run(tmp_path)
    write_events(run, [started(), *map(step, range(1, 50))])
    write_events(other, [started(), step(1)])
    ingest_all(db, tmp_path)
    run.journal.unlink()
    write_events(run, [started(), step(1), evaluation(1)])
    other.path.rename(tmp_path / ".trash")
    ingest_all(db, tmp_path)
    assert [row["id"] for row in db.rows("SELECT id FROM runs")] == [run.id]
    assert [row["iteration"] for row in db.rows("SELECT iteration FROM iterations")] == [1]
    delete_run(db, run.id)
    assert all(not rows for rows in content(db).values())


@pytest.mark.parametrize("length", [20, 60, 49])
def test_a_run_replaced_by_another_of_the_same_id_is_ingested_again(db: Database, tmp_path: Path, length: int) -> None:
    """Copied again with a journal that is shorter, longer, or of the same size: no old row stays."""
    run = make_run(tmp_path)
    write_events(run, [started(), *(step(number, {"mmd": 1.0}) for number in range(1, 50))])
    add_tag(run, "old")
    ingest_all(db, tmp_path)
    changed = run.journal.stat().st_mtime + 10
    run.journal.unlink()
    run.annotations.unlink()
    add_tag(run, "new")
    write_events(run, [started(), *(step(number, {"mmd": 2.0}) for number in range(1, length + 1))])
    os.utime(run.journal, (changed, changed))
    ingest_all(db, tmp_path)
    assert db.tuples("SELECT count(*), min(mmd), max(mmd) FROM iterations") == [(length, 2.0, 2.0)]
    assert db.tuples("SELECT tag FROM tags") == [("new",)]


def test_unreadable_settings_do_not_hide_a_run_and_are_stored_when_they_can_be_read(
    db: Database, tmp_path: Path
) -> None:
    run = make_run(tmp_path)
    settings = run.config.read_bytes()
    run.config.write_text("epochs = 'ten'")
    assert "epochs: expected an integer" in (ingest(db, run).error or "")
    run.config.write_bytes(settings)
    write_events(run, [started(), step(1)])
    ingest_all(db, tmp_path)
    reindex(tmp_path, path=tmp_path / "rebuilt.db")
    with Database.open(tmp_path, tmp_path / "rebuilt.db") as rebuilt:
        assert content(rebuilt)["configs"] == content(db)["configs"]


def test_a_run_that_is_removed_while_it_is_read_is_not_inserted(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started()])
    run.path.rename(tmp_path / "removed")
    assert ingest_run(db, run) == 0
    assert get_run(db, run.id) is None


def test_the_time_limit_ends_between_batches(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MAX_ROWS", 10)
    run = make_run(tmp_path)
    write_events(run, map(step, range(1, 101)))
    assert ingest_run(db, run, limit_seconds=0.0) == 11  # the creation time, and ten lines
    assert ingest_run(db, run) == 90


class Journal:
    """A model of a run: the valid rows after killed and resumed attempts."""

    def __init__(self) -> None:
        self.steps: dict[int, float] = {}
        self.evaluations: dict[int, float] = {}

    def attempt(self, begin: int, count: int, start: Any) -> list[Event]:
        self.steps = {at: value for at, value in self.steps.items() if at <= begin}
        self.evaluations = {at: value for at, value in self.evaluations.items() if at <= begin}
        events: list[Event] = [start]
        for at in range(begin + 1, begin + count + 1):
            value = float(at * 7 % 31) if at % 13 else math.nan
            self.steps[at] = value
            events.append(step(at, {"mmd": value, "own": at / 8}))
            if at % 20 == 0:
                self.evaluations[at] = float(at)
                events.append(evaluation(at, float(at)))
        return events


ATTEMPTS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 150), st.booleans(), st.integers(1, 30)), min_size=1, max_size=5
)


@settings(max_examples=30)
@given(ATTEMPTS, st.lists(st.floats(0, 1), max_size=6), st.integers(1, 60))
def test_any_batches_give_the_same_history(attempts: Any, cuts: list[float], max_rows: int) -> None:
    model = Journal()
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        runs = Path(folder)
        run = make_run(runs)
        for number, (where, count, torn, cut) in enumerate(attempts):
            last = max(model.steps, default=0)
            begin = int(where * last) if number else 0
            write_events(run, model.attempt(begin, count, resumed(begin) if number else started()))
            if torn and number < len(attempts) - 1:
                size = run.journal.stat().st_size
                with run.journal.open("r+b") as file:
                    file.truncate(max(0, size - cut))
                kept = _last_complete_step(run.journal.read_bytes())
                model.steps = {at: value for at, value in model.steps.items() if at <= kept}
        whole = run.journal.read_bytes()
        patch.setattr(batches, "MAX_ROWS", max_rows)
        db = open_history(runs)
        for piece in sorted(cuts):
            run.journal.write_bytes(whole[: int(piece * len(whole))])
            ingest_run(db, run)
        run.journal.write_bytes(whole)
        ingest_run(db, run)
        assert ingest_run(db, run) == 0
        grown = content(db)
        patch.setattr(batches, "MAX_ROWS", 10**6)
        reindex(runs)
        assert content(db) == grown
        rows = {row["iteration"]: row["mmd"] for row in db.rows("SELECT iteration, mmd FROM iterations")}
        assert rows == {at: None if math.isnan(value) else value for at, value in model.steps.items()}
        accuracies = {row["iteration"]: row["target_accuracy"] for row in read_evaluations(db, run.id)}
        assert accuracies.items() <= model.evaluations.items()
        db.close()


def _last_complete_step(content: bytes) -> int:
    """Return the last complete iteration of a torn journal."""
    last = 0
    for line in content.split(b"\n"):
        if line.startswith(b"[") and line.endswith(b"]"):
            last = msgspec.json.decode(line)[0]
        elif line.startswith(b'{"seconds') and b'"resumed"' in line and line.endswith(b"}"):
            last = msgspec.json.decode(line)["from_iteration"]
    return last


def test_notices_and_stops_are_events(db: Database) -> None:
    run = record_run(db, started(), Noticed(iteration=1, message="\x1b[31mred"), Stopped(iteration=1))
    assert read_row(db, run.id).state == "stopped"
    events = [(event["event"], event.get("message"), event["superseded"]) for event in read_events(db, run.id)]
    assert events == [("started", None, False), ("notice", "\x1b[31mred", False), ("stopped", None, False)]
