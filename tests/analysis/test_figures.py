"""Figures: their runs, their content, and reproducible files."""

import io
import math
import re
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from clarinet_tui.analysis.choices import FORMATS, Format
from clarinet_tui.analysis.figures.figure import (
    ConfusionMatrix,
    Figure,
    FigureCurve,
    HeatMap,
    Panel,
    PointCloud,
    colour_indices,
    figure_object,
)
from clarinet_tui.analysis.figures.kinds import (
    accuracy_figure,
    confusion_figure,
    find_figure_runs,
    losses_figure,
    setting_figure,
)
from clarinet_tui.analysis.figures.matplotlib_output import DARK, MATPLOTLIB_MARKERS, PRINT, marker_style, render_figure
from clarinet_tui.analysis.figures.terminal_output import figure_lines
from clarinet_tui.analysis.published import MAIN_METHODS
from clarinet_tui.chart.cells import BRAILLE, HALVES, GlyphSet
from clarinet_tui.chart.curve import Curve, Floats
from clarinet_tui.chart.palette import MARKERS
from clarinet_tui.history.axes import AXES
from core.errors import InputError
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs


def panel_curves(figure: Figure) -> list[tuple[Panel, FigureCurve]]:
    return [(panel, curve) for panel in figure.panels if isinstance(panel, Panel) for curve in panel.curves]


def on_terminal(figure: Figure, *, width: int = 80, glyphs: GlyphSet = BRAILLE) -> list[str]:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(*figure_lines(figure, width, glyphs), sep="\n")
    return page.getvalue().splitlines()


def test_accuracy_curve_has_band_members_and_published_result(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [20, 60], seed=1)
    make_trained_run(tmp_path, "bbb", [40, 80], seed=2)
    make_trained_run(tmp_path, "ccc", [90, 90, 90], seed=3, end="running")
    make_trained_run(tmp_path, "ddd", [99, 99], seed=4, epochs=9)
    records = read_runs(tmp_path)
    figure = accuracy_figure(records, find_figure_runs(records))
    (panel, curve), (_, other) = panel_curves(figure)
    assert (panel.title, curve.name, curve.published) == ("U→M", "CLARINET epochs=3", 83.692)
    assert (other.name, other.mean.tolist()) == ("CLARINET epochs=9", [99, 99])
    np.testing.assert_allclose(curve.mean, [30, 70])  # neither the running one nor that of another variant
    np.testing.assert_allclose(curve.low, np.array([30, 70]) - np.sqrt(200))
    assert sorted(len(member.x) for member in curve.members) == [2, 2, 3]
    assert any(note.endswith("protocol, which preset smoke does not follow.") for note in figure.notes)


def test_two_step_curve_starts_after_stage_1(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50, 60], method="gac+dann", task="Y->D")
    records = read_runs(tmp_path)
    runs = find_figure_runs(records)
    positions = {}
    for axis in AXES:
        ((panel, curve),) = panel_curves(accuracy_figure(records, runs, axis=axis))
        np.testing.assert_array_equal(curve.mean, [50, 60])
        assert curve.published is None
        positions[panel.x_name] = curve.x.tolist()
    batch = runs.sides[0].settings
    assert batch is not None
    stage1 = 20 * batch["stage1.batch_size"]
    seconds = [30 / 64, 40 / 64]
    images = [stage1 + 20 * batch["batch_size"], stage1 + 40 * batch["batch_size"]]
    assert positions["epoch"] == [3, 4]
    assert positions["adaptation epoch"] == [1, 2]
    assert next(values for name, values in positions.items() if "time" in name) == seconds
    unit = 1e3 if "images trained on (thousands)" in positions else 1
    assert next(values for name, values in positions.items() if "images" in name) == [count / unit for count in images]


def test_missing_values_on_an_axis_are_noted(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50], method="gac")
    records = read_runs(tmp_path)
    figure = accuracy_figure(records, find_figure_runs(records), axis="adaptation-epoch")
    assert figure.panels == ()
    assert "U→M GAC: no values along adaptation epoch" in figure.notes


def test_one_preset_is_drawn_and_others_are_listed(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (50, 60))
    make_trained_run(tmp_path, "ccc", [70], preset="quick")
    records = read_runs(tmp_path)
    assert find_figure_runs(records).notes == ("excluded: preset quick (1 run)",)
    ((_, curve),) = panel_curves(accuracy_figure(records, find_figure_runs(records, preset="quick"), band="range"))
    assert curve.mean.tolist() == [70]
    with pytest.raises(InputError, match="no run matches 'seed:9'"):
        find_figure_runs(records, "seed:9")


def test_losses_are_bounded_and_a_single_run_has_an_envelope(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50] * 30)
    make_trained_run(tmp_path, "bbb", [50] * 30, method="gac+dann")
    make_trained_run(tmp_path, "ccc", [50] * 30, method="gac+dann", seed=2)
    records = read_runs(tmp_path)
    figure = losses_figure(records, find_figure_runs(records), points=20)
    curves = {(panel.title, curve.name): curve for panel, curve in panel_curves(figure)}
    titles, names = ("U→M: complementary loss", "U→M: adversarial loss"), ("CLARINET", "GAC+DANN")
    assert set(curves) == set(product(titles, names))
    alone = curves["U→M: complementary loss", "CLARINET"]
    assert len(alone.x) == 20
    assert alone.low[0] < alone.mean[0] < alone.high[0]
    with pytest.raises(InputError, match="no run has 'mmd'"):
        losses_figure(records, find_figure_runs(records), metrics=["mmd"])


def test_confusion_sums_the_counted_runs(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50, 80], seed=1)
    make_trained_run(tmp_path, "bbb", [50, 60], seed=2)
    make_trained_run(tmp_path, "ccc", [10], seed=3, end="failed")
    records = read_runs(tmp_path)
    figure = confusion_figure(records, find_figure_runs(records))
    assert figure.panels == (ConfusionMatrix("U→M CLARINET (2 runs)", ("cat", "dog"), ((140, 60), (60, 140))),)
    assert any("cat   70  30" in line for line in on_terminal(figure))


def test_accuracy_against_a_setting_has_a_curve_for_each_combination_of_the_others(tmp_path: Path) -> None:
    for place, (share, reached) in enumerate(((0.1, 40.0), (0.1, 44.0), (1.0, 80.0))):
        make_trained_run(tmp_path, f"run{place}", [reached], seed=place + 1, source_fraction=share)
    make_trained_run(tmp_path, "other", [99.0], source_fraction=0.5, epochs=9)
    records = read_runs(tmp_path)
    figure = setting_figure(records)
    (panel, curve), (_, other) = panel_curves(figure)
    assert panel.has_error_bars
    assert panel.x_ticks == {-1.0: "0.1", math.log10(0.5): "0.5", 0.0: "1"}, "a decade is logarithmic"
    assert (curve.name, curve.x.tolist(), curve.mean.tolist()) == ("CLARINET epochs=3", [-1.0, 0.0], [42.0, 80.0])
    np.testing.assert_allclose(curve.low, [42 - np.sqrt(8), np.nan])
    assert sorted(member.mean.tolist() for member in curve.members) == [[40.0], [44.0], [80.0]]
    assert (other.name, other.mean.tolist()) == ("CLARINET epochs=9", [99.0])
    for along in ((), ("jitter",)):
        with pytest.raises(InputError, match="finished runs do not differ in"):
            setting_figure(records, "seed:3", along)


def test_two_settings_make_a_heat_map(tmp_path: Path) -> None:
    for place, (rate, batch, reached) in enumerate(((0.1, 8, 40.0), (0.1, 8, 44.0), (1.0, 8, 80.0), (1.0, 16, 60.0))):
        make_trained_run(tmp_path, f"run{place}", [reached], seed=place, classifier_rate=rate, batch_size=batch)
    figure = setting_figure(read_runs(tmp_path), "", ("classifier_rate", "batch_size"))
    (panel,) = figure.panels
    assert isinstance(panel, HeatMap)
    assert (panel.title, panel.columns, panel.rows) == ("U→M CLARINET", ("0.1", "1"), ("8", "16"))
    assert panel.means == ((42.0, 80.0), (None, 60.0))
    lines = on_terminal(figure)
    assert any("batch_size" in line and "0.1" in line for line in lines)
    assert any(re.search(r"16 +· +60.0", line) for line in lines)
    assert render_figure(figure, "svg", real_text=True).count(b">80.0<") == 1
    assert figure_object(figure)["panels"][0]["means"] == panel.means


def test_settings_that_are_no_numbers_are_in_order(tmp_path: Path) -> None:
    for place, (optimizer, reached) in enumerate((("sgd", 40.0), ("adam", 50.0))):
        make_trained_run(tmp_path, f"run{place}", [reached], optimizer=optimizer)
    ((panel, curve),) = panel_curves(setting_figure(read_runs(tmp_path), "", ("optimizer",)))
    assert (panel.x_ticks, curve.mean.tolist()) == ({0.0: "adam", 1.0: "sgd"}, [50.0, 40.0])


def make_curve(
    name: str, index: int, x: Floats, y: Floats, low: Floats | None = None, high: Floats | None = None, **fields: Any
) -> FigureCurve:
    curve = FigureCurve.through(x, y, low, high, name=name, colour_index=index, filled=low is not None)
    return replace(curve, **fields)


def hostile_figure() -> Figure:
    """Hostile names, gaps, a single point."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, np.nan, 3.0, 2.0])
    hostile = "$\\frac{ <b>&\x1b[2J [red]数"
    first = make_curve(hostile, 0, x, y, y - 1, y + 1, members=(Curve.through(x, y),), published=2.5)
    lines = (first, make_curve("one point", 9, x[:1], y[:1]))
    return Figure(
        "strange",
        hostile,
        (Panel(hostile, "epoch", "%", lines), ConfusionMatrix(hostile, ("a", hostile), ((1, 0), (0, 0)))),
        (hostile,),
    )


@pytest.mark.parametrize("format", FORMATS)
def test_files_are_reproducible_and_have_no_date(format: Format) -> None:  # noqa: A002
    rendered = render_figure(hostile_figure(), format, width=3.3)
    assert rendered == render_figure(hostile_figure(), format, width=3.3)
    assert rendered.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format])
    assert b"Date" not in rendered
    if format == "pdf":
        assert b"/FontFile2" in rendered  # the fonts are in it
    if format == "svg":
        assert b"<text" not in rendered  # letters are outlines
        assert b"<b>" not in rendered
        searchable = render_figure(hostile_figure(), "svg", real_text=True).decode()
        assert "$\\frac{ &lt;b&gt;&amp;[2J [red]数" in searchable
        assert "<b>" not in searchable


def test_terminal_draws_ticks_markers_and_published_results() -> None:
    x = np.arange(101.0)
    curves = make_curve("up", 0, x, x, published=50.0), make_curve("down", 1, x, 100 - x)
    figure = Figure("d", "t", (Panel("p", "epoch", "%", curves),))
    shown = on_terminal(figure, width=60)
    assert shown[0] == "p"
    rows = shown[1:16]
    assert rows[0].startswith(" 100 ┤⠙⠲⣄")
    assert rows[0].rstrip().endswith("⠖●")
    assert rows[-1].rstrip().endswith("■")
    assert [index for index, row in enumerate(rows) if row.count("╍") > 15] == [7]  # the published result
    assert shown[16].endswith("epoch")
    assert shown[17].split() == ["0", "25", "50", "75", "100"]
    assert shown[18:20] == ["  ● up  100  published 50", "  ■ down  0"]
    plain = on_terminal(figure, width=60, glyphs=HALVES)
    assert not any("⠀" <= character <= "⣿" for row in plain for character in row)


def test_terminal_draws_bands_of_few_curves_and_error_bars() -> None:
    x = np.arange(50.0)
    curves = tuple(make_curve(f"c{index}", index, x, x, x - 20, x + 20) for index in range(4))
    few, many = (on_terminal(Figure("d", "t", (Panel("p", "x", "y", some),))) for some in (curves[:1], curves))
    assert sum(row.count("⠁") + row.count("⢀") for row in few) > sum(row.count("⠁") + row.count("⢀") for row in many)
    point = make_curve("c", 0, x[:2], x[:2] + 5, x[:2], x[:2] + 10)
    bars = on_terminal(Figure("d", "t", (Panel("p", "x", "y", (point,), has_error_bars=True),)))
    assert sum("⡇" in row or "⢸" in row for row in bars) > 8


def test_names_with_control_characters_and_numbers_with_gaps() -> None:
    shown = "\n".join(on_terminal(hostile_figure()))
    assert "\x1b" not in shown
    assert "[red]" in shown
    line = figure_object(hostile_figure())["panels"][0]["lines"][0]
    assert line["y"] == [1.0, None, 3.0, 2.0]
    assert line["runs"][0]["x"] == [1.0, 2.0, 3.0, 4.0]


def test_methods_have_fixed_and_distinct_looks() -> None:
    variants = [("gac", "GAC a=1"), ("mine", "mine"), ("clarinet", "CLARINET"), ("gac", "GAC a=2")]
    assert colour_indices(variants) == {"GAC a=1": 7, "mine": 1, "CLARINET": 0, "GAC a=2": 2}
    methods = (*MAIN_METHODS, "basset", "fwd+basset", "fwd+basset-kept", "clarinet-no-t")
    compared = colour_indices(zip(methods, methods, strict=True))
    for theme in (PRINT, DARK):
        assert len({theme.line(compared[method]) for method in [*compared][:-1]}) == len(compared) - 1
        looks = {(theme.line(index), MARKERS[index % len(MARKERS)]) for index in range(70)}
        assert len(looks) == 70
        assert len({str(marker_style(index, theme)) for index in range(len(MARKERS))}) == len(MARKERS)
    assert set(MATPLOTLIB_MARKERS) == set(MARKERS)


def test_legend_has_the_order_of_the_paper(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "one", [20, 60], task="U->M")
    for name, method in (("two", "gac"), ("three", "gac+dann"), ("four", "clarinet")):
        make_trained_run(tmp_path, name, [20, 60], task="M->U", method=method)
    records = read_runs(tmp_path)
    svg = render_figure(accuracy_figure(records, find_figure_runs(records)), "svg", real_text=True).decode()
    legend = svg[svg.index('id="legend_1"') :]
    positions = [legend.index(f">{label}<") for label in ("GAC", "GAC+DANN", "CLARINET", "published")]
    assert positions == sorted(positions)


def test_point_clouds_are_side_by_side_where_they_fit() -> None:
    square, classes = np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0, -1])
    cloud = PointCloud("start: A 1.00", ("cat", "eel"), square, square[:, ::-1] * (1, 0.5), classes, classes)
    figure = Figure("features", "Feature space", (cloud, cloud))
    wide, narrow = (on_terminal(figure, width=width) for width in (80, 60))
    assert wide[0].count("start: A 1.00") == 2
    assert [line.count("start: A 1.00") for line in narrow].count(1) == 2
    assert wide[1].split() == ["·", "·"]
    assert wide[1].endswith("·")
    assert "?" in "".join(wide)
    assert sum("symbols: target, dots: source  0 cat  1 eel" in line for line in wide + narrow) == 2
