"""The palette and the help list every action."""

from pathlib import Path

from clarinet_tui.chart.cells import QUADRANTS
from clarinet_tui.history.query_language import FIELDS, compile_query
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.help import EXAMPLES, GROUPS, HelpScreen, format_query_help, list_bindings, list_commands
from clarinet_tui.ui.themes import LIGHT
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.log_tail import LogTail
from clarinet_tui.ui.widgets.run_detail import RunDetail
from clarinet_tui.ui.widgets.top_bar import VIEW_KEYS, VIEWS
from tests.support.app import expect_text, open_app, screen_text, wait_until
from tests.support.ui_runs import three_runs


async def test_help_has_every_key_of_each_view(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", size=(160, 160)) as (app, pilot):
        for view, key in VIEW_KEYS.items():
            await pilot.press(str(key))
            await wait_until(pilot, lambda view=view: app.current_mode == view)  # type: ignore[misc]
            await pilot.pause()
            expected = list_bindings(app.screen)
            assert {(binding.id or "").partition(".")[0] for binding in expected} <= set(GROUPS)
            await pilot.press("question_mark")
            await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await expect_text(pilot, "Everywhere")
            text = screen_text(app)
            for binding in expected:
                assert (binding.tooltip or binding.description) in text, binding
            for words in ("Focus Next", "Page Left", "return to the command prompt"):
                assert words not in text
            await pilot.press("escape")


def titles(app: ClarinetApp) -> dict[str, object]:
    return {command.title: command.callback for command in list_commands(app, app.screen)}


async def test_the_palette_lists_every_action_and_choice_once_and_can_be_searched(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="● target") as (app, pilot):
        listed = [command.title for command in app.get_system_commands(app.screen)]
        assert len(listed) == len(set(listed))
        for title in ("Filter", "Compare", "Zoom in", "Sort by method", "Pane: Log", "Theme: light", "Charts: halves"):
            assert title in listed
        assert listed[: len(VIEWS)] == [f"View: {title}" for title in VIEWS.values()]
        assert max(map(listed.index, ("New", "Stop", "Resume", "Filter"))) < listed.index("Sort by method")
        assert listed.index("Sort by method") < listed.index("Page down") < listed.index("Theme: light")
        await pilot.press("ctrl+p", *"pane: settings")
        await expect_text(pilot, "Show settings of the run")
        await pilot.press("enter")
        await wait_until(
            pilot, lambda: app.screen.query(RunDetail) and app.screen.query_one(RunDetail).pane == "settings"
        )
        await pilot.press("ctrl+p")
        await expect_text(pilot, "View: History")
        await pilot.press(*"live", "enter")
        await wait_until(pilot, lambda: app.current_mode == "live", "Live")
        assert {"X axis: device time", "Log", "Next run", "Crosshair left"} <= set(titles(app))


async def test_help_explains_queries(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", size=(100, 200)) as (app, pilot):
        await pilot.press("question_mark")
        await expect_text(pilot, "Queries")
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: "Queries" not in screen_text(app), "the first keys")
        await pilot.press("G")
        await expect_text(pilot, f"  {list(FIELDS)[-1]} ")
    text = format_query_help().plain
    for field in FIELDS:
        assert f"\n  {field} " in text
    for query, _ in EXAMPLES:
        compile_query(query)


async def test_palette_commands_apply_their_value(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="● target") as (app, pilot):
        for title in ("Sort by method", "Theme: light", "Charts: quadrants", "Zoom in"):
            act = titles(app)[title]
            assert callable(act)
            act()
            await pilot.pause()
        assert app.theme == LIGHT
        chart = app.screen.query(Chart).first()
        assert chart.glyphs is QUADRANTS
        await wait_until(pilot, lambda: not chart.view.shows_all, "the zoom")
        await wait_until(pilot, lambda: app.state.history_feed.requested.sort == "method", "the order")
        act = titles(app)["Pane: Log"]
        assert callable(act)
        act()
        await wait_until(pilot, lambda: app.screen.query_one(LogTail).display, "the log")
        assert app.screen.query_one(RunDetail).pane == "log"
