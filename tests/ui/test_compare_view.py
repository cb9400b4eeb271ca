"""The Compare view: its selection, its keys, and its updates while runs train."""

import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from textual.content import Content
from textual.pilot import Pilot

from clarinet_tui.analysis.comparison import compare_runs
from clarinet_tui.chart.curve import Curve
from clarinet_tui.chart.palette import PALETTES, colour, marker
from clarinet_tui.cli.main import main
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot
from clarinet_tui.ui.text.differences import side_colours
from clarinet_tui.ui.themes import THEMES
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.comparison import CompareCharts
from clarinet_tui.ui.widgets.styled_text import StyledText
from tests.support.app import SIZES, WIDE, OpenedApp, expect_text, open_app, screen_text, wait_until
from tests.support.trained_runs import read_runs
from tests.support.ui_runs import five_seeds, more_epochs, three_runs, write_family_run


def compared(app: ClarinetApp) -> ComparisonSnapshot:
    assert app.state.snapshot is not None
    assert app.state.snapshot.comparison is not None
    return app.state.snapshot.comparison


def open_compare(runs_dir: Path, text: str = "arget accuracy %", size: tuple[int, int] = WIDE) -> OpenedApp:
    return open_app(runs_dir, view="4", text=text, size=size)


async def select_all(pilot: Pilot[None], text: str) -> None:
    """Clear both queries, so that every method of both families is compared."""
    await pilot.press("slash", "ctrl+u", "enter", "ctrl+u", "enter")
    await expect_text(pilot, text)


def sides(app: ClarinetApp) -> tuple[Chart, Chart]:
    charts = app.screen.query_one(CompareCharts)
    return charts.left, charts.right


@pytest.mark.parametrize("size", SIZES)
async def test_both_sides_have_the_same_axes_and_crosshairs_in_step(runs_dir: Path, size: tuple[int, int]) -> None:
    five_seeds(runs_dir)
    async with open_compare(runs_dir, size=size) as (app, pilot):
        left, right = sides(app)
        assert left.axes is not None
        assert right.axes is not None
        assert (left.axes.low, left.axes.high, left.axes.left) == (right.axes.low, right.axes.high, right.axes.left)
        assert left.window == right.window
        assert left.size == right.size
        assert left.header_rows <= left.min_header_rows == right.min_header_rows
        await pilot.press("right", "right", "plus", "L")
        await pilot.pause()
        assert left.crosshair == right.crosshair is not None
        assert left.view == right.view
        assert left.scale == right.scale == "log"


async def test_the_default_selection_is_described(runs_dir: Path) -> None:
    write_family_run(runs_dir, "old1", "clarinet", 1, task="M->U", age=9000)
    write_family_run(runs_dir, "old2", "gac+dan", 1, task="M->U", age=9000)
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    write_family_run(runs_dir, "new1", "clarinet", 1, task="S->M", age=10)
    async with open_compare(runs_dir) as (app, _):
        text = screen_text(app)
        assert "U→M smoke  5 one-step and 5 two-step runs · newest task with both families" in text
        assert compared(app).queries == ("task:U->M preset:smoke state:finished,running",) * 2


async def test_all_methods_are_shown_with_the_numbers_of_the_command_line(
    runs_dir: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    five_seeds(runs_dir)
    async with open_compare(runs_dir) as (app, pilot):
        left, right = sides(app)
        assert (len(left.lines), len(right.lines)) == (1, 1), "CLARINET and GAC+CDAN_E"
        await select_all(pilot, "5 one-step and 15 two-step runs · selected by queries")
        await wait_until(pilot, lambda: (len(left.lines), len(right.lines)) == (1, 3), "all methods")
        text = screen_text(app)
        await pilot.press("v")
        await wait_until(pilot, lambda: len(left.lines) == 4)
        assert not right.display
        assert len({line.colour_index for line in left.lines}) == 4
    monkeypatch.setattr(sys, "argv", ["clarinet", "compare", "--one-step", "", "--two-step", "", "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    shown = json.loads(capsys.readouterr().out)
    assert len(shown["differences"]) == 3
    for difference in shown["differences"]:
        assert f"{difference['paired']['difference']['mean']:+.2f}" in text
        assert (
            f"{difference['paired']['interval']['low']:+.2f} … {difference['paired']['interval']['high']:+.2f}" in text
        )
    for line in shown["differences"][0]["sentences"]:
        assert line in text


async def test_it_starts_with_an_existing_difference(runs_dir: Path) -> None:
    write_family_run(runs_dir, "one1", "clarinet", 1)
    write_family_run(runs_dir, "two1", "gac+dan", 2)
    write_family_run(runs_dir, "two2", "gac+dann", 1)
    async with open_compare(runs_dir) as (app, pilot):
        assert "no pairs" in screen_text(app)
        await expect_text(pilot, "CLARINET minus ◆ GAC+DANN")


async def test_text_colours_follow_the_theme(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))

    def is_coloured(app: ClarinetApp, words: str, palette: str) -> bool:
        shown = app.screen.query_one(words, StyledText).content
        assert isinstance(shown, Content)
        return not {str(span.style) for span in shown.spans}.isdisjoint(PALETTES[palette])

    async with open_compare(runs_dir) as (app, pilot):
        for theme in THEMES:
            app.theme = theme.name
            palette = theme.variables["chart-palette"]
            for words in ("#difference-table", "#difference-detail", "#difference-summary"):
                await wait_until(pilot, partial(is_coloured, app, words, palette), words)


async def test_keys_change_the_axis_the_band_and_the_metric(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    async with open_compare(runs_dir) as (app, pilot):
        left, right = sides(app)
        begins = {}
        for axis in ("samples", "epoch", "adaptation epoch", "device time", "iteration"):
            await wait_until(pilot, lambda axis=axis: left.x_name == axis, axis)  # type: ignore[misc]
            begins[axis] = (left.lines[0].x[0], right.lines[0].x[0])
            await pilot.press("x")
        assert begins["epoch"] == (1, 7), "a two-step run begins where its stage 1 has ended"
        assert begins["adaptation epoch"] == (1, 1)
        assert begins["device time"] == pytest.approx((1.0, 7.0))
        assert begins["iteration"] == (10, 70)
        widths = []
        for name in ("± std", "95 % interval", "min–max"):
            assert f"band: {name}" in screen_text(app)
            (band,) = (thing for thing in left.references if isinstance(thing, Curve) and thing.filled)
            widths.append(float(band.high[-1] - band.low[-1]))
            await pilot.press("b")
            await pilot.pause()
        assert len(set(widths)) == 3
        assert not any(getattr(thing, "filled", False) for thing in left.references)
        assert sum(isinstance(thing, Curve) for thing in left.references) == 5
        await pilot.press("B")
        await pilot.pause()
        assert left.references == ()
        await pilot.press("M", "M", "M")
        await expect_text(pilot, "One-step: complementary loss")
        assert left.scale == "symlog"
        assert left.lines[0].x.size > 20
        titles = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Band: 95 % interval", "X axis: samples", "Metric: Adversarial loss", "Pane: numbers"} <= titles


async def test_too_many_runs_are_not_compared_while_a_query_is_typed(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clarinet_tui.ui.feed.compare_reader.MAX_RUNS", 9)
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    async with open_compare(runs_dir, "10 runs match, at most 9 can be compared") as (app, _):
        assert not compared(app).parts


async def test_the_cursor_moves_over_differences_of_all_tasks(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    write_family_run(runs_dir, "old1", "clarinet", 1, task="M->U", age=9000)
    write_family_run(runs_dir, "old2", "gac+dan", 1, task="M->U", age=9000)
    async with open_compare(runs_dir) as (app, pilot):
        await select_all(pilot, "M→U smoke")
        first = compared(app).parts[0].task_preset[0]
        await pilot.press("j")
        await wait_until(pilot, lambda: compared(app).part != compared(app).parts[0], "the other task")
        assert first != compared(app).parts[1].task_preset[0]
        await pilot.press("k", "enter")
        await wait_until(pilot, lambda: app.current_mode == "live")
        assert len(app.state.overlaid_runs) == 2 if first == "M->U" else 8


async def test_settings_are_listed_and_queries_select_runs(runs_dir: Path) -> None:
    five_seeds(runs_dir)
    async with open_compare(runs_dir, "settings only of GAC+CDAN_E   d lists them", (160, 60)) as (app, pilot):
        assert "stage1.epochs" not in screen_text(app)
        await pilot.press("d")
        await expect_text(pilot, "stage1.epochs")
        await pilot.press("slash")
        await expect_text(pilot, "one-step / task:U->M")
        await pilot.press("enter", "ctrl+u", *"method:gac+dann", "enter")
        await expect_text(pilot, "5 one-step and 5 two-step runs · selected by queries")
        assert app.state.compared_queries == ("task:U->M preset:smoke state:finished,running", "method:gac+dann")
        await pilot.press("slash", "ctrl+u", *"seed:9", "enter", "enter")
        await expect_text(pilot, "No one-step run matches its query")
        await pilot.press("slash", "escape")
        words = "5 one-step and 5 two-step runs · newest task"
        await expect_text(pilot, words)
        assert "CLARINET minus ■ GAC+CDAN_E" in screen_text(app)
        assert app.state.compared_queries is None


async def test_one_step_is_left_and_runs_selected_by_id_can_be_swapped(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "bbb222", "aaa111", text="■ aaa111") as (app, pilot):  # a two-step and a one-step run
        await pilot.press("c")
        await expect_text(pilot, "selected by id")
        assert compared(app).command == "clarinet compare aaa111 bbb222"
        await pilot.press("w")
        await wait_until(pilot, lambda: compared(app).request.runs == ("bbb222", "aaa111"))


async def test_only_new_evaluations_change_the_numbers(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    going = write_family_run(runs_dir, "clar6", "clarinet", 6, until=5, end="running", age=60)
    async with open_compare(runs_dir, "interim") as (app, pilot):
        before = compared(app)
        assert "not counted: clar6 is running" in screen_text(app)
        write_family_run(runs_dir, "else1", "clarinet", 1, task="S->M", age=10)
        await wait_until(pilot, lambda: "13 runs" in screen_text(app) or "12 runs" in screen_text(app), "another run")
        assert compared(app) is before, "a run of another task changes nothing"
        more_epochs(going, "clarinet", 6, range(6, 9))
        await wait_until(pilot, lambda: compared(app) is not before, "news of the running one")


async def test_the_layout_is_saved(runs_dir: Path) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    async with open_compare(runs_dir) as (app, pilot):
        await pilot.press("v", "b", "B", "x", "p")
    async with open_compare(runs_dir) as (app, pilot):
        charts = app.screen.query_one(CompareCharts)
        await wait_until(pilot, lambda: charts.left.x_name == "epoch")
        assert (charts.band, charts.show_seeds, charts.overlaid) == ("interval", False, True)
        assert not app.screen.query_one("#numbers").display


def test_sides_have_distinct_colours_also_beside_the_methods_of_the_paper(tmp_path: Path) -> None:
    methods = ("clarinet", "gac+cdan-e", "basset", "fwd+basset", "fwd+basset-kept")
    for number, method in enumerate(methods):
        write_family_run(tmp_path, f"run{number}", method, 1)
    comparison = compare_runs(read_runs(tmp_path), [f"run{number}" for number in range(len(methods))])
    indices = side_colours(comparison.sides)
    assert len({colour(index, "dark") for index in indices}) == len({marker(index) for index in indices}) == 5
    repeated = side_colours([*comparison.sides, replace(comparison.sides[0], title="CLARINET epochs=9")])
    assert repeated[:5] == indices
    assert repeated[5] not in indices
