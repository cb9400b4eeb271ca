"""The x axes of a run's curves: iterations, images, epochs, adaptation epochs and device time."""

import math
from typing import Any

import numpy as np
import pytest

from clarinet_tui.history.axes import AXES, AxisMap, GivenStage1, find_axis, find_shared_stage1, make_axis_map
from core.resolve import resolve

TWO = resolve(method="gac+cdan-e", task="U->M", preset="smoke", batch_size=10, stage1={"batch_size": 4})


def stage(name: str, iteration: int = 0, epoch: int = 0, **fields: Any) -> dict[str, Any]:
    return {"event": "stage", "stage": name, "iteration": iteration, "epoch": epoch, "superseded": False} | fields


def labelled(**fields: Any) -> dict[str, Any]:
    return {"event": "pseudo-labels", "given": True, "superseded": False} | fields


def row(stage: str, iteration: int, epoch: int, adaptation: int | None, seconds: float | None = 1.0) -> dict[str, Any]:
    names = {"stage": stage, "iteration": iteration, "epoch": epoch, "adaptation_epoch": adaptation}
    return names | {"seconds": seconds}


def make_map() -> AxisMap:
    rows = [row("clarinet", 100, 1, None, 10.0), row("clarinet", 200, 2, None, 20.0)]
    return make_axis_map([*rows, row("clarinet", 400, 3, 1, 60.0), row("clarinet", 600, 4, 2, 100.0)])


def test_iterations_as_epochs_adaptation_epochs_and_seconds_and_back() -> None:
    x = np.array([50.0, 300.0, 800.0])
    assert make_map().to_axis("epoch", x).tolist() == [0.5, 2.5, 5.0]
    assert make_map().to_axis("time", x).tolist() == [5.0, 40.0, 140.0]
    adaptation = make_map().to_axis("adaptation-epoch", x)
    assert math.isnan(adaptation[0])
    assert adaptation[1:].tolist() == [0.5, 3.0]
    assert np.isnan(make_map().to_axis("samples", x)).all(), "the settings are not known"
    for axis in ("iteration", "epoch", "time"):
        assert make_map().to_iteration(axis, make_map().to_axis(axis, x)[1]) == pytest.approx(300.0)


@pytest.mark.parametrize("events", [[], [{"event": "stage", "superseded": False}]], ids=["none", "damaged stage"])
def test_a_run_without_evaluations_has_only_iterations(events: list[dict[str, Any]]) -> None:
    empty = make_axis_map([], events)
    assert np.isnan(empty.to_axis("epoch", np.array([1.0]))).all()
    assert empty.to_iteration("epoch", 3.0) == 3.0


def test_axes_are_found_by_name_and_title() -> None:
    for axis, title in AXES.items():
        assert find_axis(axis, "iteration") == find_axis(title, "iteration") == axis
    assert find_axis("another", "epoch") == "epoch"


def test_images_of_two_stages() -> None:
    rows = [row("gac", 10, 1, None), row("gac", 30, 3, None), row("cdan-e", 35, 4, 1), row("cdan-e", 40, 5, 2)]
    axis_map = make_axis_map(rows, [stage("gac"), stage("cdan-e", 30, 3)], TWO)
    assert axis_map.values["samples"].tolist() == [0, 40, 120, 120 + 5 * 20, 120 + 10 * 20]


def test_target_images_count_after_the_warm_up() -> None:
    rows = [row("clarinet", 8, 2, None), row("clarinet", 12, 3, 1), row("clarinet", 20, 5, 3)]
    config = resolve(task="U->M", preset="smoke", batch_size=10)
    axis_map = make_axis_map(rows, [stage("clarinet")], config)
    assert axis_map.values["samples"].tolist() == [0, 80, 120 + 40, 200 + 120]


def test_shared_stage_1_counts_in_images_and_time() -> None:
    events = [labelled(origin="abc123", origin_seconds=60), stage("cdan-e", 30, 3)]
    axis_map = make_axis_map([row("cdan-e", 35, 4, 1, 7.0)], events, TWO)
    assert axis_map.values["samples"].tolist() == [30 * 4, 30 * 4 + 5 * 20]
    assert axis_map.values["time"].tolist() == [60, 67]


def test_a_run_with_given_pseudo_labels_begins_where_stage_1_would_have_ended() -> None:
    axis_map = make_axis_map([row("dan", 1200, 9, 1, 40.0)], [stage("dan", 1000, 8)])
    x = np.array([1000.0, 1100.0, 1300.0])
    assert axis_map.to_axis("time", x).tolist() == [0.0, 20.0, 60.0]
    assert axis_map.to_axis("epoch", x).tolist() == [8.0, 8.5, 9.5]
    assert axis_map.to_iteration("time", 20.0) == pytest.approx(1100.0)


def test_damaged_stages_and_missing_values_have_no_x() -> None:
    changes: list[dict[str, Any]] = [{"iteration": None}, {"epoch": "3"}, {"stage": ["cdan-e"]}]
    damaged = [stage("cdan-e", 30, 3) | change for change in changes]
    rows = [row("gac", 10, 1, None), row("cdan-e", 35, 4, 1)]
    np.testing.assert_equal(make_axis_map(rows, damaged, TWO).values["samples"], [np.nan, 40, np.nan])
    values = make_axis_map([row("elsewhere", 1, 1, None, None)], [], TWO).values
    assert all(math.isnan(values[axis][1]) for axis in ("samples", "adaptation-epoch", "time"))


def test_own_stage_1_is_not_counted_twice() -> None:
    assert find_shared_stage1([stage("gac"), labelled(given=False, origin="abc", origin_seconds=60)]) is None
    assert find_shared_stage1([labelled(superseded=True)]) is None
    assert find_shared_stage1([labelled(origin="abc123", origin_seconds=60)]) == GivenStage1("abc123", 60.0)
    for unknown in (labelled(), labelled(origin="", origin_seconds=0.0)):
        assert find_shared_stage1([unknown]) == GivenStage1(None, None)
