"""Choices, lists, the footer and commands, each on its own."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.content import Content

from clarinet_tui.queue.sweep import Grid
from clarinet_tui.ui.actions import RunActions
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.help import HelpScreen
from clarinet_tui.ui.text.launch import Choice, format_run_count
from clarinet_tui.ui.widgets.key_footer import FooterKey, KeyFooter, fit_keys
from clarinet_tui.ui.widgets.launch_fields import Choices
from clarinet_tui.ui.widgets.pick_list import PickList
from tests.support.app import expect_text, screen_text, wait_until
from tests.support.ui_runs import three_runs

LETTERS = tuple(Choice(name, name * 8) for name in "abcdefg")


class WidgetApp(App[None]):
    """Shows the given widgets."""

    def __init__(self, *widgets: Choices | PickList) -> None:
        super().__init__()
        self._widgets = widgets

    def compose(self) -> ComposeResult:
        yield from self._widgets


async def test_choices_are_in_columns_that_fit() -> None:
    choices = Choices(multiple=True)
    app = WidgetApp(choices)
    async with app.run_test(size=(120, 10)) as pilot:
        choices.show(LETTERS, ("b",))
        for width, rows in ((120, 1), (60, 2), (30, 4), (12, 7)):
            await pilot.resize_terminal(width, 10)
            await pilot.pause()
            assert choices.size.height == rows
            assert "■ bbbbbbbb" in screen_text(app)
            assert screen_text(app).count("□") == 6


async def test_arrows_move_through_the_columns_and_to_the_next_field() -> None:
    first, second = Choices(multiple=True, id="first"), Choices(id="second")
    app = WidgetApp(first, second)
    async with app.run_test(size=(40, 10)) as pilot:
        for choices in (first, second):
            choices.show(LETTERS, ())
        first.focus()
        await pilot.press("right", "down", "space")
        assert "".join(first.selected) == "e"
        await pilot.press("up", "space", "space", "space")
        assert "".join(first.selected) == "be"
        await pilot.press("down", "down", "down")
        assert second.has_focus
        await pilot.press("right", "space", "right", "space")
        assert "".join(second.selected) == "c"


async def test_the_cursor_of_a_list_stays_on_its_line() -> None:
    lines = PickList()
    app = WidgetApp(lines)
    async with app.run_test(size=(40, 10)) as pilot:
        lines.show([(name, Content(name)) for name in "abc"])
        lines.focus()
        await pilot.press("j")
        assert lines.highlighted_id == "b"
        lines.show([(name, Content(name)) for name in "xyabc"])
        assert lines.highlighted_id == "b"
        lines.show([(name, Content(name + "!")) for name in "xyabc"])
        await pilot.pause()
        assert "b!" in screen_text(app)
        lines.show([("x", Content("x"))])
        assert lines.highlighted_id == "x"
        lines.show([])
        assert lines.highlighted_id is None
        lines.show([("n", Content("n"))])
        assert lines.highlighted_id == "n"


def test_a_command_names_directories_that_are_not_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CLARINET_RUNS", raising=False)
    monkeypatch.delenv("CLARINET_DATA", raising=False)
    assert RunActions(Path("runs"), Path("data")).add_directories("clarinet sweep") == "clarinet sweep"
    elsewhere = RunActions(Path("my runs"), Path("/big/data"))
    assert elsewhere.add_directories("clarinet sweep") == "clarinet sweep --runs-dir 'my runs' --data-dir /big/data"
    monkeypatch.setenv("CLARINET_RUNS", "my runs")
    assert elsewhere.add_directories("clarinet sweep") == "clarinet sweep --data-dir /big/data"


def test_the_number_of_runs_is_a_product_of_the_axes() -> None:
    grid = Grid(["clarinet", "gac"], ["M->U"], [1, 2, 3], axes={"epochs": [5, 10], "stage1.epochs": [1]})
    assert format_run_count(grid).plain == "12 runs  2 methods × 1 task × 3 seeds × 2 epochs × 1 stage1.epochs"


KEYS = [FooterKey(name, name, word, word) for name, word in (("a", "open"), ("b", "tag"), ("c", "help"), ("d", "quit"))]


@given(st.integers(0, 60))
def test_the_kept_keys_fit_in_order_and_include_help(width: int) -> None:
    kept = fit_keys(KEYS, width)
    assert [key for key in KEYS if key in kept] == list(kept)
    assert KEYS[2] in kept
    assert sum(key.width for key in kept) <= max(width, KEYS[2].width)


def test_rarely_used_keys_are_dropped_first() -> None:
    room = sum(key.width for key in KEYS)
    assert [key.key for key in fit_keys(KEYS, room)] == ["a", "b", "c", "d"]
    assert [key.key for key in fit_keys(KEYS, room - 1)] == ["a", "b", "c"]
    assert [key.key for key in fit_keys(KEYS, KEYS[0].width + KEYS[2].width)] == ["a", "c"]


async def test_a_click_presses_the_key(app: ClarinetApp) -> None:
    async with app.run_test(size=(120, 24), tooltips=True) as pilot:
        await wait_until(pilot, lambda: "? Help" in screen_text(app) and "No runs yet" in screen_text(app))
        row = screen_text(app).split("\n")[-1]
        await pilot.hover(KeyFooter, offset=(row.index("Quit"), 0))
        await wait_until(pilot, lambda: app.screen.query_one(KeyFooter).tooltip == "Quit; runs continue", "the tip")
        await pilot.hover(KeyFooter, offset=(row.index("▏") - 1, 0))
        await wait_until(pilot, lambda: app.screen.query_one(KeyFooter).tooltip is None, "no tip")
        await pilot.click(KeyFooter, offset=(row.index("▏") - 1, 0))
        await pilot.click(KeyFooter, offset=(row.index("Help"), 0))
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen), "help")
        await pilot.press("escape")
        await pilot.click(KeyFooter, offset=(row.index("Palette"), 0))
        await wait_until(pilot, lambda: app.screen.__class__.__name__ == "CommandPalette", "the palette")


async def test_the_keys_follow_the_active_bindings_and_always_include_help(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(240, 48)) as pilot:
        await expect_text(pilot, "● target")
        footer = app.screen.query_one(KeyFooter)
        assert not any(key.action == "overlay" for key in footer.keys)
        await pilot.press("space", "j", "space")
        await wait_until(pilot, lambda: any(key.action == "overlay" for key in footer.keys), "another key")
        for width in (240, 120, 80, 60):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            keys = screen_text(app).splitlines()[-1]
            assert "? Help" in keys
            assert "Palette" in keys
            assert ("q Quit" in keys) == (width == 240)
