"""Choices, lists, the footer and commands, each on its own."""

from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.content import Content

from clarinet_tui.queue.sweep import Grid
from clarinet_tui.ui.actions import RunActions
from clarinet_tui.ui.text.launch import Choice, format_run_count
from clarinet_tui.ui.widgets.launch_fields import Choices
from clarinet_tui.ui.widgets.pick_list import PickList
from tests.support.app import make_app, screen_text, wait_until
from tests.support.ui_runs import three_runs

LETTERS = tuple(Choice(name, name * 8) for name in "abcdefg")


class WidgetApp(App[None]):
    """Shows the given widgets."""

    def __init__(self, *widgets: Choices | PickList) -> None:
        super().__init__()
        self._widgets = widgets

    def compose(self) -> ComposeResult:
        yield from self._widgets


@pytest.mark.parametrize(("width", "rows"), [(120, 1), (60, 2), (30, 4), (12, 7)])
async def test_choices_are_in_columns_that_fit(width: int, rows: int) -> None:
    choices = Choices(multiple=True)
    app = WidgetApp(choices)
    async with app.run_test(size=(width, 10)) as pilot:
        choices.show(LETTERS, ("b",))
        await pilot.pause()
        assert choices.size.height == rows
        text = screen_text(app)
        assert "■ bbbbbbbb" in text
        assert text.count("□") == 6


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


@pytest.mark.parametrize("width", [60, 80, 120, 200])
async def test_help_is_always_among_the_keys(runs_dir: Path, width: int) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(width, 24)) as pilot:
        await wait_until(pilot, lambda: "? Help" in screen_text(app).splitlines()[-1])
        keys = screen_text(app).splitlines()[-1]
        assert "Palette" in keys
        assert ("q Quit" in keys) == (width == 200)


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
