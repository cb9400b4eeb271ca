"""The chart, read as a person reads it: through the characters that it draws."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from clarinet_tui.chart.glyphs import HALVES, QUADRANTS
from clarinet_tui.chart.render import draw
from clarinet_tui.chart.series import Line, Mark, extent_of
from clarinet_tui.chart.spec import Plan

X = np.arange(1000.0)


def rows(plan: Plan) -> list[str]:
    """The rows of the picture, after a look at its size."""
    text = draw(plan).field.text()
    assert len(text) == plan.height
    assert {len(row) for row in text} == {plan.width}
    return text


def plan_of(*lines: Line, width: int = 60, height: int = 16, **more: object) -> Plan:
    plan = Plan(width, height, lines, window=extent_of(lines))
    return replace(plan, **more)  # type: ignore[arg-type]


def plot(text: list[str]) -> list[str]:
    """What is right of the y axis, without grid."""
    return [row.split("┤" if "┤" in row else "│", 1)[-1].replace("┈", " ") for row in text if "┤" in row or "│" in row]


def inked(text: list[str]) -> set[tuple[int, int]]:
    return {
        (y, x) for y, row in enumerate(text) for x, sign in enumerate(row) if 0x2800 < ord(sign) < 0x2900 or sign == "●"
    }


def test_a_single_peak_among_a_million_points_reaches_the_top() -> None:
    y = np.zeros(1_000_000)
    y[654_321] = 100.0
    text = plot(rows(plan_of(Line.of("loss", np.arange(y.size), y))))
    peak = {x for row, x in inked(text[:8])}
    assert len(peak) == 1
    assert peak.pop() == pytest.approx(len(text[0]) * 0.654, abs=2)


def test_a_million_points_are_drawn_in_a_blink() -> None:
    line = Line.of("loss", np.arange(1e6), np.random.default_rng(0).normal(size=1_000_000))
    started = time.process_time()
    draw(plan_of(line, width=160, height=48))
    assert time.process_time() - started < 1.0


def test_not_a_number_is_a_gap_with_crosses_below() -> None:
    y = np.full(1000, 5.0)
    y[400:600] = np.nan
    text = rows(plan_of(Line.of("loss", X, y)))
    columns = {x for _, x in inked(plot(text))}
    width = len(plot(text)[0]) - 1
    assert not columns & set(range(int(width * 0.42), int(width * 0.58)))
    crosses = next(row for row in text if "NaN" in row)
    assert crosses.count("×") == pytest.approx(width * 0.2, abs=2)


def test_one_missing_value_among_many_is_still_marked() -> None:
    y = np.full(100_000, 5.0)
    y[50_000] = np.nan
    text = rows(plan_of(Line.of("loss", np.arange(y.size), y)))
    assert "".join(text).count("×") == 1


def test_a_line_does_not_bridge_a_missing_point() -> None:
    text = plot(rows(plan_of(Line.of("loss", range(5), [1, 1, math.nan, 1, 1]))))
    width = len(text[0]) - 1
    columns = {x for _, x in inked(text)}
    assert not columns & set(range(int(width * 0.3), int(width * 0.7)))
    assert columns


def test_all_missing_says_so_and_inks_nothing() -> None:
    text = rows(plan_of(Line.of("loss", X, np.full(1000, np.nan))))
    assert not inked(text)
    assert "×" * 50 in "".join(text)


def test_infinite_values_are_arrows_at_their_edge() -> None:
    y = np.linspace(1, 2, 1000)
    y[300], y[700] = np.inf, -np.inf
    text = plot(rows(plan_of(Line.of("loss", X, y))))
    assert "▲" in text[0]
    assert any("▼" in row for row in text[-3:])
    assert "▼" not in text[0]


def test_no_lines_and_empty_lines_draw_only_axes() -> None:
    for plan in (plan_of(), plan_of(Line.of("loss", [], []))):
        text = rows(plan)
        assert not inked(text)
        assert "╰" in text[-2]


def test_a_single_point_is_one_marker() -> None:
    text = rows(plan_of(Line.of("loss", [7], [3.5])))
    assert "".join(text).count("●") == 1
    assert len(inked(text)) == 1


def test_a_constant_line_is_flat_and_labelled() -> None:
    for value in (0.0, 81.25, -1e9, 1e-9):
        text = rows(plan_of(Line.of("loss", X, np.full(1000, value))))
        assert len({y for y, _ in inked(plot(text))}) == 1


def test_symlog_keeps_the_sign() -> None:
    text = rows(plan_of(Line.of("loss", X, np.linspace(-100, 1000, 1000)), height=24, scale="symlog"))
    labels = [row.split("┤")[0].strip() for row in text if "┤" in row]
    assert "0" in labels
    above, below = labels[: labels.index("0")], labels[labels.index("0") + 1 :]
    assert above
    assert all(label.startswith("+") for label in above)
    assert below
    assert all(label.startswith("-") for label in below)
    assert any("───" in row for row in text if row.lstrip().startswith("0 ┤"))


def test_log_points_down_at_what_it_cannot_show() -> None:
    y = np.logspace(-3, 3, 1000)
    y[500] = -1.0
    text = rows(plan_of(Line.of("loss", X, y), height=24, scale="log"))
    assert sum(row.count("▼") for row in text) == 1
    labels = [row.split("┤")[0].strip() for row in text if "┤" in row]
    assert {"100", "1", "0.01"} <= set(labels)


def test_an_envelope_inks_from_low_to_high() -> None:
    line = Line.envelope("loss", X, np.full(1000, 1.0), np.full(1000, 9.0), np.full(1000, 5.0))
    text = plot(rows(plan_of(line, y_range=(0.0, 10.0))))
    assert sum("⣿" * 20 in row for row in text) >= 9


def test_smoothing_leaves_the_raw_values_behind() -> None:
    y = 5 + np.random.default_rng(1).normal(size=1000)
    raw, smoothed = (draw(plan_of(Line.of("loss", X, y), smoothing=share)) for share in (0.0, 0.05))
    assert len(np.unique(raw.field.styles[:-2, 7:])) + 1 == len(np.unique(smoothed.field.styles[:-2, 7:]))


def test_zoomed_between_two_points_the_line_is_still_there() -> None:
    line = Line.of("accuracy", [0, 100], [0, 100])
    text = plot(rows(plan_of(line, window=(40.0, 60.0))))
    assert len({x for _, x in inked(text)}) > 45


def test_beside_gives_two_charts_the_same_axes() -> None:
    low, high = Line.of("a", X, X * 0.01), Line.of("b", X * 2, X)
    one, two = (
        draw(Plan(60, 16, (mine,), (other,), window=(0.0, 1998.0))).axes for mine, other in ((low, high), (high, low))
    )
    assert (one.low, one.high, one.left, one.ticks) == (two.low, two.high, two.left, two.ticks)


def test_marks_crosshair_and_lines_without_colour() -> None:
    lines = (Line.of("a", X, X), Line.of("b", X, X[::-1]))
    text = rows(plan_of(*lines, marks=(Mark(500.0, "stage 2"),), crosshair=250.0))
    assert "┊stage 2" in "".join(text)
    assert "250" in text[-1]
    assert sum(row.count("│") > 1 for row in text) > 5
    assert "●" in "".join(text)
    assert "■" in "".join(text)


def test_without_braille_blocks_draw_the_same_line() -> None:
    for glyphs, signs in ((QUADRANTS, "▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"), (HALVES, "▀▄█")):
        text = "".join(rows(plan_of(Line.of("a", X, X), glyphs=glyphs)))
        assert not any(0x2800 <= ord(sign) < 0x2900 for sign in text)
        assert sum(text.count(sign) for sign in signs) > 40


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 2), (12, 3), (20, 5), (200, 55)])
def test_every_size_can_be_drawn(width: int, height: int) -> None:
    lines = (Line.of("a", X, np.sin(X)), Line.of("b", [1.0], [math.nan]))
    rows(plan_of(*lines, width=width, height=height, crosshair=3.0, marks=(Mark(10.0, "x"),)))


def test_huge_and_tiny_values_have_labels_that_fit() -> None:
    for y in (X * 1e300, X * 1e-300, 1e12 + X, X * 1e-7):
        for scale in ("linear", "log", "symlog"):
            text = rows(plan_of(Line.of("a", X, y), width=80, scale=scale))
            assert any("┤" in row for row in text)


def test_two_lines_that_lie_on_each_other_can_both_be_seen() -> None:
    lines = (Line.of("a", range(9), [5.0] * 9), Line.of("b", range(9), [5.0] * 9))
    text = "".join(rows(plan_of(*lines)))
    assert text.count("●") >= 3
    assert text.count("■") >= 3
