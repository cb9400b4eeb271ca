"""What lies behind the lines: bands, levels and company, read through the characters that are drawn."""

import time

import numpy as np
import pytest

from clarinet_tui.chart.cells import GHOST, faint, shade
from clarinet_tui.chart.glyphs import HALVES, QUADRANTS
from clarinet_tui.chart.legend import entries
from clarinet_tui.chart.references import Band, Level
from clarinet_tui.chart.render import draw
from clarinet_tui.chart.series import Line
from clarinet_tui.chart.spec import Plan
from tests.support.app import screen_text
from tests.ui.test_chart_picture import inked, plan_of, plot, rows
from tests.ui.test_chart_widget import ChartApp

X = np.arange(1000.0)
FLAT = np.full(1000, 5.0)
MEAN = Line.of("mean", X, FLAT, slot=0)
BAND = Band.of(X, FLAT - 3, FLAT + 3, slot=0)


def dots(text: list[str]) -> int:
    return sum((ord(sign) - 0x2800).bit_count() for row in text for sign in row if 0x2800 < ord(sign) < 0x2900)


def test_a_band_is_sparse_where_an_envelope_is_solid() -> None:
    band = plot(rows(plan_of(MEAN, behind=(BAND,), y_range=(0.0, 10.0))))
    solid = plot(rows(plan_of(Line.envelope("mean", X, FLAT - 3, FLAT + 3, FLAT), y_range=(0.0, 10.0))))
    assert {y for y, _ in inked(band)} == {y for y, _ in inked(solid)}
    assert dots(band) < dots(solid) / 3


def test_a_band_counts_for_the_height_of_the_axes_here_and_beside() -> None:
    alone, banded = (draw(plan_of(MEAN, behind=behind)).axes for behind in ((), (BAND,)))
    beside = draw(plan_of(MEAN, beside=(BAND,))).axes
    assert banded.low <= 2 < alone.low
    assert banded.high >= 8 > alone.high
    assert (beside.low, beside.high) == (banded.low, banded.high)


def test_a_band_has_a_gap_where_an_edge_is_unknown() -> None:
    low = FLAT - 3
    low[400:600] = np.nan
    text = plot(rows(plan_of(MEAN, behind=(Band.of(X, low, FLAT + 3, slot=0),), y_range=(0.0, 10.0))))
    columns = {x for y, x in inked(text) if y in (4, 5)}
    width = len(text[0]) - 1
    assert columns
    assert not columns & set(range(int(width * 0.42), int(width * 0.58)))


def test_a_band_of_few_points_is_shaded_between_them_also_when_zoomed() -> None:
    band = Band.of([0, 100], [2, 2], [8, 8], slot=0)
    for window in ((0.0, 100.0), (40.0, 60.0)):
        text = plot(rows(plan_of(Line.of("mean", [0, 100], [5, 5]), behind=(band,), window=window)))
        assert len({x for _, x in inked(text)}) > 45


@pytest.mark.parametrize("glyphs", [QUADRANTS, HALVES])
def test_without_braille_a_band_is_a_shade(glyphs: object) -> None:
    text = "".join(rows(plan_of(MEAN, behind=(BAND,), glyphs=glyphs)))
    assert text.count("░") > 200


def test_a_level_is_a_dashed_rule_with_its_label_that_the_axes_make_room_for() -> None:
    text = rows(plan_of(MEAN, behind=(Level(93.1, "published 93.1"),)))
    rule = next(row for row in text if "published 93.1" in row)
    assert rule.count("╍") > 30
    assert text.index(rule) < 3


def test_company_is_dim_and_has_no_markers() -> None:
    members = tuple(Line.of("", X, FLAT + shift, slot=slot) for shift, slot in ((2, 0), (-2, None)))
    picture = draw(plan_of(MEAN, behind=members))
    assert {faint(0), GHOST} <= set(np.unique(picture.field.styles))
    lone = draw(plan_of(MEAN, y_range=(picture.axes.low, picture.axes.high)))
    assert "".join(picture.field.text()).count("●") == "".join(lone.field.text()).count("●")


def test_a_crosshair_covers_bands_and_spares_lines() -> None:
    picture = draw(plan_of(MEAN, behind=(BAND,), crosshair=500.0, y_range=(0.0, 10.0)))
    column = picture.axes.left + (picture.axes.column(500.0) or 0)
    signs = [row[column] for row in picture.field.text()[: picture.axes.height]]
    assert signs.count("│") == picture.axes.height - 1
    assert shade(0) in picture.field.styles


def test_the_legend_reads_the_band_at_the_crosshair_and_names_ghosts() -> None:
    ghost = Band.of(X, FLAT, FLAT + 1, name="earlier seeds")
    mean, earlier = entries((MEAN,), 500.0, (BAND, ghost))
    assert mean.value == "5 (2…8)"
    assert (earlier.marker, earlier.name, earlier.value) == ("░", "earlier seeds", "")


def test_edges_of_different_length_are_refused() -> None:
    with pytest.raises(ValueError, match="of one length"):
        Band.of([1, 2], [1, 2], [1])


@pytest.mark.parametrize(("width", "height"), [(1, 1), (5, 2), (20, 5), (200, 55)])
def test_every_size_and_scale_can_be_drawn(width: int, height: int) -> None:
    behind = (BAND, Band.of([], [], []), Level(-3.0, "below"), Line.of("", X, FLAT))
    for scale in ("linear", "log", "symlog"):
        rows(plan_of(MEAN, behind=behind, width=width, height=height, scale=scale))


async def test_the_widget_tints_a_band_with_the_colour_of_its_line() -> None:
    app = ChartApp((MEAN,))
    app.chart.behind = (BAND, Level(9.5, "published 9.5"))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "published 9.5" in screen_text(app)
        grounds = {segment.style.bgcolor for strip in app.chart._strips for segment in strip if segment.style}
        assert len(grounds) == 2


def test_four_lines_with_bands_cost_no_more_than_a_blink() -> None:
    random = np.random.default_rng(0)
    x = np.arange(5000.0)
    lines = tuple(Line.of(str(slot), x, slot + random.normal(0, 0.2, x.size), slot=slot) for slot in range(4))
    bands = tuple(Band.of(x, line.mean - 0.5, line.mean + 0.5, slot=slot) for slot, line in enumerate(lines))
    started = time.process_time()
    draw(Plan(160, 48, lines, bands, window=(0.0, 4999.0))).field.runs()
    assert time.process_time() - started < 0.2
