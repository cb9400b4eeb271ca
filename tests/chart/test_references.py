"""Bands, reference lines and dimmed lines, checked through the characters that are drawn."""

import numpy as np
import pytest

from clarinet_tui.chart.cells import HALVES, QUADRANTS, REFERENCE, band_style, faint_style
from clarinet_tui.chart.curve import Curve, ReferenceLine
from clarinet_tui.chart.render import render_chart
from tests.support.charts import drawn_cells, make_spec, plot_area, render_rows

X = np.arange(1000.0)
FLAT = np.full(1000, 5.0)
MEAN = Curve.through(X, FLAT, colour_index=0)
BAND = Curve.through(X, FLAT - 3, FLAT - 3, FLAT + 3, colour_index=0, filled=True)


def dots(text: list[str]) -> int:
    return sum((ord(one) - 0x2800).bit_count() for row in text for one in row if 0x2800 < ord(one) < 0x2900)


def test_a_band_is_sparse_where_an_envelope_is_solid() -> None:
    band = plot_area(render_rows(make_spec(MEAN, references=(BAND,), y_range=(0.0, 10.0))))
    solid = plot_area(render_rows(make_spec(Curve.through(X, FLAT, FLAT - 3, FLAT + 3), y_range=(0.0, 10.0))))
    assert {y for y, _ in drawn_cells(band)} == {y for y, _ in drawn_cells(solid)}
    assert dots(band) < dots(solid) / 3


def test_axes_cover_bands_and_scale_only_data() -> None:
    alone, banded = (render_chart(make_spec(MEAN, references=references)).axes for references in ((), (BAND,)))
    unseen = render_chart(make_spec(MEAN, scale_only=(BAND,))).axes
    assert banded.low <= 2 < alone.low
    assert banded.high >= 8 > alone.high
    assert (unseen.low, unseen.high) == (banded.low, banded.high)


def test_a_band_has_a_gap_where_an_edge_is_unknown() -> None:
    low = FLAT - 3
    low[400:600] = np.nan
    text = plot_area(
        render_rows(
            make_spec(
                MEAN,
                references=(Curve.through(X, low, low, FLAT + 3, colour_index=0, filled=True),),
                y_range=(0.0, 10.0),
            )
        )
    )
    columns = {x for y, x in drawn_cells(text) if y in (4, 5)}
    width = len(text[0]) - 1
    assert columns
    assert not columns & set(range(int(width * 0.42), int(width * 0.58)))


def test_a_band_of_few_points_is_shaded_between_them_also_when_zoomed() -> None:
    band = Curve.through([0, 100], [2, 2], [2, 2], [8, 8], colour_index=0, filled=True)
    for window in ((0.0, 100.0), (40.0, 60.0)):
        text = plot_area(render_rows(make_spec(Curve.through([0, 100], [5, 5]), references=(band,), x_range=window)))
        assert len({x for _, x in drawn_cells(text)}) > 45


@pytest.mark.parametrize("glyphs", [QUADRANTS, HALVES])
def test_band_without_braille_is_shaded(glyphs: object) -> None:
    text = "".join(render_rows(make_spec(MEAN, references=(BAND,), glyphs=glyphs)))
    assert text.count("░") > 200


def test_reference_line_is_dashed_labelled_and_within_the_axes() -> None:
    text = render_rows(make_spec(MEAN, references=(ReferenceLine(93.1, "published 93.1"),)))
    rule = next(row for row in text if "published 93.1" in row)
    assert rule.count("╍") > 30
    assert text.index(rule) < 3


def test_dimmed_lines_have_no_markers() -> None:
    members = tuple(Curve.through(X, FLAT + shift, colour_index=index) for shift, index in ((2, 0), (-2, None)))
    chart = render_chart(make_spec(MEAN, references=members))
    assert {faint_style(0), REFERENCE} <= set(np.unique(chart.grid.styles))
    lone = render_chart(make_spec(MEAN, y_range=(chart.axes.low, chart.axes.high)))
    assert "".join(chart.grid.text()).count("●") == "".join(lone.grid.text()).count("●")


def test_crosshair_covers_bands_but_not_lines() -> None:
    chart = render_chart(make_spec(MEAN, references=(BAND,), crosshair=500.0, y_range=(0.0, 10.0)))
    column = chart.axes.left + (chart.axes.column(500.0) or 0)
    characters = [row[column] for row in chart.grid.text()[: chart.axes.height]]
    assert characters.count("│") == chart.axes.height - 1
    assert band_style(0) in chart.grid.styles


def test_edges_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="equal lengths"):
        Curve.through([1, 2], [1, 2], [1, 2], [1], filled=True)


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 2), (20, 5), (200, 55)])
def test_every_size_and_scale_can_be_drawn(width: int, height: int) -> None:
    references = (
        BAND,
        Curve.through([], [], [], [], filled=True),
        ReferenceLine(-3.0, "below"),
        Curve.through(X, FLAT),
    )
    for scale in ("linear", "log", "symlog"):
        render_rows(make_spec(MEAN, references=references, width=width, height=height, scale=scale))
