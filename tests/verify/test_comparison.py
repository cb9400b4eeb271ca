"""A record and its repetition: which numbers agree, by how much others differ, and what else is different."""

import math
from typing import Any

import pytest

from clarinet_tui.verify.comparison import Difference, compare, other_surroundings

PLACE: dict[str, Any] = {"run": "abc", "epoch": 1, "adaptation_epoch": None, "stage": "gac", "seconds": 0.5}


def row(iteration: int, **measured: float) -> dict[str, Any]:
    return {"iteration": iteration, **PLACE, **measured}


def test_numbers_agree_as_far_as_the_journal_has_them() -> None:
    found = compare(
        [row(1, loss=0.333333343, samples_per_second=7.0), row(2, loss=math.nan, rate=5e-05)],
        {1: {"loss": 0.3333333432674408, "samples_per_second": 9.0}, 2: {"loss": "nan", "rate": 5e-5}, 3: {"loss": 1}},
    )
    assert (found.first, found.last, found.numbers, found.differences) == (1, 2, 3, ())
    assert found.within(0.0)
    assert found.largest is None


def test_differences_in_order_and_the_largest() -> None:
    found = compare(
        [row(1, a=1.0, b=2.0), row(2, a=100.0, b=0.1)], {1: {"a": 1.0, "b": 2.002}, 2: {"a": 101, "b": 0.2}}
    )
    assert [(one.iteration, one.metric) for one in found.differences] == [(1, "b"), (2, "a"), (2, "b")]
    assert found.largest == Difference(2, "b", 0.1, 0.2)
    assert found.within(0.11)
    assert not found.within(0.01)


@pytest.mark.parametrize("now", [{}, {1: {}}, {1: {"a": "nan"}}, {1: {"a": "inf"}}, {1: {"a": 1.0, "new": 2.0}}])
def test_what_is_missing_new_or_not_finite_is_within_no_tolerance(now: dict[int, dict[str, float | str]]) -> None:
    found = compare([row(1, a=1.0)], now)
    assert len(found.differences) == 1
    assert not found.within(1e9)


def test_other_surroundings() -> None:
    environment = {
        "host": "here",
        "python": "3.11.1",
        "device": "cuda:0",
        "versions": {"torch": "2.13.0", "numpy": "2.0", "msgspec": "0.20", "pillow": "11"},
    }
    now = {"host": "there", "python": "3.11.1", "device": "cpu", "torch": "2.13.1", "numpy": "2.0", "threads": "2"}
    assert other_surroundings(environment, 4, now) == {
        "host": ("here", "there"),
        "device": ("cuda:0", "cpu"),
        "torch": ("2.13.0", "2.13.1"),
        "threads": ("4", "2"),
    }


def test_a_resumed_run_began_where_its_first_sitting_was() -> None:
    environment = {"host": "b", "device": "cpu", "sittings": [{"host": "a", "device": "cuda:0"}, {"host": "c"}]}
    assert other_surroundings(environment, 1, {"host": "a", "device": "cuda:0", "threads": "1"}) == {}


@pytest.mark.parametrize("environment", [{}, {"versions": 7, "sittings": "x", "host": 3}, {"sittings": [1]}])
def test_an_environment_that_tells_nothing(environment: dict[str, Any]) -> None:
    assert other_surroundings(environment, 0, {"host": "here", "torch": "2", "threads": "1"}) == {}
