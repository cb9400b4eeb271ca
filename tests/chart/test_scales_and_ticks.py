"""Ticks, labels, scales, viewports and curves."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.chart.curve import Curve, extent_of
from clarinet_tui.chart.scales import Scale, Viewport, linear_ticks, make_scale, time_ticks, y_ticks
from clarinet_tui.text import format_duration, format_number


def labels(low: float, high: float, count: int = 5) -> list[str]:
    return list(linear_ticks(low, high, count).values())


def test_ticks_are_round_and_as_precise_as_their_step() -> None:
    assert labels(0, 100) == ["0", "20", "40", "60", "80", "100"]
    assert labels(0, 1) == ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert labels(0, 50_000) == ["0", "10k", "20k", "30k", "40k", "50k"]
    assert labels(0, 3_000_000, 3) == ["0", "1M", "2M", "3M"]


def test_numbers_are_short() -> None:
    shown = [
        format_number(value) for value in (0, 0.69314718, 81.25, -3.0, 12_500, 3.1e-7, float("nan"), float("-inf"))
    ]
    assert shown == ["0", "0.6931", "81.25", "-3", "12.5k", "3.1e-7", "NaN", "-inf"]


def test_time_ticks_are_on_whole_units() -> None:
    assert list(time_ticks(0, 3600, 4).values()) == ["0s", "15m00", "30m00", "45m00", "1h00"]
    assert [format_duration(seconds) for seconds in (45, 90, 7500, 273_600)] == ["45s", "1m30", "2h05", "3d04"]


@given(
    st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.integers(1, 12), st.sampled_from(["linear", "log", "symlog"])
)
def test_ticks_lie_inside_and_differ(one: float, two: float, count: int, name: str) -> None:
    values = np.array([one, two])
    scale = make_scale(name, values)  # type: ignore[arg-type]
    heights = [scale.height(value) for value in sorted((one, two))]
    if not all(map(np.isfinite, heights)) or heights[0] >= heights[1]:
        return
    ticks = y_ticks(scale, heights[0], heights[1], count)
    assert len(ticks) <= 2 * count + 3
    slack = (heights[1] - heights[0]) * 1e-6
    assert all(heights[0] - slack <= scale.height(value) <= heights[1] + slack for value in ticks)


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e3))
def test_symlog_round_trips(value: float, knee: float) -> None:
    scale = Scale("symlog", knee)
    assert scale.value(scale.height(value)) == pytest.approx(value, rel=1e-6, abs=1e-9 * knee)


def test_viewport_zooms_pans_and_follows() -> None:
    everything = (0.0, 100.0)
    half = Viewport().zoom(0.5, None, everything)
    assert half.window(everything) == (25.0, 75.0)
    assert half.pan(0.5, everything).window(everything) == (50.0, 100.0)
    assert half.pan(9.0, everything).window(everything) == (50.0, 100.0)
    assert half.zoom(4, None, everything) == Viewport()
    assert Viewport().zoom(0.5, 10.0, everything).window(everything) == (5.0, 55.0), "10 stays where it is"
    following = half.toggle_follow(everything)
    assert following.window(everything) == (50.0, 100.0)
    assert following.window((0.0, 140.0)) == (90.0, 140.0)
    assert not following.pan(-0.1, everything).follow
    assert Viewport().toggle_follow(everything).window(everything) == (75.0, 100.0)


def test_curve_is_sorted_and_read_only() -> None:
    x = np.array([3.0, 1.0, np.nan, 2.0])
    line = Curve.through(x, [30, 10, 0, 20])
    assert line.x.tolist() == [1, 2, 3]
    assert line.mean.tolist() == [10, 20, 30]
    with pytest.raises(ValueError, match="read-only"):
        line.mean[0] = 5
    x[0] = 99
    assert extent_of((line,)) == (1.0, 3.0)
    assert line.nearest(2.4) == 1


@pytest.mark.parametrize("edges", [{}, {"low": [1], "filled": True}])
def test_lengths_must_be_equal(edges: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        Curve.through([1, 2], [1, 2] if edges else [1], **edges)


def test_detail_replaces_the_overview_where_it_is() -> None:
    overview, detail = (Curve.through(x, x) for x in ([0, 10, 20, 30], [9, 11, 13, 21]))
    assert overview.with_detail(detail).mean.tolist() == [0, 9, 11, 13, 21, 30]
    assert overview.with_detail(Curve.through([], [])) is overview


def test_extent_without_points_or_with_one_has_width() -> None:
    assert extent_of(()) == (0.0, 1.0)
    start, stop = extent_of((Curve.through([5], [1]),))
    assert start < 5 < stop
