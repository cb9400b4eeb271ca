"""Exceptions in the views: shown, logged, and survived."""

from pathlib import Path

import pytest
from textual import events
from textual.strip import Strip

from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.error_guard import MAX_BYTES, REPEAT_SECONDS, ErrorLog, error_log_path
from clarinet_tui.ui.screens.history import HistoryScreen
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.run_detail import RunDetail
from clarinet_tui.ui.widgets.run_table import RunTable
from tests.support.app import expect_text, make_app, screen_text, wait_until
from tests.support.ui_runs import NOW, three_runs


class Mishap(Exception):  # noqa: N818
    """Only these tests raise it."""


def broken(*_: object, **__: object) -> Strip:
    raise Mishap("[bold]not[/] what was \x1b[31mexpected")


@pytest.mark.parametrize(
    ("owner", "method", "key"),
    [
        (RunDetail, "show", "j"),
        (HistoryScreen, "action_sort", "o"),
        (HistoryScreen, "on_run_table_run_highlighted", "j"),
        (HistoryScreen, "make_request", "j"),
        (Chart, "_redraw", "j"),
        (RunTable, "_render_run", "j"),
        (RunTable, "on_click", ""),
    ],
)
async def test_the_app_survives_exceptions_in_views(
    owner: type, method: str, key: str, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    three_runs(runs_dir)
    app = ClarinetApp(runs_dir, now=lambda: NOW, catches_errors=True)
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await expect_text(pilot, "● target")
        with monkeypatch.context() as patch:
            patch.setattr(owner, method, broken)
            if key:
                await pilot.press(key)
            else:
                await pilot._post_mouse_events([events.Click], RunTable, offset=(5, 3))
            app.refresh(layout=True)
            await expect_text(pilot, "Internal error")
        assert "\x1b" not in screen_text(app)
        assert "[bold]not[/]" in screen_text(app)
        log = tmp_path / "state" / "clarinet" / "tui.log"
        assert "Mishap" in log.read_text()
        assert 'raise Mishap("[bold]not[/]' in log.read_text()
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.current_mode == "live" and "● target" in screen_text(app), "the live view")
        await pilot.press("1", "G")
        await expect_text(pilot, "aaa111")
        await pilot.press("q")
    assert app.return_code == 0


async def test_without_catching_an_exception_propagates(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    monkeypatch.setattr(HistoryScreen, "action_sort", broken)

    async def order() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await expect_text(pilot, "aaa111")
            await pilot.press("o")

    with pytest.raises(Mishap):
        await order()


def test_a_repeated_error_is_reported_once(tmp_path: Path) -> None:
    now = [0.0]
    book = ErrorLog(tmp_path / "a" / "tui.log", lambda: now[0])
    sentence = book.write(Mishap("one"), "History")
    assert sentence is not None
    assert f"Details are in {tmp_path / 'a' / 'tui.log'}" in sentence
    assert book.write(Mishap("one"), "History") is None
    assert book.write(Mishap("two"), "History") is not None
    now[0] = REPEAT_SECONDS
    assert book.write(Mishap("one"), "History") is not None


def test_the_log_is_rotated_and_an_unwritable_one_is_mentioned(tmp_path: Path) -> None:
    path = tmp_path / "tui.log"
    path.write_bytes(b"x" * (MAX_BYTES + 1))
    ErrorLog(path).write(Mishap(), "Live")
    assert path.stat().st_size < 2000
    assert (tmp_path / "tui.log.1").stat().st_size > MAX_BYTES
    assert "could not be written" in (ErrorLog(path / "tui.log").write(Mishap("one"), "Live") or "")


def test_the_log_is_in_the_state_directory() -> None:
    assert error_log_path({"XDG_STATE_HOME": "/s"}) == Path("/s/clarinet/tui.log")
    assert error_log_path({"HOME": "/home/a"}) == Path("/home/a/.local/state/clarinet/tui.log")
