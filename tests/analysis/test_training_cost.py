"""The cost of runs at each evaluation, along every axis."""

from typing import Any

import numpy as np
import pytest

from clarinet_tui.analysis.training_cost import SharedStage1, metric_curve, training_cost
from core.resolve import resolve

TWO = resolve(method="gac+cdan-e", task="U->M", preset="smoke", batch_size=10, stage1={"batch_size": 4})


def stage(name: str, iteration: int = 0, epoch: int = 0, **fields: Any) -> dict[str, Any]:
    return {"event": "stage", "stage": name, "iteration": iteration, "epoch": epoch, "superseded": False} | fields


def labelled(**fields: Any) -> dict[str, Any]:
    return {"event": "pseudo-labels", "given": True, "superseded": False} | fields


def row(stage: str, iteration: int, epoch: int, adaptation: int | None, seconds: float | None = 1.0) -> dict[str, Any]:
    names = {"stage": stage, "iteration": iteration, "epoch": epoch, "adaptation_epoch": adaptation}
    return names | {"seconds": seconds, "target_accuracy": float(epoch)}


def test_images_of_two_stages() -> None:
    cost = training_cost(TWO, [stage("gac"), stage("cdan-e", 30, 3)])
    rows = [row("gac", 10, 1, None), row("gac", 30, 3, None), row("cdan-e", 35, 4, 1), row("cdan-e", 40, 5, 2)]
    x, y = metric_curve(rows, "target_accuracy", "samples", cost)
    assert x.tolist() == [40, 120, 120 + 5 * 20, 120 + 10 * 20]
    assert y.tolist() == [1, 3, 4, 5]


def test_target_images_count_after_the_warm_up() -> None:
    cost = training_cost(resolve(task="U->M", preset="smoke", batch_size=10), [stage("clarinet")])
    rows = [row("clarinet", 8, 2, None), row("clarinet", 12, 3, 1), row("clarinet", 20, 5, 3)]
    assert [cost.samples(at) for at in rows] == [80, 120 + 40, 200 + 120]


def test_shared_stage_1_counts_in_images_and_time() -> None:
    events = [labelled(origin="abc123", origin_seconds=60), stage("cdan-e", 30, 3)]
    cost = training_cost(TWO, events)
    assert cost.shared == SharedStage1("abc123", 60.0)
    rows = [row("cdan-e", 35, 4, 1, 7.0)]
    assert metric_curve(rows, "target_accuracy", "samples", cost)[0].tolist() == [30 * 4 + 5 * 20]
    assert metric_curve(rows, "target_accuracy", "device time", cost)[0].tolist() == [67]


def test_a_damaged_stage_event_does_not_count() -> None:
    changes: list[dict[str, Any]] = [{"iteration": None}, {"epoch": "3"}, {"stage": ["cdan-e"]}]
    damaged = [stage("cdan-e") | change for change in changes]
    assert [part.name for part in training_cost(TWO, damaged).stages] == ["gac"]


def test_own_stage_1_is_not_counted_twice() -> None:
    assert training_cost(TWO, [stage("gac"), labelled(given=False, origin="abc", origin_seconds=60)]).shared is None
    assert training_cost(TWO, [labelled(superseded=True)]).shared is None
    assert training_cost(TWO, [labelled()]).shared == SharedStage1(None, None)
    assert training_cost(TWO, [labelled(origin="", origin_seconds=0.0)]).shared == SharedStage1(None, None)


def test_epochs_and_adaptation_epochs() -> None:
    cost = training_cost(TWO, [])
    rows = [row("gac", 30, 3, None), row("cdan-e", 35, 4, 1)]
    assert metric_curve(rows, "target_accuracy", "epoch", cost)[0].tolist() == [3, 4]
    assert metric_curve(rows, "target_accuracy", "adaptation epoch", cost)[0].tolist() == [1]
    x, y = metric_curve(rows, "source_accuracy", "epoch", cost)
    assert len(x) == 2
    assert np.isnan(y).all()


@pytest.mark.parametrize("axis", ["samples", "device time"])
def test_missing_values_have_no_x(axis: Any) -> None:
    cost = training_cost(TWO, [])
    assert len(metric_curve([row("elsewhere", 1, 1, None, None)], "target_accuracy", axis, cost)[0]) == 0
