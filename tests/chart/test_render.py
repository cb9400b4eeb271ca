"""Rendered charts and pictures, checked through the characters that they contain."""

import math
from collections import Counter

import numpy as np
import pytest

from clarinet_tui.chart.cells import (
    BRAILLE,
    HALVES,
    QUADRANTS,
    REFERENCE,
    CellGrid,
    GlyphSet,
    band_style,
    faint_style,
    glyphs_for,
    line_style,
)
from clarinet_tui.chart.curve import NO_EXTENT, Curve, ReferenceLine, VerticalMark, extent_of
from clarinet_tui.chart.picture import picture_grid
from clarinet_tui.chart.render import Axes, ChartSpec, render_chart

X = np.arange(1000.0)
FLAT = np.full(1000, 5.0)
MEAN = Curve.through(X, FLAT, colour_index=0)
BAND = Curve.through(X, FLAT, FLAT - 3, FLAT + 3, colour_index=0, filled=True)
UNIT = (0.0, 10.0)


def render(*lines: Curve, width: int = 60, height: int = 16, **fields: object) -> tuple[CellGrid, Axes]:
    options = {"x_range": extent_of(lines), **fields}
    return render_chart(ChartSpec(width, height, lines, **options))  # type: ignore[arg-type]


def rows_of(*lines: Curve, width: int = 60, height: int = 16, **fields: object) -> list[str]:
    """The rows of the chart, after a check of their size."""
    text = render(*lines, width=width, height=height, **fields)[0].text()
    assert len(text) == height
    assert {len(row) for row in text} == {width}
    return text


def plot_of(*lines: Curve, **fields: object) -> list[str]:
    """The part right of the y axis, without the grid."""
    text = rows_of(*lines, **fields)  # type: ignore[arg-type]
    return [row.split("┤" if "┤" in row else "│", 1)[-1].replace("┈", " ") for row in text if "┤" in row or "│" in row]


def labels_of(text: list[str]) -> list[str]:
    return [row.split("┤")[0].strip() for row in text if "┤" in row]


def drawn_cells(text: list[str]) -> set[tuple[int, int]]:
    """Row and column of each cell with a line or a marker."""
    return {
        (y, x)
        for y, row in enumerate(text)
        for x, character in enumerate(row)
        if 0x2800 < ord(character) < 0x2900 or character == "●"
    }


def assert_gap(text: list[str], start: float, stop: float, *rows: int) -> None:
    """Check that columns outside a part of the width are drawn, and none inside it."""
    columns = {x for y, x in drawn_cells(text) if not rows or y in rows}
    width = len(text[0]) - 1
    assert columns
    assert not columns & set(range(int(width * start), int(width * stop)))


def test_a_single_peak_among_a_million_points_reaches_the_top() -> None:
    y = np.zeros(1_000_000)
    y[654_321] = 100.0
    text = plot_of(Curve.through(np.arange(y.size), y))
    peak = {x for row, x in drawn_cells(text[:8])}
    assert len(peak) == 1
    assert peak.pop() == pytest.approx(len(text[0]) * 0.654, abs=2)


def test_nan_is_a_gap_with_crosses_below() -> None:
    y = np.full(1000, 5.0)
    y[400:600] = np.nan
    assert_gap(plot_of(Curve.through(X, y)), 0.42, 0.58)
    crosses = next(row for row in rows_of(Curve.through(X, y)) if "NaN" in row)
    assert crosses.count("×") == pytest.approx(0.2 * (60 - 7), abs=2)


def test_a_missing_point_is_a_gap_and_marked_also_among_many() -> None:
    assert_gap(plot_of(Curve.through(range(5), [1, 1, math.nan, 1, 1])), 0.3, 0.7)
    y = np.full(100_000, 5.0)
    y[50_000] = np.nan
    assert "".join(rows_of(Curve.through(np.arange(y.size), y))).count("×") == 1
    text = rows_of(Curve.through(X, np.full(1000, np.nan)))
    assert not drawn_cells(text)
    assert "×" * 50 in "".join(text)


def test_empty_chart_draws_only_axes() -> None:
    for lines in ((), (Curve.through([], []),)):
        text = rows_of(*lines)
        assert not drawn_cells(text)
        assert "╰" in text[-2]
    assert not any(character.isdigit() for character in "".join(rows_of(x_range=NO_EXTENT))), "no invented numbers"


def test_a_single_point_is_one_marker_and_a_constant_line_is_flat() -> None:
    text = rows_of(Curve.through([7], [3.5]))
    assert "".join(text).count("●") == 1
    assert len(drawn_cells(text)) == 1
    for value in (0.0, 81.25, -1e9, 1e-9):
        text = plot_of(Curve.through(X, np.full(1000, value)))
        assert len({y for y, _ in drawn_cells(text)}) == 1


def test_symlog_keeps_the_sign() -> None:
    text = rows_of(Curve.through(X, np.linspace(-100, 1000, 1000)), height=24, scale="symlog")
    labels = labels_of(text)
    assert "0" in labels
    above, below = labels[: labels.index("0")], labels[labels.index("0") + 1 :]
    assert {label[0] for label in above} == {"+"}
    assert {label[0] for label in below} == {"-"}
    assert any("───" in row for row in text if row.lstrip().startswith("0 ┤"))


def test_log_scale_marks_non_positive_values_with_an_arrow() -> None:
    y = np.logspace(-3, 3, 1000)
    y[500] = -1.0
    text = rows_of(Curve.through(X, y), height=24, scale="log")
    assert sum(row.count("▼") for row in text) == 1
    labels = labels_of(text)
    assert {"100", "1", "0.01"} <= set(labels)


def test_smoothing_draws_the_raw_values_faintly() -> None:
    y = 5 + np.random.default_rng(1).normal(size=1000)
    raw, smoothed = (render(Curve.through(X, y), smoothing=share)[0] for share in (0.0, 0.05))
    assert len(np.unique(raw.styles[:-2, 7:])) + 1 == len(np.unique(smoothed.styles[:-2, 7:]))


def test_line_is_drawn_between_two_points_outside_the_window() -> None:
    text = plot_of(Curve.through([0, 100], [0, 100]), x_range=(40.0, 60.0))
    assert len({x for _, x in drawn_cells(text)}) > 45


def test_marks_crosshair_and_lines_without_colour() -> None:
    lines = (Curve.through(X, X), Curve.through(X, X[::-1]))
    text = rows_of(*lines, marks=(VerticalMark(500.0, "stage 2"),), crosshair=250.0)
    assert "┊stage 2" in "".join(text)
    assert "250" in text[-1]
    assert sum(row.count("│") > 1 for row in text) > 5
    assert "●" in "".join(text)
    assert "■" in "".join(text)


@pytest.mark.parametrize(("glyphs", "characters"), [(QUADRANTS, "▘▝▀▖▌▞▛▗▚▐▜▄▙▟█"), (HALVES, "▀▄█")])
def test_block_characters_replace_braille_and_bands_are_shaded(glyphs: GlyphSet, characters: str) -> None:
    text = "".join(rows_of(Curve.through(X, X), glyphs=glyphs))
    assert not any(0x2800 <= ord(character) < 0x2900 for character in text)
    assert sum(text.count(character) for character in characters) > 40
    assert "".join(rows_of(MEAN, references=(BAND,), glyphs=glyphs)).count("░") > 200


@pytest.mark.parametrize(
    ("environ", "encoding", "glyphs"),
    [
        ({"TERM": "xterm-256color"}, None, BRAILLE),
        ({"TERM": "xterm"}, "utf-8", BRAILLE),
        ({"TERM": "linux"}, "utf-8", HALVES),
        ({}, "latin-1", HALVES),
        ({"TERM": "linux", "CLARINET_GLYPHS": "quadrants"}, "latin-1", QUADRANTS),
        ({"TERM": "xterm", "LANG": "C"}, None, QUADRANTS),
        ({"TERM": "xterm", "LANG": "C", "LC_ALL": "en_US.UTF-8"}, None, BRAILLE),
        ({"TERM": "screen", "LANG": "C.utf8"}, None, BRAILLE),
    ],
)
def test_glyphs_fit_terminal_and_encoding(environ: dict[str, str], encoding: str | None, glyphs: GlyphSet) -> None:
    assert glyphs_for(environ, encoding) is glyphs


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 2), (12, 3), (20, 5), (200, 55)])
@pytest.mark.parametrize("scale", ["linear", "log", "symlog"])
def test_every_size_and_scale_can_be_drawn(width: int, height: int, scale: str) -> None:
    lines = (Curve.through(X, np.sin(X)), Curve.through([1.0], [math.nan]))
    empty = Curve.through([], [], filled=True)
    references = (BAND, empty, ReferenceLine(-3.0, "below"), Curve.through(X, FLAT))
    marks = (VerticalMark(10.0, "x"),)
    rows_of(*lines, width=width, height=height, scale=scale, references=references, marks=marks, crosshair=3.0)


def test_huge_and_tiny_values_have_labels_that_fit() -> None:
    for y in (X * 1e300, X * 1e-300, 1e12 + X, X * 1e-7):
        for scale in ("linear", "log", "symlog"):
            text = rows_of(Curve.through(X, y), width=80, scale=scale)
            assert any("┤" in row for row in text)


def test_lines_that_coincide_take_turns_and_show_both_markers() -> None:
    text = "".join(rows_of(*[Curve.through(range(9), [5.0] * 9)] * 2))
    assert min(text.count("●"), text.count("■")) >= 3
    drawn = Counter(render(*[Curve.through(X, FLAT)] * 2, height=8)[0].styles.ravel().tolist())
    assert min(drawn[line_style(0)], drawn[line_style(1)]) > 15


def dots(text: list[str]) -> int:
    return sum((ord(one) - 0x2800).bit_count() for row in text for one in row if 0x2800 < ord(one) < 0x2900)


def test_a_band_is_sparse_where_an_envelope_is_solid() -> None:
    band = plot_of(MEAN, references=(BAND,), y_range=UNIT)
    solid = plot_of(Curve.through(X, FLAT, FLAT - 3, FLAT + 3), y_range=UNIT)
    assert sum("⣿" * 20 in row for row in solid) >= 7
    assert {y for y, _ in drawn_cells(band)} == {y for y, _ in drawn_cells(solid)}
    assert dots(band) < dots(solid) / 3


def test_axes_cover_bands_and_scale_only_data() -> None:
    alone, banded = (render(MEAN, references=references)[1] for references in ((), (BAND,)))
    _, unseen = render(MEAN, scale_only=(BAND,))
    assert banded.low <= 2 < alone.low
    assert banded.high >= 8 > alone.high
    assert (unseen.low, unseen.high) == (banded.low, banded.high)


def test_a_band_has_a_gap_where_an_edge_is_unknown() -> None:
    low = FLAT - 3
    low[400:600] = np.nan
    band = Curve.through(X, FLAT, low, FLAT + 3, colour_index=0, filled=True)
    assert_gap(plot_of(MEAN, references=(band,), y_range=UNIT), 0.42, 0.58, 4, 5)


def test_a_band_of_few_points_is_shaded_between_them_also_when_zoomed() -> None:
    band = Curve.through([0, 100], [5, 5], [2, 2], [8, 8], colour_index=0, filled=True)
    for window in ((0.0, 100.0), (40.0, 60.0)):
        text = plot_of(Curve.through([0, 100], [5, 5]), references=(band,), x_range=window)
        assert len({x for _, x in drawn_cells(text)}) > 45


def test_reference_line_is_dashed_labelled_and_within_the_axes() -> None:
    text = rows_of(MEAN, references=(ReferenceLine(93.1, "published 93.1"),))
    rule = next(row for row in text if "published 93.1" in row)
    assert rule.count("╍") > 30
    assert text.index(rule) < 3


def test_dimmed_lines_have_no_markers() -> None:
    members = tuple(Curve.through(X, FLAT + shift, colour_index=index) for shift, index in ((2, 0), (-2, None)))
    grid, axes = render(MEAN, references=members)
    assert {faint_style(0), REFERENCE} <= set(np.unique(grid.styles))
    lone, _ = render(MEAN, y_range=(axes.low, axes.high))
    assert "".join(grid.text()).count("●") == "".join(lone.text()).count("●")


def test_crosshair_covers_bands_but_not_lines() -> None:
    grid, axes = render(MEAN, references=(BAND,), crosshair=500.0, y_range=UNIT)
    column = axes.left + (axes.column(500.0) or 0)
    characters = [row[column] for row in grid.text()[: axes.height]]
    assert characters.count("│") == axes.height - 1
    assert band_style(0) in grid.styles


def test_pictures_are_side_by_side_above_their_captions() -> None:
    black, white = np.zeros((8, 8, 3), np.uint8), np.full((8, 8, 3), 255, np.uint8)
    pictures = [(black, ("cat",)), (white, ("a very long name of a class",)), (black, ("dog\x1b[31m", "90 %"))]
    lines = picture_grid(pictures, 20, colour=False, columns=8).plain.splitlines()
    assert lines[:4] == [" " * 10 + "@" * 8] * 4
    assert lines[4] == "cat       a very …"
    assert [line.strip() for line in lines[6:10]] == [""] * 4
    assert lines[10].isprintable()
    assert lines[10].startswith("dog")
    assert lines[11] == "90 %"
    assert max(map(len, lines)) <= 20
    coloured = picture_grid(pictures[:1], 1, colour=True)
    assert coloured.plain.splitlines()[0] == "▀" * 16
