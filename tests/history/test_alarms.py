"""Open alarms in rows and queries, ingested in batches of any size."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.history import journal_batches as batches
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import Alarm, get_run, list_runs, read_open_alarms
from clarinet_tui.history.query_language import QueryError
from clarinet_tui.history.reindex import reindex
from core.events import Alarmed, Event, Finished
from tests.support.events import resumed, started, step
from tests.support.histories import content, make_run, open_history, write_events


def alarm(kind: str, iteration: int, over: bool = False) -> Alarmed:
    return Alarmed(
        kind=kind, message=f"{kind} at {iteration}", advice="" if over else "try", iteration=iteration, over=over
    )


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    with open_history(tmp_path) as opened:
        yield opened


def ingest_kinds(db: Database, tmp_path: Path, *events: Event) -> tuple[str, ...]:
    """Ingest the events, and return the kinds of open alarms, on which row and query must agree."""
    run = make_run(tmp_path)
    write_events(run, events)
    ingest_run(db, run)
    row = get_run(db, run.id)
    assert row is not None
    assert row.alarms == tuple(alarm.kind for alarm in read_open_alarms(db, run.id))
    return row.alarms


def test_alarms_are_raised_cleared_and_raised_again(db: Database, tmp_path: Path) -> None:
    events = [started(), step(1), alarm("ascent", 1), alarm("collapse", 2)]
    assert ingest_kinds(db, tmp_path, *events) == ("ascent", "collapse")
    assert ingest_kinds(db, tmp_path, *events, alarm("ascent", 3, over=True)) == ("collapse",)
    again = [*events, alarm("ascent", 3, over=True), alarm("ascent", 4)]
    assert ingest_kinds(db, tmp_path, *again) == ("collapse", "ascent")
    end = Finished(iteration=5, epoch=1, target_accuracy=None, source_accuracy=None)
    assert ingest_kinds(db, tmp_path, *again, end) == ("collapse", "ascent")
    assert ingest_kinds(db, tmp_path, started()) == ()


def test_a_new_attempt_starts_without_alarms(db: Database, tmp_path: Path) -> None:
    events = [started(), step(1), alarm("ascent", 1), step(2), alarm("collapse", 2)]
    assert ingest_kinds(db, tmp_path, *events, resumed(1)) == ()
    assert ingest_kinds(db, tmp_path, *events, resumed(1), step(2), alarm("collapse", 2)) == ("collapse",)
    assert ingest_kinds(db, tmp_path, *events, started()) == ()


def test_fields_of_an_alarm(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), alarm("collapse", 7)])
    ingest_run(db, run)
    assert read_open_alarms(db, run.id) == [Alarm("collapse", "collapse at 7", "try", 7, 1000.0)]


def test_malformed_alarms_are_read_as_far_as_possible(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started()])
    with run.journal.open("ab") as journal:
        journal.write(b'{"event":"alarm"}\n{"event":"alarm","kind":7}\n{"event":"alarm","kind":"x"}\n')
    ingest_run(db, run)
    assert read_open_alarms(db, run.id) == [Alarm("x", "", "", None, None)]


def test_queries_for_alarms(db: Database, tmp_path: Path) -> None:
    for name, kinds in (("one", ["collapse"]), ("two", ["collapse", "no-progress"]), ("none", [])):
        run = make_run(tmp_path, id=name)
        write_events(run, [started(), *(alarm(kind, 1) for kind in kinds)])
        ingest_run(db, run)

    def matching(query: str) -> set[str]:
        return {row.id for row in list_runs(db, query)}

    assert matching("alarm:collapse") == {"one", "two"}
    assert matching("alarm:no-*") == {"two"}
    assert matching("alarm:*") == {"one", "two"}
    assert matching("alarm!=collapse") == matching("-alarm:*") == {"none"}
    assert matching("alarms:COLLAPSE state:running") == {"one", "two"}
    with pytest.raises(QueryError, match="alarm with one of"):
        matching("alarm>3")


def test_alarms_do_not_depend_on_the_batches(db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1), alarm("ascent", 1), step(2), alarm("ascent", 2, over=True), step(3)])
    write_events(run, [resumed(1), step(2), alarm("collapse", 2), step(3)])
    monkeypatch.setattr(batches, "MAX_ROWS", 1)
    ingest_run(db, run)
    in_batches = content(db)
    monkeypatch.undo()
    reindex(tmp_path)
    assert content(db) == in_batches
