"""Keys and pasted text that arrive faster than the app acts on them."""

import asyncio
import time
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.keys import _character_to_key
from textual.widgets import Input, Static

from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.ordered_input import OrderedInput
from clarinet_tui.ui.screens.dialogs import ConfirmDialog
from tests.support.app import expect_text, make_app, wait_until
from tests.support.ui_queue import fill_queue, waiting
from tests.support.ui_runs import three_runs

VIEWS = ["history", "launch", "live", "compare", "board", "devices"]


@pytest.fixture
def app(held: Path) -> ClarinetApp:
    """Three runs, a fourth that waits, and a queue that starts nothing."""
    three_runs(held)
    fill_queue(held, "ddd444")
    return make_app(held)


def burst(app: ClarinetApp, text: str) -> None:
    """Post all keys at once, as a terminal does after a pause of the connection."""
    for character in text:
        app.post_message(events.Key(_character_to_key(character), character))


def typed(app: ClarinetApp) -> str:
    return app.screen.query_one(Input).value


async def test_a_burst_reaches_what_its_first_key_has_opened(app: ClarinetApp, held: Path) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await expect_text(pilot, "ddd444")
        burst(app, "/state:Srunning")
        await wait_until(pilot, lambda: app.screen.query(Input) and typed(app) == "state:Srunning", "the text")
        assert app.screen_stack == [app.screen]
        await pilot.press("escape")
        await expect_text(pilot, "aaa111")
        burst(app, "tsSdy")
        app.post_message(events.Key("enter", "\r"))
        await expect_text(pilot, "is tagged sSdy")
        burst(app, "gjs")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        burst(app, "ng/run:aaa")
        await wait_until(pilot, lambda: app.screen.query(Input) and typed(app) == "run:aaa", "the filter")
        assert waiting(held) == ["ddd444"]


@pytest.mark.parametrize("view", VIEWS)
async def test_pasted_text_triggers_no_action(app: ClarinetApp, held: Path, view: str) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await expect_text(pilot, "ddd444")
        app.action_view(view)
        await wait_until(pilot, lambda: app.current_mode == view, view)
        app.post_message(events.Paste("S1qdydPs\ny\r"))
        app.post_message(events.Key("ctrl+p", None))
        await wait_until(pilot, lambda: app.screen.is_modal, "the palette, opened after the paste")
        assert app.current_mode == view
        assert len(app.screen_stack) == 2
        assert waiting(held) == ["ddd444"]


class Slow(Static, can_focus=True):
    """Handles the key x only when the test allows it."""

    def on_mount(self) -> None:
        self.started, self.may_end = asyncio.Event(), asyncio.Event()

    async def key_x(self) -> None:
        self.started.set()
        await self.may_end.wait()


class SmallApp(OrderedInput):
    handled = ""

    def compose(self) -> ComposeResult:
        yield Slow()

    def key_y(self) -> None:
        self.handled += "y"


async def test_keys_continue_after_the_focused_widget_is_removed() -> None:
    app = SmallApp()
    async with app.run_test() as pilot:
        slow = app.query_one(Slow)
        await wait_until(pilot, lambda: app.focused is slow, "the focus")
        for key in "xyy":
            app.post_message(events.Key(key, key))
        await slow.started.wait()
        assert not app.handled
        slow.remove()
        slow.may_end.set()
        await wait_until(pilot, lambda: app.handled == "yy", "the other keys")


async def test_a_snapshot_waits_for_keys_and_is_shown_after_them(app: ClarinetApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await expect_text(pilot, "ddd444")
        app.state.history_feed.stop()
        old = app.state.snapshot
        assert old is not None
        new = replace(old, problem="a newer snapshot")
        app._shown_at = time.monotonic()
        app.post_message(events.Key("j", "j"))
        app.state.history_feed.post(replace(old, problem="an older snapshot"))
        app.state.history_feed.post(new)
        await wait_until(pilot, lambda: app.state.snapshot is new, "the snapshot")
        await pilot.press("k")
        assert app.state.snapshot is new, "an older snapshot does not replace a newer one"
