"""What is read of runs: metrics and their summaries, open alarms, and the time left."""

import math
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history import journal_batches as batches
from clarinet_tui.history.curves import list_metrics, read_series
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.history.queries import (
    Alarm,
    MetricSummary,
    list_runs,
    read_evaluations,
    read_iterations,
    read_open_alarms,
    summarize_metric,
    varied_settings,
)
from clarinet_tui.history.query_language import QueryError
from clarinet_tui.history.reindex import reindex
from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from core.errors import InputError
from core.events import Alarmed, Evaluated, Event, Finished, PseudoLabelled
from core.metrics import METRICS, Metric
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import content, make_run, open_history, read_row, record_run, write_events

METRIC_LEVELS = ("iteration", "evaluation")
NOT_METRICS = {"seconds", "iteration", "epoch", "adaptation_epoch", "stage", "confusion"}


def test_columns_and_the_fields_of_an_evaluation_are_metrics_of_the_catalogue() -> None:
    levels = {level: {name for name, metric in METRICS.items() if metric.level == level} for level in METRIC_LEVELS}
    assert set(ITERATION_COLUMNS) <= levels["iteration"]
    assert set(EVALUATION_COLUMNS) <= levels["evaluation"] == set(Evaluated.__struct_fields__) - NOT_METRICS


def test_varied_settings_are_those_that_differ_within_a_method_task_and_preset(db: Database, tmp_path: Path) -> None:
    varied: dict[str, dict[str, Any]] = {
        "aaa1": {"classifier_rate": 0.03, "seed": 1},
        "aaa2": {"classifier_rate": 0.01, "seed": 2, "stage1": {"epochs": 4}},
        "bbb1": {"method": "gac+dan", "batch_size": 32},
        "ccc1": {"task": "M->U", "epochs": 9},
    }
    for id_, settings in varied.items():
        make_run(tmp_path, id_, **settings)
    ingest_all(db, tmp_path)
    assert varied_settings(list_runs(db)) == ["classifier_rate", "stage1.epochs"]
    assert varied_settings(list_runs(db, "seed:1")) == []


def test_runs_are_sorted_by_a_setting(db: Database, tmp_path: Path) -> None:
    for id_, epochs in (("aaa1", 2), ("aaa2", 10), ("aaa3", 9)):
        make_run(tmp_path, id_, epochs=3, stage1={"epochs": epochs})
    ingest_all(db, tmp_path)
    assert [row.id for row in list_runs(db, sort="stage1.epochs")] == ["aaa2", "aaa3", "aaa1"]
    with pytest.raises(InputError, match=r"sort: expected one of .* or a setting"):
        list_runs(db, sort="stage1.epochs; DROP TABLE runs")


def test_metric_new_in_the_catalogue_fits_into_an_existing_database(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, level in (("novelty", "iteration"), ("calibration", "evaluation")):
        metric = Metric(name=name, title=name, label=name, description=name, kind="diagnostic", level=level)  # type: ignore[arg-type]
        monkeypatch.setitem(METRICS, name, metric)
    run = make_run(tmp_path)
    write_events(
        run, [started(), step(1, {"complementary_loss": 0.5, "novelty": 2.0}), evaluation(1, 50), evaluation(2, 51)]
    )
    journal = run.journal.read_bytes()
    journal = journal.replace(b'"target_accuracy":50,', b'"target_accuracy":50,"calibration":0.25,')
    run.journal.write_bytes(journal.replace(b'"target_accuracy":51,', b'"target_accuracy":51,"calibration":"nan",'))
    ingest_all(db, tmp_path)
    assert list_metrics(db, run.id) == ["complementary_loss", "novelty", "target_accuracy", "calibration"]
    assert [row["novelty"] for row in read_iterations(db, run.id)] == [2.0]
    assert read_evaluations(db, run.id)[0]["calibration"] == 0.25
    assert read_series(db, run.id, "novelty").mean.tolist() == [2.0]
    points = read_series(db, run.id, "calibration")
    assert (points.x.tolist(), points.mean[0], points.missing.tolist()) == ([1.0, 2.0], 0.25, [0, 1])


@pytest.mark.parametrize("last", [1, 31, 32, 33, 100, 131, 700])
def test_last_mean_and_extremes(db: Database, last: int) -> None:
    values = [math.sin(n) for n in range(1, last + 1)]
    # The metric ends long before the run does, as those of stage 1.
    later = [step(n, {"other": 0.0}) for n in range(last + 1, last + 500)]
    run = record_run(db, *(step(n, {"mine": value}) for n, value in enumerate(values, 1)), *later)
    summary = summarize_metric(db, run.id, "mine")
    recent = values[-100:]
    assert summary is not None
    assert summary.last == pytest.approx(values[-1], abs=1e-8)
    assert summary.mean == pytest.approx(sum(recent) / len(recent), abs=1e-8)
    assert (summary.minimum, summary.maximum) == pytest.approx((min(values), max(values)), abs=1e-8)


def test_nan_counts_as_last_and_mean_but_not_as_extreme(db: Database) -> None:
    run = record_run(db, step(1, {"a": 1.0, "b": math.inf}), step(2, {"a": math.nan, "b": math.nan}))
    a, b = (repr(summarize_metric(db, run.id, metric)) for metric in ("a", "b"))
    assert a == "MetricSummary(last=nan, mean=nan, minimum=1.0, maximum=1.0, missing=1)"
    assert b == "MetricSummary(last=nan, mean=nan, minimum=None, maximum=None, missing=2)"


def test_a_range_and_a_metric_without_values(db: Database) -> None:
    run = record_run(db, *(step(n, {"a": float(n)}) for n in range(1, 301)))
    assert summarize_metric(db, run.id, "a", start=50, stop=60) == MetricSummary(59.0, 54.5, 50.0, 59.0, 0)
    assert summarize_metric(db, run.id, "none") is None
    assert summarize_metric(db, run.id, "a", start=1000) is None


def alarm(kind: str, iteration: int, over: bool = False) -> Alarmed:
    return Alarmed(
        kind=kind, message=f"{kind} at {iteration}", advice="" if over else "try", iteration=iteration, over=over
    )


def ingest_kinds(db: Database, *events: Event) -> tuple[str, ...]:
    """Ingest the events, and return the kinds of open alarms, on which row and query must agree."""
    run = record_run(db, *events)
    row = read_row(db, run.id)
    assert row.alarms == tuple(alarm.kind for alarm in read_open_alarms(db, run.id))
    return row.alarms


def test_alarms_are_raised_cleared_and_raised_again(db: Database) -> None:
    events = [started(), step(1), alarm("ascent", 1), alarm("collapse", 2)]
    assert ingest_kinds(db, *events) == ("ascent", "collapse")
    assert ingest_kinds(db, *events, alarm("ascent", 3, over=True)) == ("collapse",)
    again = [*events, alarm("ascent", 3, over=True), alarm("ascent", 4)]
    assert ingest_kinds(db, *again) == ("collapse", "ascent")
    end = Finished(iteration=5, epoch=1, target_accuracy=None, source_accuracy=None)
    assert ingest_kinds(db, *again, end) == ("collapse", "ascent")
    assert ingest_kinds(db, started()) == ()


def test_a_new_attempt_starts_without_alarms(db: Database) -> None:
    events = [started(), step(1), alarm("ascent", 1), step(2), alarm("collapse", 2)]
    assert ingest_kinds(db, *events, resumed(1)) == ()
    assert ingest_kinds(db, *events, resumed(1), step(2), alarm("collapse", 2)) == ("collapse",)
    assert ingest_kinds(db, *events, started()) == ()


def test_alarms_are_read_as_far_as_possible(db: Database, tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), alarm("collapse", 7)])
    with run.journal.open("ab") as journal:
        journal.write(b'{"event":"alarm"}\n{"event":"alarm","kind":7}\n{"event":"alarm","kind":"x"}\n')
    ingest_run(db, run)
    known, damaged = read_open_alarms(db, run.id)
    assert known == Alarm("collapse", "collapse at 7", "try", 7, 1000.0)
    assert damaged == Alarm("x", "", "", None, None)


def test_queries_for_alarms(db: Database) -> None:
    for name, kinds in (("one", ["collapse"]), ("two", ["collapse", "no-progress"]), ("none", [])):
        record_run(db, started(), *(alarm(kind, 1) for kind in kinds), id=name)

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


TOTAL, WARMUP = 100, 50
FAST, SLOW = 1.0, 4.0
"""Seconds of an iteration of warm-up and of adaptation."""


def make_steps(first: int, last: int, method: str, speed: float) -> list[Event]:
    """Return the iterations of a run, with `speed` as the factor of their seconds; the clock starts with the first."""
    paid = [FAST if iteration <= WARMUP else SLOW for iteration in range(first, last + 1)]
    steps = [step(first + n, seconds=speed * sum(paid[: n + 1])) for n in range(len(paid))]
    return [started(method=method, iterations_total=TOTAL), *steps]


def run(
    folder: Path, name: str, *, first: int = 1, last: int = TOTAL, method: str = "clarinet", speed: float = 1.0
) -> None:
    events = make_steps(first, last, method, speed)
    if first > 1:
        labelled = PseudoLabelled(iteration=first - 1, label_hash="x", accuracy=None, given=True, labels=[1])
        events.insert(1, labelled)
    if last == TOTAL:
        seconds = getattr(events[-1], "seconds", 0.0)
        events.append(Finished(iteration=TOTAL, epoch=10, target_accuracy=50.0, source_accuracy=50.0, seconds=seconds))
    write_events(make_run(folder, name, method=method), events)


def time_left(folder: Path, name: str) -> float | None:
    db = open_history(folder)
    ingest_all(db, folder)
    with db.transaction() as connection:  # these runs have no process
        connection.execute("UPDATE runs SET state = journal_state")
    (listed,) = (row for row in list_runs(db) if row.id == name)
    row = read_row(db, name)
    assert row.seconds_left == listed.seconds_left
    return row.seconds_left


@pytest.mark.parametrize(
    ("others", "speed", "expected"),
    [
        ({}, 1.0, 75 * FAST),  # its own pace
        ({"done": "clarinet"}, 2.0, 2 * (25 * FAST + 50 * SLOW)),  # the rest of a similar run, at its own speed
        ({"other": "clarinet-no-t"}, 1.0, 75 * FAST),
    ],
    ids=["alone", "similar", "another kind"],
)
def test_the_time_left_is_that_of_a_similar_run(
    tmp_path: Path, others: dict[str, str], speed: float, expected: float
) -> None:
    for name, method in others.items():
        run(tmp_path, name, method=method)
    run(tmp_path, "going", last=25, speed=speed)
    assert time_left(tmp_path, "going") == pytest.approx(expected)


def test_a_shared_stage_1_takes_no_time(tmp_path: Path) -> None:
    run(tmp_path, "going", first=41, last=50, method="gac+dann", speed=2.0)
    assert time_left(tmp_path, "going") == pytest.approx(2 * 50 * FAST)
    run(tmp_path, "paid", method="gac+dann")  # made its own stage 1
    assert time_left(tmp_path, "going") == pytest.approx(2 * 50 * SLOW)


def test_a_run_with_a_shared_stage_1_is_not_similar_to_one_without(tmp_path: Path) -> None:
    run(tmp_path, "given", first=41, method="gac+dann")
    run(tmp_path, "going", last=60, method="gac+dann")
    assert time_left(tmp_path, "going") == pytest.approx(40 * (50 * FAST + 10 * SLOW) / 60)
    run(tmp_path, "labelled", first=41, last=40, method="gac+dann")
    assert time_left(tmp_path, "labelled") is None, "it has no iterations yet"
    assert time_left(tmp_path, "given") is None, "it has finished"
