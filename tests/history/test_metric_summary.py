"""Where metrics stand, against the plain computation."""

import math
from pathlib import Path

import pytest

from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.history.metric_summary import Standing, standing
from tests.support.events import step
from tests.support.histories import history, make_run, say


@pytest.mark.parametrize("last", [1, 31, 32, 33, 100, 131, 700])
def test_last_mean_and_extremes(tmp_path: Path, last: int) -> None:
    values = [math.sin(n) for n in range(1, last + 1)]
    run, db = make_run(tmp_path), history(tmp_path)
    # The metric ends long before the run does, as those of stage 1.
    later = [step(n, {"other": 0.0}) for n in range(last + 1, last + 500)]
    say(run, [*(step(n, {"mine": value}) for n, value in enumerate(values, 1)), *later])
    ingest_run(db, run)
    found = standing(db, run.id, "mine")
    recent = values[-100:]
    assert found is not None
    assert found.last == pytest.approx(values[-1], abs=1e-8)
    assert found.mean == pytest.approx(sum(recent) / len(recent), abs=1e-8)
    assert (found.least, found.greatest) == pytest.approx((min(values), max(values)), abs=1e-8)


def test_not_a_number_is_last_and_mean_and_no_extreme(tmp_path: Path) -> None:
    run, db = make_run(tmp_path), history(tmp_path)
    say(run, [step(1, {"a": 1.0, "b": math.inf}), step(2, {"a": math.nan, "b": math.nan})])
    ingest_run(db, run)
    a, b = standing(db, run.id, "a"), standing(db, run.id, "b")
    assert a is not None
    assert b is not None
    assert a.last is not None
    assert a.mean is not None
    assert math.isnan(a.last)
    assert math.isnan(a.mean)
    assert (a.least, a.greatest, a.missing) == (1.0, 1.0, 1)
    assert (b.least, b.greatest, b.missing) == (None, None, 2)


def test_a_range_and_nothing_at_all(tmp_path: Path) -> None:
    run, db = make_run(tmp_path), history(tmp_path)
    say(run, [step(n, {"a": float(n)}) for n in range(1, 301)])
    ingest_run(db, run)
    assert standing(db, run.id, "a", start=50, stop=60) == Standing(59.0, 54.5, 50.0, 59.0, 0)
    assert standing(db, run.id, "none") is None
    assert standing(db, run.id, "a", start=1000) is None
