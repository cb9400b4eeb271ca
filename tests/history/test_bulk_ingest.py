"""Many new runs are ingested by several processes, with the same result as by one."""

import sys
from pathlib import Path

import pytest

from clarinet_tui.history import ingest as ingesting
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import Part, build_part, ingest_all, ingest_run, merge
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import content, make_run, write_events

RUNS = 7


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Runs with resumed attempts, tags and a damaged line, of which several processes ingest two at a time."""
    monkeypatch.setattr(ingesting, "PART_RUNS", 2)
    monkeypatch.setattr(ingesting, "MIN_RUNS", 4)
    monkeypatch.setattr(ingesting, "MIN_BYTES", 1)
    monkeypatch.setattr(ingesting, "process_count", lambda: 2)
    for number in range(RUNS):
        run = make_run(tmp_path, f"run{number}", seed=number)
        write_events(run, [started(), *map(step, range(1, 80 + number)), evaluation(40, 50.0)])
        write_events(run, [resumed(40), *map(step, range(41, 70))])
        add_tag(run, f"tag{number}")
    (tmp_path / "run3" / "journal.jsonl").open("ab").write(b"damaged\n")
    return tmp_path


def ingest(runs: Path, name: str) -> tuple[dict[str, list[tuple[object, ...]]], list[tuple[int, int]], int]:
    """Ingest all runs into a new database; return its content, the progress and the number of rows."""
    progress: list[tuple[int, int]] = []
    with Database.open(runs, runs / name) as db:
        count = ingest_all(db, runs, lambda done, total: progress.append((done, total)))
        assert db.rows("PRAGMA foreign_keys")[0][0] == 1
        assert ingest_all(db, runs) == 0
        return content(db), progress, count


def ingest_alone(runs: Path, name: str = "alone.db") -> dict[str, list[tuple[object, ...]]]:
    with Database.open(runs, runs / name) as db:
        for number in range(RUNS):
            ingest_run(db, RunDirectory(runs, f"run{number}"))
        return content(db)


def test_several_processes_give_the_same_history(runs: Path) -> None:
    together, progress, count = ingest(runs, "together.db")
    assert together == ingest_alone(runs)
    assert len(progress) == 5, "after each of four parts, and at the end"
    assert progress == sorted(progress)
    assert progress[-1] == (RUNS, RUNS)
    assert count >= sum(len(together[table]) for table in ("iterations", "evaluations"))
    assert [path for path in runs.iterdir() if path.is_dir() and not path.name.startswith("run")] == []


def test_runs_whose_process_fails_are_ingested_by_this_one(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    together, progress, _ = ingest(runs, "together.db")
    assert progress == [(done, RUNS) for done in range(RUNS + 1)]
    assert together == ingest_alone(runs)


def test_a_run_that_was_ingested_meanwhile_is_not_merged_again(runs: Path, tmp_path: Path) -> None:
    part = Part(str(tmp_path / "part.db"), ["run1", "run2"])
    build_part(runs, part)
    with Database.open(runs) as db:
        ingest_run(db, RunDirectory(runs, "run1"))
        before = db.tuples("SELECT * FROM iterations WHERE run = 'run1'")
        merge(db, Path(part.path))
        assert db.tuples("SELECT * FROM iterations WHERE run = 'run1'") == before
        assert merge(db, Path(part.path)) == 0
        assert {row[0] for row in db.tuples("SELECT run FROM ingested")} == {"run1", "run2"}
