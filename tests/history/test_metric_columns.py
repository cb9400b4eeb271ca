"""Columns of metrics are frozen; metrics added to the catalogue later are stored as well."""

from pathlib import Path

import pytest

from clarinet_tui.history.curves import list_metrics, read_series
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.history.queries import read_evaluations, read_iterations
from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from core.events import Evaluated
from core.metrics import METRICS, Metric
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events

NOT_METRICS = {"seconds", "iteration", "epoch", "adaptation_epoch", "stage", "confusion"}


def test_columns_are_metrics_of_the_catalogue() -> None:
    assert set(ITERATION_COLUMNS) <= {name for name, metric in METRICS.items() if metric.level == "iteration"}
    assert set(EVALUATION_COLUMNS) <= {name for name, metric in METRICS.items() if metric.level == "evaluation"}


def test_catalogue_has_every_metric_of_an_evaluation() -> None:
    measured = {name for name, metric in METRICS.items() if metric.level == "evaluation"}
    assert measured == set(Evaluated.__struct_fields__) - NOT_METRICS


def test_metric_new_in_the_catalogue_fits_into_an_existing_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = open_history(tmp_path)
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
