"""Curves against a computation from every value."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.curves import list_metrics, read_series
from clarinet_tui.history.database import Database
from clarinet_tui.runs.directory import RunDirectory
from core.events import Event
from tests.support.events import evaluation, resumed, started, step
from tests.support.histories import ingest, make_run, open_history, record_run

LENGTH = 2500
GAP = range(900, 1400)
VALUES = {at: math.nan if at % 97 == 0 else math.sin(at / 50) * at for at in range(1, LENGTH + 1) if at not in GAP}
METRICS = ("mmd", 'own metric\'s "name"')


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Database, RunDirectory]]:
    """Record two metrics with the same values, one of a plug-in, with a gap and a resumed part."""
    runs = tmp_path_factory.mktemp("runs")
    run = make_run(runs)

    def steps(first: int, last: int, shift: float = 0.0) -> Iterator[Event]:
        for at in range(first, last + 1):
            value = VALUES.get(at)
            measured = {} if value is None else dict.fromkeys(METRICS, value + shift)
            yield step(at, measured | {"entropy": 1.0})

    with open_history(runs) as db:
        ingest(db, run, started(), *steps(1, 1800, shift=1e6))
        ingest(db, run, resumed(0), *steps(1, 2000))
        evaluations = (evaluation(at, at / 50) for at in range(100, LENGTH, 100))
        ingest(db, run, resumed(1700), *steps(1701, LENGTH), *evaluations)
        yield db, run


def check_totals(series: Curve, start: int, stop: int, metric: str) -> None:
    """Check that the columns together contain exactly the requested values."""
    values = [value for at, value in VALUES.items() if start <= at < stop]
    finite = [value for value in values if math.isfinite(value)]
    assert series.missing.sum() == len(values) - len(finite), metric
    assert len(series.x) == len(series.low) == len(series.high) == len(series.mean) == len(series.missing)
    assert np.all(np.diff(series.x) > 0)
    if finite:
        assert np.nanmin(series.low) == pytest.approx(min(finite), rel=1e-8)
        assert np.nanmax(series.high) == pytest.approx(max(finite), rel=1e-8)
        known = np.isfinite(series.mean)
        assert np.all((series.low <= series.mean)[known] & (series.mean <= series.high)[known])
        # The journal has nine digits of each value.
        assert len(series.x) > 1 or series.mean[0] == pytest.approx(np.mean(finite), abs=1e-8 * LENGTH)
    else:
        assert not np.isfinite(series.mean).any()


@settings(max_examples=120)
@given(st.integers(-10, LENGTH + 10), st.integers(0, LENGTH), st.integers(1, 400), st.sampled_from(METRICS))
def test_every_value_is_counted_once(
    recorded: tuple[Database, RunDirectory], start: int, length: int, width: int, metric: str
) -> None:
    db, run = recorded
    series = read_series(db, run.id, metric, start=start, stop=start + length, width=width)
    check_totals(series, start, start + length, metric)
    assert len(series.x) <= width + 1
    assert not np.any((series.x > GAP[0] + length / width + 32) & (series.x < GAP[-1] - length / width - 32))


def test_few_iterations_are_returned_one_by_one(recorded: tuple[Database, RunDirectory]) -> None:
    db, run = recorded
    series = read_series(db, run.id, "mmd", start=90, stop=100, width=200)
    assert series.x.tolist() == list(range(90, 100))
    assert series.missing.tolist() == [0] * 7 + [1] + [0] * 2
    assert np.isnan(series.mean[7])
    assert series.mean[0] == pytest.approx(VALUES[90], rel=1e-8)


def test_evaluations_are_points(recorded: tuple[Database, RunDirectory]) -> None:
    db, run = recorded
    assert list_metrics(db, run.id) == ["mmd", "entropy", METRICS[1], "target_accuracy"]
    series = read_series(db, run.id, "target_accuracy", start=200, stop=500)
    assert series.x.tolist() == [200, 300, 400]
    assert series.mean.tolist() == [4, 6, 8]


def test_an_evaluation_may_be_nan(db: Database) -> None:
    run = record_run(db, evaluation(1, math.nan), evaluation(2, 3.0), evaluation(3, None))
    series = read_series(db, run.id, "target_accuracy")
    assert series.x.tolist() == [1, 2]
    assert series.missing.tolist() == [1, 0]
    assert list_metrics(db, run.id) == ["target_accuracy"]


@pytest.mark.parametrize("metric", ["mmd", "nothing", "target_loss", "x'; DROP TABLE runs; --"])
def test_an_unknown_metric_gives_an_empty_curve(recorded: tuple[Database, RunDirectory], metric: str) -> None:
    db, _ = recorded
    assert len(read_series(db, "none", metric).x) == 0


def test_the_number_of_rows_read_is_bounded_by_the_width(
    recorded: tuple[Database, RunDirectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, run = recorded
    read = list[int]()
    tuples = Database.tuples

    def counted(self: Database, *arguments: object) -> object:
        rows = tuples(self, *arguments)  # type: ignore[arg-type]
        read.append(len(rows))
        return rows

    monkeypatch.setattr(Database, "tuples", counted)
    for width in (1, 5, 20, 50):
        for length in (width, 31 * width, 33 * width, LENGTH):
            read.clear()
            read_series(db, run.id, "entropy", start=17, stop=17 + length, width=width)
            assert sum(read) <= 32 * width + 2 * (32 + 4 * 16)
