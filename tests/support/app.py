"""Start the app with a fixed clock, read its screen as text, and wait for a condition."""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from clarinet_tui.ui.app import ClarinetApp
from tests.support.ui_runs import NOW

SMALL, WIDE = SIZES = [(80, 24), (160, 48)]
TIMEOUT = 20.0
OpenedApp = AbstractAsyncContextManager[tuple[ClarinetApp, Pilot[None]]]


def make_app(runs_dir: Path, *runs: str) -> ClarinetApp:
    return ClarinetApp(runs_dir, runs=runs, now=lambda: NOW)


@asynccontextmanager
async def open_app(
    runs_dir: Path,
    *runs: str,
    view: str = "",
    text: str = "",
    size: tuple[int, int] = WIDE,
    notifications: bool = False,
) -> AsyncIterator[tuple[ClarinetApp, Pilot[None]]]:
    """Start the app, press the key of a view once the history is read, and wait for a text on the screen."""
    app = make_app(runs_dir, *runs)
    async with app.run_test(size=size, notifications=notifications) as pilot:
        if view:
            await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the history")
            await pilot.press(view)
        await expect_text(pilot, text)
        yield app, pilot


async def expect_text(pilot: Pilot[None], text: str) -> None:
    """Wait until the text is on the screen."""
    await wait_until(pilot, lambda: text in screen_text(pilot.app), text)


async def wait_until(pilot: Pilot[None], condition: Callable[[], object], name: str = "the condition") -> None:
    """Wait until the condition holds; fail with the screen's text after `TIMEOUT` seconds."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline, f"{name} was not reached:\n{screen_text(pilot.app)}"
        await pilot.pause(0.02)
    await pilot.pause()


def screen_text(app: App[None]) -> str:
    """Return the characters on the screen, without colours."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def toast_texts(app: App[None]) -> list[str]:
    """Return the texts of all notifications on the screen."""
    return [str(toast.render()) for toast in app.screen.query("Toast")]
