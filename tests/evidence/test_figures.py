"""Figures: which runs are in them, what is drawn, and that files are the same every time."""

import io
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from clarinet_tui.chart.glyphs import BRAILLE, HALVES, QUADRANTS, GlyphSet, glyphs_for
from clarinet_tui.chart.palette import MARKERS
from clarinet_tui.evidence.choices import FORMATS, Format
from clarinet_tui.evidence.figures.accuracy import accuracy_figure
from clarinet_tui.evidence.figures.budget import budget_figure
from clarinet_tui.evidence.figures.confusion import confusion_figure
from clarinet_tui.evidence.figures.figure import ConfusionMatrix, Curve, Figure, Panel, colour_indices, figure_object
from clarinet_tui.evidence.figures.figure_runs import find_figure_runs
from clarinet_tui.evidence.figures.losses import losses_figure
from clarinet_tui.evidence.figures.matplotlib_output import render_figure
from clarinet_tui.evidence.figures.style import DARK, MATPLOTLIB_MARKERS, PRINT, marker_style
from clarinet_tui.evidence.terminal.figure import figure_view
from core.errors import InputError
from tests.support.cli import HEAVY, imported_modules
from tests.support.finished_runs import make_finished_run, read_runs
from tests.support.trained_runs import make_trained_run


def lines_of(figure: Figure) -> list[tuple[Panel, Curve]]:
    return [(panel, line) for panel in figure.panels if isinstance(panel, Panel) for line in panel.curves]


def on_terminal(figure: Figure, *, width: int = 80, glyphs: GlyphSet = BRAILLE) -> list[str]:
    page = io.StringIO()
    Console(file=page, width=width, highlight=False).print(figure_view(figure, width, glyphs))
    return page.getvalue().splitlines()


def test_accuracy_is_a_mean_over_seeds_with_a_band_runs_behind_it_and_the_published_level(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [20, 60], seed=1)
    make_trained_run(tmp_path, "bbb", [40, 80], seed=2)
    make_trained_run(tmp_path, "ccc", [90, 90, 90], seed=3, end="running")
    make_trained_run(tmp_path, "ddd", [99, 99], seed=4, epochs=9)
    reader = read_runs(tmp_path)
    figure = accuracy_figure(reader, find_figure_runs(reader))
    ((panel, line),) = lines_of(figure)
    assert (panel.title, line.label, line.published) == ("U→M", "CLARINET", 83.692)
    np.testing.assert_allclose(line.y, [30, 70])  # neither the one that goes on nor that of another protocol
    assert line.low is not None
    np.testing.assert_allclose(line.low, np.array([30, 70]) - np.sqrt(200))
    assert sorted(len(y) for _, y in line.members) == [2, 2, 3]
    assert any("epochs is 9, not 3" in note for note in figure.notes)
    assert any(note.endswith("protocol, which preset smoke does not follow.") for note in figure.notes)


def test_a_two_step_line_begins_where_stage_1_is_paid_for(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50, 60], method="gac+dann", task="Y->D")
    reader = read_runs(tmp_path)
    runs = find_figure_runs(reader)
    places = {}
    for axis in ("epoch", "adaptation epoch", "samples", "device time"):
        ((panel, line),) = lines_of(accuracy_figure(reader, runs, axis=axis))
        np.testing.assert_array_equal(line.y, [50, 60])
        assert line.published is None
        places[panel.x_name] = line.x.tolist()
    batch = runs.sides[0].settings
    assert batch is not None
    stage1 = 20 * batch["stage1.batch_size"]
    seconds = [30 / 64, 40 / 64]
    images = [stage1 + 20 * batch["batch_size"], stage1 + 40 * batch["batch_size"]]
    assert places["epoch"] == [3, 4]
    assert places["adaptation epoch"] == [1, 2]
    assert next(values for name, values in places.items() if "time" in name) == seconds
    unit = 1e3 if "images trained on (thousands)" in places else 1
    assert next(values for name, values in places.items() if "images" in name) == [count / unit for count in images]


def test_what_has_no_place_on_the_axis_is_said(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50], method="gac")
    reader = read_runs(tmp_path)
    figure = accuracy_figure(reader, find_figure_runs(reader), axis="adaptation epoch")
    assert figure.panels == ()
    assert "U→M GAC: no values along adaptation epoch" in figure.notes


def test_one_preset_is_drawn_and_the_others_are_named(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50], seed=1)
    make_trained_run(tmp_path, "bbb", [60], seed=2)
    make_trained_run(tmp_path, "ccc", [70], preset="quick")
    reader = read_runs(tmp_path)
    assert find_figure_runs(reader).notes == ("excluded: preset quick (1 run)",)
    ((_, line),) = lines_of(accuracy_figure(reader, find_figure_runs(reader, preset="quick"), band="range"))
    assert line.y.tolist() == [70]
    with pytest.raises(InputError, match="no run matches 'seed:9'"):
        find_figure_runs(reader, "seed:9")


def test_losses_are_bounded_and_a_single_run_has_its_own_envelope(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50] * 30)
    make_trained_run(tmp_path, "bbb", [50] * 30, method="gac+dann")
    make_trained_run(tmp_path, "ccc", [50] * 30, method="gac+dann", seed=2)
    reader = read_runs(tmp_path)
    figure = losses_figure(reader, find_figure_runs(reader), points=20)
    found = {(panel.title, line.label): line for panel, line in lines_of(figure)}
    assert set(found) == {
        ("U→M: complementary loss", "CLARINET"),
        ("U→M: complementary loss", "GAC+DANN"),
        ("U→M: adversarial loss", "CLARINET"),
        ("U→M: adversarial loss", "GAC+DANN"),
    }
    alone = found["U→M: complementary loss", "CLARINET"]
    assert len(alone.x) == 20
    assert alone.low is not None
    assert alone.high is not None
    assert alone.low[0] < alone.y[0] < alone.high[0]
    with pytest.raises(InputError, match="no run has 'mmd'"):
        losses_figure(reader, find_figure_runs(reader), metrics=["mmd"])


def test_confusion_is_summed_over_the_runs_that_count(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [50, 80], seed=1)
    make_trained_run(tmp_path, "bbb", [50, 60], seed=2)
    make_trained_run(tmp_path, "ccc", [10], seed=3, end="failed")
    reader = read_runs(tmp_path)
    figure = confusion_figure(reader, find_figure_runs(reader))
    assert figure.panels == (ConfusionMatrix("U→M CLARINET (2 runs)", ("cat", "dog"), ((140, 60), (60, 140))),)
    assert any("cat   70  30" in line for line in on_terminal(figure))


def test_budget_takes_runs_that_differ_in_it_alone(tmp_path: Path) -> None:
    for place, (share, reached) in enumerate(((0.1, 40.0), (0.1, 44.0), (1.0, 80.0))):
        make_finished_run(tmp_path, f"run{place}", reached, seed=place + 1, source_fraction=share)
    make_finished_run(tmp_path, "other", 99.0, source_fraction=0.5, epochs=9)
    reader = read_runs(tmp_path)
    figure = budget_figure(reader)
    ((panel, line),) = lines_of(figure)
    assert panel.has_error_bars
    assert (line.x.tolist(), line.y.tolist()) == ([0.1, 1.0], [42.0, 80.0])
    assert line.low is not None
    np.testing.assert_allclose(line.low, [42 - np.sqrt(8), np.nan])
    assert "excluded: U→M CLARINET: differs in more than source_fraction (1 protocol)" in figure.notes
    with pytest.raises(InputError, match="finished runs do not differ"):
        budget_figure(reader, "seed:3")


def strange() -> Figure:
    """Hostile names, gaps, a single point."""
    x, y = np.array([1.0, 2.0, 3.0, 4.0]), np.array([1.0, np.nan, 3.0, 2.0])
    nasty = "$\\frac{ <b>&\x1b[2J [red]数"
    lines = (Curve(nasty, 0, x, y, y - 1, y + 1, ((x, y),), 2.5), Curve("one point", 9, x[:1], y[:1]))
    return Figure(
        "strange",
        nasty,
        (Panel(nasty, "epoch", "%", lines), ConfusionMatrix(nasty, ("a", nasty), ((1, 0), (0, 0)))),
        (nasty,),
    )


@pytest.mark.parametrize("format", FORMATS)
def test_files_are_the_same_every_time_and_say_nothing_of_when(format: Format) -> None:  # noqa: A002
    painted = render_figure(strange(), format, width=3.3)
    assert painted == render_figure(strange(), format, width=3.3)
    assert painted.startswith({"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[format])
    assert b"Date" not in painted
    if format == "pdf":
        assert b"/FontFile2" in painted  # the fonts are in it
    if format == "svg":
        assert b"<text" not in painted  # letters are outlines
        assert b"<b>" not in painted


def test_an_svg_with_real_text_escapes_it() -> None:
    painted = render_figure(strange(), "svg", real_text=True).decode()
    assert "$\\frac{ &lt;b&gt;&amp;[2J [red]数" in painted
    assert "<b>" not in painted


def test_a_terminal_draws_ticks_marks_gaps_and_levels() -> None:
    x = np.arange(101.0)
    figure = Figure(
        "d", "t", (Panel("p", "epoch", "%", (Curve("up", 0, x, x, published=50.0), Curve("down", 1, x, 100 - x))),)
    )
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
    curves = tuple(Curve(f"c{index}", index, x, x, x - 20, x + 20) for index in range(4))
    few, many = (on_terminal(Figure("d", "t", (Panel("p", "x", "y", some),))) for some in (curves[:1], curves))
    assert sum(row.count("⠁") + row.count("⢀") for row in few) > sum(row.count("⠁") + row.count("⢀") for row in many)
    point = Curve("c", 0, x[:2], x[:2] + 5, x[:2], x[:2] + 10)
    bars = on_terminal(Figure("d", "t", (Panel("p", "x", "y", (point,), has_error_bars=True),)))
    assert sum("⡇" in row or "⢸" in row for row in bars) > 8


def test_hostile_names_steer_no_terminal() -> None:
    assert not any("\x1b" in line for line in on_terminal(strange()))
    assert any("[red]" in line for line in on_terminal(strange()))


def test_braille_is_drawn_where_it_can_be_seen() -> None:
    assert glyphs_for({"TERM": "xterm"}, "utf-8") is BRAILLE
    assert glyphs_for({"TERM": "linux"}, "utf-8") is HALVES
    assert glyphs_for({}, "latin-1") is HALVES
    assert glyphs_for({"CLARINET_GLYPHS": "quadrants"}, "latin-1") is QUADRANTS


def test_a_method_looks_the_same_in_every_figure_and_no_two_look_alike() -> None:
    assert colour_indices(["gac", "mine", "clarinet", "yours"]) == {"gac": 7, "mine": 8, "clarinet": 0, "yours": 9}
    for theme in (PRINT, DARK):
        looks = {(theme.line(index), MARKERS[index % len(MARKERS)]) for index in range(70)}
        assert len(looks) == 70
        assert len({str(marker_style(index, theme)) for index in range(len(MARKERS))}) == len(MARKERS)
    assert set(MATPLOTLIB_MARKERS) == set(MARKERS)


def test_numbers_for_programs_have_gaps() -> None:
    panel = figure_object(strange())["panels"][0]
    assert panel["lines"][0]["y"] == [1.0, None, 3.0, 2.0]
    assert panel["lines"][0]["runs"][0]["x"] == [1.0, 2.0, 3.0, 4.0]


def test_figures_load_nothing_heavy_before_they_are_drawn() -> None:
    figures = [f"figures.{name}" for name in ("accuracy", "budget", "confusion", "losses", "matplotlib_output")]
    code = "\n".join(f"import clarinet_tui.evidence.{room}" for room in (*figures, "terminal.figure"))
    assert not imported_modules(code) & (HEAVY | {"numpy", "rich"})


def test_the_legend_has_the_papers_order_whatever_the_first_panel_lacks(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "one", [20, 60], task="U->M")
    for name, method in (("two", "gac"), ("three", "gac+dann"), ("four", "clarinet")):
        make_trained_run(tmp_path, name, [20, 60], task="M->U", method=method)
    reader = read_runs(tmp_path)
    svg = render_figure(accuracy_figure(reader, find_figure_runs(reader)), "svg", real_text=True).decode()
    legend = svg[svg.index('id="legend_1"') :]
    places = [legend.index(f">{label}<") for label in ("GAC", "GAC+DANN", "CLARINET", "published")]
    assert places == sorted(places)
