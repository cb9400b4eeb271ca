"""Rendered charts, checked through the characters that they contain."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from clarinet_tui.chart.cells import HALVES, QUADRANTS, line_style
from clarinet_tui.chart.curve import NO_EXTENT, Curve, VerticalMark
from clarinet_tui.chart.render import ChartSpec, render_chart
from tests.support.charts import drawn_cells, make_spec, plot_area, render_rows

X = np.arange(1000.0)


def test_a_single_peak_among_a_million_points_reaches_the_top() -> None:
    y = np.zeros(1_000_000)
    y[654_321] = 100.0
    text = plot_area(render_rows(make_spec(Curve.through(np.arange(y.size), y))))
    peak = {x for row, x in drawn_cells(text[:8])}
    assert len(peak) == 1
    assert peak.pop() == pytest.approx(len(text[0]) * 0.654, abs=2)


def test_nan_is_a_gap_with_crosses_below() -> None:
    y = np.full(1000, 5.0)
    y[400:600] = np.nan
    text = render_rows(make_spec(Curve.through(X, y)))
    columns = {x for _, x in drawn_cells(plot_area(text))}
    width = len(plot_area(text)[0]) - 1
    assert not columns & set(range(int(width * 0.42), int(width * 0.58)))
    crosses = next(row for row in text if "NaN" in row)
    assert crosses.count("×") == pytest.approx(width * 0.2, abs=2)


def test_one_missing_value_among_many_is_still_marked() -> None:
    y = np.full(100_000, 5.0)
    y[50_000] = np.nan
    text = render_rows(make_spec(Curve.through(np.arange(y.size), y)))
    assert "".join(text).count("×") == 1


def test_line_has_a_gap_at_a_missing_point() -> None:
    text = plot_area(render_rows(make_spec(Curve.through(range(5), [1, 1, math.nan, 1, 1]))))
    width = len(text[0]) - 1
    columns = {x for _, x in drawn_cells(text)}
    assert not columns & set(range(int(width * 0.3), int(width * 0.7)))
    assert columns


def test_all_nan_draws_crosses_only() -> None:
    text = render_rows(make_spec(Curve.through(X, np.full(1000, np.nan))))
    assert not drawn_cells(text)
    assert "×" * 50 in "".join(text)


def test_infinite_values_are_arrows_at_the_edge() -> None:
    y = np.linspace(1, 2, 1000)
    y[300], y[700] = np.inf, -np.inf
    text = plot_area(render_rows(make_spec(Curve.through(X, y))))
    assert "▲" in text[0]
    assert any("▼" in row for row in text[-3:])
    assert "▼" not in text[0]


def test_empty_chart_draws_only_axes() -> None:
    for spec in (make_spec(), make_spec(Curve.through([], []))):
        text = render_rows(spec)
        assert not drawn_cells(text)
        assert "╰" in text[-2]
    blank = "".join(render_rows(replace(make_spec(), x_range=NO_EXTENT)))
    assert not any(character.isdigit() for character in blank), "no invented numbers"


def test_a_single_point_is_one_marker() -> None:
    text = render_rows(make_spec(Curve.through([7], [3.5])))
    assert "".join(text).count("●") == 1
    assert len(drawn_cells(text)) == 1


def test_a_constant_line_is_flat_and_labelled() -> None:
    for value in (0.0, 81.25, -1e9, 1e-9):
        text = render_rows(make_spec(Curve.through(X, np.full(1000, value))))
        assert len({y for y, _ in drawn_cells(plot_area(text))}) == 1


def test_symlog_keeps_the_sign() -> None:
    text = render_rows(make_spec(Curve.through(X, np.linspace(-100, 1000, 1000)), height=24, scale="symlog"))
    labels = [row.split("┤")[0].strip() for row in text if "┤" in row]
    assert "0" in labels
    above, below = labels[: labels.index("0")], labels[labels.index("0") + 1 :]
    assert above
    assert all(label.startswith("+") for label in above)
    assert below
    assert all(label.startswith("-") for label in below)
    assert any("───" in row for row in text if row.lstrip().startswith("0 ┤"))


def test_log_scale_marks_non_positive_values_with_an_arrow() -> None:
    y = np.logspace(-3, 3, 1000)
    y[500] = -1.0
    text = render_rows(make_spec(Curve.through(X, y), height=24, scale="log"))
    assert sum(row.count("▼") for row in text) == 1
    labels = [row.split("┤")[0].strip() for row in text if "┤" in row]
    assert {"100", "1", "0.01"} <= set(labels)


def test_envelope_fills_from_low_to_high() -> None:
    line = Curve.through(X, np.full(1000, 5.0), np.full(1000, 1.0), np.full(1000, 9.0))
    text = plot_area(render_rows(make_spec(line, y_range=(0.0, 10.0))))
    assert sum("⣿" * 20 in row for row in text) >= 9


def test_smoothing_draws_the_raw_values_faintly() -> None:
    y = 5 + np.random.default_rng(1).normal(size=1000)
    raw, smoothed = (render_chart(make_spec(Curve.through(X, y), smoothing=share)) for share in (0.0, 0.05))
    assert len(np.unique(raw.grid.styles[:-2, 7:])) + 1 == len(np.unique(smoothed.grid.styles[:-2, 7:]))


def test_line_is_drawn_between_two_points_outside_the_window() -> None:
    line = Curve.through([0, 100], [0, 100])
    text = plot_area(render_rows(make_spec(line, x_range=(40.0, 60.0))))
    assert len({x for _, x in drawn_cells(text)}) > 45


def test_scale_only_data_gives_two_charts_the_same_axes() -> None:
    low, high = Curve.through(X, X * 0.01), Curve.through(X * 2, X)
    one, two = (
        render_chart(ChartSpec(60, 16, (mine,), (other,), x_range=(0.0, 1998.0))).axes
        for mine, other in ((low, high), (high, low))
    )
    assert (one.low, one.high, one.left, one.ticks) == (two.low, two.high, two.left, two.ticks)


def test_marks_crosshair_and_lines_without_colour() -> None:
    lines = (Curve.through(X, X), Curve.through(X, X[::-1]))
    text = render_rows(make_spec(*lines, marks=(VerticalMark(500.0, "stage 2"),), crosshair=250.0))
    assert "┊stage 2" in "".join(text)
    assert "250" in text[-1]
    assert sum(row.count("│") > 1 for row in text) > 5
    assert "●" in "".join(text)
    assert "■" in "".join(text)


def test_block_characters_replace_braille() -> None:
    for glyphs, characters in ((QUADRANTS, "▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"), (HALVES, "▀▄█")):
        text = "".join(render_rows(make_spec(Curve.through(X, X), glyphs=glyphs)))
        assert not any(0x2800 <= ord(character) < 0x2900 for character in text)
        assert sum(text.count(character) for character in characters) > 40


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 2), (12, 3), (20, 5), (200, 55)])
def test_every_size_can_be_drawn(width: int, height: int) -> None:
    lines = (Curve.through(X, np.sin(X)), Curve.through([1.0], [math.nan]))
    render_rows(make_spec(*lines, width=width, height=height, crosshair=3.0, marks=(VerticalMark(10.0, "x"),)))


def test_huge_and_tiny_values_have_labels_that_fit() -> None:
    for y in (X * 1e300, X * 1e-300, 1e12 + X, X * 1e-7):
        for scale in ("linear", "log", "symlog"):
            text = render_rows(make_spec(Curve.through(X, y), width=80, scale=scale))
            assert any("┤" in row for row in text)


def test_coinciding_lines_show_both_markers() -> None:
    lines = (Curve.through(range(9), [5.0] * 9), Curve.through(range(9), [5.0] * 9))
    text = "".join(render_rows(make_spec(*lines)))
    assert text.count("●") >= 3
    assert text.count("■") >= 3


def test_lines_that_coincide_take_turns() -> None:
    x = np.arange(200.0)
    lines = tuple(Curve.through(x, np.ones(200), name=name) for name in ("first", "second"))
    styles = render_chart(ChartSpec(60, 8, lines, x_range=(0.0, 199.0))).grid.styles
    drawn = Counter(int(style) for style in styles.ravel() if style in (line_style(0), line_style(1)))
    assert min(drawn[line_style(0)], drawn[line_style(1)]) > 15
