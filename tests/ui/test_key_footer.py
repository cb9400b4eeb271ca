"""The footer: which keys are dropped if there is little room, and clicks on keys."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.help import HelpScreen
from clarinet_tui.ui.widgets.key_footer import FooterKey, KeyFooter, fit_keys
from tests.support.app import screen_text, wait_until
from tests.support.ui_runs import three_runs

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


async def test_the_keys_follow_the_active_bindings(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(240, 48)) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app))
        footer = app.screen.query_one(KeyFooter)
        assert not any(key.action == "overlay" for key in footer.keys)
        await pilot.press("space", "j", "space")
        await wait_until(pilot, lambda: any(key.action == "overlay" for key in footer.keys), "another key")
