"""Pictures of each view in states that do not move: `pytest --snapshot-update` makes them anew; look at the diff."""

from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.themes import CONTRAST, LIGHT
from clarinet_tui.ui.widgets.run_detail import PANES
from tests.support.ui_runs import three_runs
from tests.ui.conftest import SIZES, make_app, screen_text, until
from tests.ui.test_ghosts import five_seeds

Compare = Callable[..., bool]
STILL = 6
"""So many looks in a row must show the same."""


def complete(app: ClarinetApp) -> bool:
    """Whether the view has got what it wants at the size that it has."""
    snapshot, screen = app.session.snapshot, app.screen
    assert isinstance(screen, ViewScreen)
    if snapshot is None or not snapshot.settled:
        return False
    wanted = screen.wanted()
    if wanted.detail and not (snapshot.detail and snapshot.detail.wanted == wanted.detail):
        return False
    if wanted.comparison and not (snapshot.comparison and snapshot.comparison.wanted == wanted.comparison):
        return False
    if wanted.ghost and not (snapshot.ghost and snapshot.ghost.wanted == wanted.ghost):
        return False
    return all(one.run in snapshot.curves and snapshot.curves[one.run].wanted == one for one in wanted.curves)


def still(words: str, *keys: str, first: str = "● target") -> Callable[[Pilot[None]], object]:
    """Presses the keys when the first words are there, waits for others, and then lets nothing more happen."""

    async def wait(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, ClarinetApp)
        if keys:
            await until(pilot, lambda: first in screen_text(app) and complete(app), "the first charts")
            await pilot.press(*keys)
        await until(pilot, lambda: words in screen_text(app), words)
        await until(pilot, lambda: complete(app), "everything that the view wants")
        app.feed.stop()
        for line in app.screen.query(Input):
            line.cursor_blink = False
        seen: list[str] = []
        while len(seen) < STILL or len(set(seen[-STILL:])) > 1:
            await pilot.pause(0.05)
            seen.append(screen_text(app))

    return wait


@pytest.mark.parametrize("size", SIZES)
def test_empty(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=still("No runs yet"))


@pytest.mark.parametrize("size", SIZES)
def test_history(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=still("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_live(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir, "ccc333"), terminal_size=size, run_before=still("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_live_of_a_failed_run(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir, "bbb222"), terminal_size=size, run_before=still("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_live_with_ghosts(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    five_seeds(runs_dir)
    assert snap_compare(make_app(runs_dir, "run5"), terminal_size=size, run_before=still("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_overlay(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111", "bbb222", "ccc333")
    assert snap_compare(app, terminal_size=size, run_before=still("◆ ccc333", "j", first="■ bbb222"))


@pytest.mark.parametrize("size", SIZES)
def test_live_log(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    keys = ("p", "slash", *"epoch")
    app = make_app(runs_dir, "ccc333")
    assert snap_compare(app, terminal_size=size, run_before=still("5 of 5", *keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("pane", "words"), [("about", "error"), ("settings", "Differs"), ("confusion", " 89 "), ("log", "failed: ")]
)
def test_panes(runs_dir: Path, size: tuple[int, int], pane: str, words: str, snap_compare: Compare) -> None:
    three_runs(runs_dir)
    keys = "p" * list(PANES).index(pane)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=still(words, "j", *keys))


@pytest.mark.parametrize("size", SIZES)
def test_filter(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    keys = ("slash", *"state:fa", "tab", "space", *"method:g", "tab", "tab")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=still("0 match", *keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", [LIGHT, CONTRAST])
def test_themes(runs_dir: Path, size: tuple[int, int], theme: str, snap_compare: Compare) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    app.theme = theme
    assert snap_compare(app, terminal_size=size, run_before=still("■ source"))
