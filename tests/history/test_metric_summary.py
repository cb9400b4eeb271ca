"""Metric summaries against a plain computation."""

import math
from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.queries import MetricSummary, summarize_metric
from tests.support.events import step
from tests.support.histories import make_run, open_history, write_events


@pytest.mark.parametrize("last", [1, 31, 32, 33, 100, 131, 700])
def test_last_mean_and_extremes(tmp_path: Path, last: int) -> None:
    values = [math.sin(n) for n in range(1, last + 1)]
    run, db = make_run(tmp_path), open_history(tmp_path)
    # The metric ends long before the run does, as those of stage 1.
    later = [step(n, {"other": 0.0}) for n in range(last + 1, last + 500)]
    write_events(run, [*(step(n, {"mine": value}) for n, value in enumerate(values, 1)), *later])
    ingest_run(db, run)
    summary = summarize_metric(db, run.id, "mine")
    recent = values[-100:]
    assert summary is not None
    assert summary.last == pytest.approx(values[-1], abs=1e-8)
    assert summary.mean == pytest.approx(sum(recent) / len(recent), abs=1e-8)
    assert (summary.minimum, summary.maximum) == pytest.approx((min(values), max(values)), abs=1e-8)


def test_nan_counts_as_last_and_mean_but_not_as_extreme(tmp_path: Path) -> None:
    run, db = make_run(tmp_path), open_history(tmp_path)
    write_events(run, [step(1, {"a": 1.0, "b": math.inf}), step(2, {"a": math.nan, "b": math.nan})])
    ingest_run(db, run)
    a, b = summarize_metric(db, run.id, "a"), summarize_metric(db, run.id, "b")
    assert a is not None
    assert b is not None
    assert a.last is not None
    assert a.mean is not None
    assert math.isnan(a.last)
    assert math.isnan(a.mean)
    assert (a.minimum, a.maximum, a.missing) == (1.0, 1.0, 1)
    assert (b.minimum, b.maximum, b.missing) == (None, None, 2)


def test_a_range_and_a_metric_without_values(tmp_path: Path) -> None:
    run, db = make_run(tmp_path), open_history(tmp_path)
    write_events(run, [step(n, {"a": float(n)}) for n in range(1, 301)])
    ingest_run(db, run)
    assert summarize_metric(db, run.id, "a", start=50, stop=60) == MetricSummary(59.0, 54.5, 50.0, 59.0, 0)
    assert summarize_metric(db, run.id, "none") is None
    assert summarize_metric(db, run.id, "a", start=1000) is None
