"""Compare a recorded run with its replay, and their environments."""

import math
from typing import Any

import pytest

from clarinet_tui.verify.comparison import ReplayDifference, compare_iterations, environment_differences

PLACE: dict[str, Any] = {"run": "abc", "epoch": 1, "adaptation_epoch": None, "stage": "gac", "seconds": 0.5}


def row(iteration: int, **measured: float) -> dict[str, Any]:
    return {"iteration": iteration, **PLACE, **measured}


def test_values_agree_to_nine_digits() -> None:
    result = compare_iterations(
        [row(1, loss=0.333333343, samples_per_second=7.0), row(2, loss=math.nan, rate=5e-05)],
        {1: {"loss": 0.3333333432674408, "samples_per_second": 9.0}, 2: {"loss": "nan", "rate": 5e-5}, 3: {"loss": 1}},
    )
    assert (result.first_iteration, result.last_iteration, result.value_count, result.differences) == (1, 2, 3, ())
    assert result.is_within(0.0)
    assert result.largest is None


def test_differences_are_sorted() -> None:
    result = compare_iterations(
        [row(1, a=1.0, b=2.0), row(2, a=100.0, b=0.1)], {1: {"a": 1.0, "b": 2.002}, 2: {"a": 101, "b": 0.2}}
    )
    assert [(one.iteration, one.metric) for one in result.differences] == [(1, "b"), (2, "a"), (2, "b")]
    assert result.largest == ReplayDifference(2, "b", 0.1, 0.2)
    assert result.is_within(0.11)
    assert not result.is_within(0.01)


@pytest.mark.parametrize("now", [{}, {1: {}}, {1: {"a": "nan"}}, {1: {"a": "inf"}}])
def test_missing_and_non_finite_values_exceed_any_tolerance(now: dict[int, dict[str, float | str]]) -> None:
    result = compare_iterations([row(1, a=1.0)], now)
    assert len(result.differences) == 1
    assert not result.is_within(1e9)


def test_a_metric_of_a_newer_version_is_not_compared_but_one_that_other_iterations_have_is() -> None:
    recorded, replayed = [row(1, a=1.0), row(2, a=1.0, b=2.0)], {1: {"a": 1.0, "new": 2.0}, 2: {"a": 1.0, "b": 2.0}}
    assert compare_iterations(recorded, replayed).differences == ()
    replayed[1]["b"] = 3.0
    assert compare_iterations(recorded, replayed).differences == (ReplayDifference(1, "b", None, 3.0),)


def test_environment_differences() -> None:
    environment = {
        "host": "here",
        "python": "3.11.1",
        "device": "cuda:0",
        "versions": {"torch": "2.13.0", "numpy": "2.0", "msgspec": "0.20", "pillow": "11"},
    }
    now = {"host": "there", "python": "3.11.1", "device": "cpu", "torch": "2.13.1", "numpy": "2.0", "threads": "2"}
    assert environment_differences(environment, 4, now) == {
        "host": ("here", "there"),
        "device": ("cuda:0", "cpu"),
        "torch": ("2.13.0", "2.13.1"),
        "threads": ("4", "2"),
    }


def test_resumed_run_is_compared_with_its_first_attempt() -> None:
    environment = {"host": "b", "device": "cpu", "earlier_attempts": [{"host": "a", "device": "cuda:0"}, {"host": "c"}]}
    assert environment_differences(environment, 1, {"host": "a", "device": "cuda:0", "threads": "1"}) == {}


@pytest.mark.parametrize(
    "environment", [{}, {"versions": 7, "earlier_attempts": "x", "host": 3}, {"earlier_attempts": [1]}]
)
def test_incomplete_environments(environment: dict[str, Any]) -> None:
    assert environment_differences(environment, 0, {"host": "here", "torch": "2", "threads": "1"}) == {}
