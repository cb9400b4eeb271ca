"""Start the app with a fixed clock, read its screen as text, and wait for a condition."""

import time
from collections.abc import Callable
from pathlib import Path

from textual.app import App
from textual.pilot import Pilot

from clarinet_tui.ui.app import ClarinetApp
from tests.support.ui_runs import NOW

SIZES = [(80, 24), (160, 48)]
TIMEOUT = 20.0


def make_app(runs_dir: Path, *runs: str) -> ClarinetApp:
    return ClarinetApp(runs_dir, runs=runs, now=lambda: NOW)


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
