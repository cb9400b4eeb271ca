"""X axes of a run's curves: iterations, epochs, adaptation epochs and time."""

import math
from typing import Any

import numpy as np
import pytest

from clarinet_tui.history.curves import Series
from clarinet_tui.ui.snapshot.curves import insert_window
from clarinet_tui.ui.snapshot.x_axes import AxisMap, make_axis_map


def make_map() -> AxisMap:
    rows: list[dict[str, Any]] = [
        {"iteration": 100, "epoch": 1, "adaptation_epoch": None, "seconds": 10.0},
        {"iteration": 200, "epoch": 2, "adaptation_epoch": None, "seconds": 20.0},
        {"iteration": 400, "epoch": 3, "adaptation_epoch": 1, "seconds": 60.0},
        {"iteration": 600, "epoch": 4, "adaptation_epoch": 2, "seconds": 100.0},
    ]
    return make_axis_map(rows)


def test_iterations_as_epochs_adaptation_epochs_and_seconds() -> None:
    x = np.array([50.0, 300.0, 800.0])
    assert make_map().to_axis("epoch", x).tolist() == [0.5, 2.5, 5.0]
    assert make_map().to_axis("time", x).tolist() == [5.0, 40.0, 140.0]
    adaptation = make_map().to_axis("adaptation epoch", x)
    assert math.isnan(adaptation[0])
    assert adaptation[1:].tolist() == [0.5, 3.0]


def test_a_shared_stage_1_takes_no_time() -> None:
    events = [{"event": "stage", "stage": "dan", "iteration": 1000, "epoch": 8, "superseded": False}]
    rows: list[dict[str, Any]] = [{"iteration": 1200, "epoch": 9, "adaptation_epoch": 1, "seconds": 40.0}]
    axis_map = make_axis_map(rows, events)
    x = np.array([1000.0, 1100.0, 1300.0])
    assert axis_map.to_axis("time", x).tolist() == [0.0, 20.0, 60.0]
    assert axis_map.to_axis("epoch", x).tolist() == [8.0, 8.5, 9.5]
    assert axis_map.to_iteration("time", 20.0) == pytest.approx(1100.0)


def test_axes_convert_back_to_iterations() -> None:
    for axis in ("iteration", "epoch", "time"):
        place = float(make_map().to_axis(axis, np.array([300.0]))[0])
        assert make_map().to_iteration(axis, place) == pytest.approx(300.0)


@pytest.mark.parametrize("events", [[], [{"event": "stage", "superseded": False}]], ids=["none", "damaged stage"])
def test_a_run_without_evaluations_has_only_iterations(events: list[dict[str, Any]]) -> None:
    empty = make_axis_map([], events)
    assert np.isnan(empty.to_axis("epoch", np.array([1.0]))).all()
    assert empty.to_iteration("epoch", 3.0) == 3.0


def test_detail_replaces_the_overview_where_it_is() -> None:
    def series(*x: float) -> Series:
        values = np.array(x)
        return Series(values, values, values, values, np.zeros(len(x), np.int64))

    joined = insert_window(series(0, 10, 20, 30), series(9, 11, 13, 21))
    assert joined.x.tolist() == [0, 9, 11, 13, 21, 30]
    assert insert_window(series(1, 2), series()).x.tolist() == [1, 2]
