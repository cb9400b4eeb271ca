"""Bring the app into a state that no longer changes, for SVG snapshots."""

from collections.abc import Callable

from textual.pilot import Pilot
from textual.widgets import Input

from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.view_screen import ViewScreen
from tests.support.app import expect_text, screen_text, wait_until

SnapCompare = Callable[..., bool]
RunBefore = Callable[[Pilot[None]], object]
EQUAL_FRAMES = 6
"""Consecutive equal screens after which the app counts as still."""


def is_complete(app: ClarinetApp) -> bool:
    """Whether the snapshot holds everything that the current view requests."""
    snapshot, screen = app.state.snapshot, app.screen
    assert isinstance(screen, ViewScreen)
    if snapshot is None or not snapshot.is_ingested:
        return False
    wanted = screen.make_request()
    if wanted.detail and not (snapshot.detail and snapshot.detail.request == wanted.detail):
        return False
    if wanted.comparison and not (snapshot.comparison and snapshot.comparison.request == wanted.comparison):
        return False
    if wanted.references and not (snapshot.references and snapshot.references.request == wanted.references):
        return False
    return all(one.run in snapshot.curves and snapshot.curves[one.run].request == one for one in wanted.curves)


def press_and_freeze(text: str, *keys: str, first: str = "● target") -> RunBefore:
    """Press the keys once `first` is on the screen, wait for `text`, and stop the feeds."""

    async def run_before(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, ClarinetApp)
        if keys:
            await wait_until(pilot, lambda: first in screen_text(app) and is_complete(app), "the first charts")
            await pilot.press(*keys)
        await expect_text(pilot, text)
        await wait_until(pilot, lambda: is_complete(app), "a complete snapshot")
        await _freeze(app, pilot)

    return run_before


def step_and_freeze(*steps: str) -> RunBefore:
    """Do the steps (a key, `#id` to focus a widget, or ` text` to wait for), and stop the feeds."""

    async def run_before(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, ClarinetApp)
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the history")
        for step in steps:
            if step.startswith("#"):
                app.screen.query_one(step).focus()
            elif step.startswith(" "):
                await expect_text(pilot, step[1:])
            else:
                await pilot.press(step)
        await _freeze(app, pilot)

    return run_before


async def _freeze(app: ClarinetApp, pilot: Pilot[None]) -> None:
    """Stop the feeds, and wait until nothing moves."""
    app.state.history_feed.stop()
    app.state.machine_feed.stop()
    for line in app.screen.query(Input):
        line.cursor_blink = False
    frames: list[str] = []
    while len(frames) < EQUAL_FRAMES or len(set(frames[-EQUAL_FRAMES:])) > 1:
        await pilot.pause(0.05)
        frames.append(screen_text(app))
