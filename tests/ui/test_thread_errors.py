"""An exception in any thread of the app: shown in a sentence, logged, and the app stays usable."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.analysis import board_table
from clarinet_tui.history import states
from clarinet_tui.queue import local
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.ui import app as ui_app
from clarinet_tui.ui.actions import RunActions
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.feed.machine_reader import MachineReader
from clarinet_tui.ui.screens import launch
from core import files
from tests.support.app import expect_text, screen_text, toast_texts, wait_until
from tests.support.ui_queue import fill_queue
from tests.support.ui_runs import NOW, three_runs

HISTORY, DEVICES, BOARD, LAUNCH = ("1", "aaa111"), ("6", "ddd444"), ("5", "smoke 4"), ("2", "clarinet sweep")
"""The key of a view, and a text that shows that it is complete."""
ACTIONS = [
    ("stop", HISTORY, ("s", "y")),
    ("resume", HISTORY, ("r",)),
    ("delete", HISTORY, ("d", "y")),
    ("restore", HISTORY, ("u",)),
    ("tag", HISTORY, ("t", "x", "enter")),
    ("note", HISTORY, ("N", "x", "enter")),
    ("make_command", HISTORY, ("y",)),
    ("make_form", HISTORY, ("e",)),
    ("inspect", HISTORY, ("i",)),
    ("stop", DEVICES, ("S",)),
    ("cancel", DEVICES, ("d",)),
    ("move", DEVICES, ("J",)),
    ("toggle_pause", DEVICES, ("p",)),
    ("toggle_queue_pause", DEVICES, ("P",)),
    ("change_slots", DEVICES, ("plus",)),
    ("queue_missing_seeds", BOARD, ("f", "y")),
    ("write_file", BOARD, ("w", "enter")),
    ("submit", LAUNCH, ("ctrl+s",)),
]
OTHER_THREADS: list[tuple[object, str, tuple[str, str] | None, tuple[str, ...], str]] = [
    (board_table, "to_latex", BOARD, ("Y",), "Internal error (Mishap: boom)"),
    (launch, "check_form", LAUNCH, ("space",), "Internal error (Mishap: boom)"),
    (local, "ensure_supervisor_if_needed", HISTORY, ("6",), "Internal error (Mishap: boom)"),
    (HistoryReader, "read", HISTORY, (), "Mishap: boom"),
    (states, "update_history", HISTORY, (), "Mishap: boom"),
    (MachineReader, "read", HISTORY, ("6",), "Mishap: boom"),
    (files, "replace_file", HISTORY, ("o",), "preferences could not be saved"),
    (local, "ensure_supervisor_if_needed", None, (), "Internal error (Mishap: boom)"),
    (ui_app, "import_compare", None, (), "Internal error (Mishap: boom)"),
]


class Mishap(Exception):  # noqa: N818
    """Raised only by these tests."""


def breaking(message: str) -> Callable[..., None]:
    def broken(*_: object, **__: object) -> None:
        raise Mishap(message)

    return broken


broken = breaking("boom")


@pytest.fixture
def app(held: Path, machine: None) -> ClarinetApp:
    """The app as users run it, on three runs of both families and a paused queue."""
    three_runs(held)
    fill_queue(held, "ddd444", device="cpu")
    app = ClarinetApp(held, now=lambda: NOW, catches_errors=True)
    app.state.deletions.append(("eee555",))
    return app


async def open_view(pilot: Pilot[None], view: tuple[str, str]) -> None:
    await expect_text(pilot, "aaa111")
    await pilot.press(view[0])
    await expect_text(pilot, view[1])


async def expect_report(pilot: Pilot[None], message: str, tmp_path: Path, error: str = "boom") -> None:
    log = tmp_path / "state" / "clarinet" / "tui.log"
    await wait_until(pilot, lambda: message in "".join([screen_text(pilot.app), *toast_texts(pilot.app)]), message)
    await wait_until(pilot, lambda: log.exists() and f"Mishap: {error}" in log.read_text(), "the log entry")


async def expect_usable(pilot: Pilot[None], app: ClarinetApp) -> None:
    """The history still shows its runs and takes keys, and quitting works."""
    await pilot.press("escape", "1", "n")
    await wait_until(pilot, lambda: app.current_mode == "launch", "Launch")
    await pilot.press("escape")
    await wait_until(pilot, lambda: app.current_mode == "history" and "aaa111" in screen_text(app), "History")
    await pilot.press("q")


def test_every_action_is_tested() -> None:
    public = {name for name, _ in inspect.getmembers(RunActions, inspect.isfunction) if not name.startswith("_")}
    assert public - {"add_directories"} == {"start_demo", *(name for name, _, _ in ACTIONS)}


@pytest.mark.parametrize("view", [HISTORY, DEVICES, BOARD, LAUNCH], ids=["history", "devices", "board", "launch"])
async def test_an_error_in_an_action_is_reported(
    view: tuple[str, str], app: ClarinetApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All actions of a view in one app: after each error, it takes the keys of the next action."""
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await open_view(pilot, view)
        for action, keys in [(action, keys) for action, place, keys in ACTIONS if place == view]:
            monkeypatch.setattr(RunActions, action, breaking(action))
            if action == "change_slots":
                app.screen.query_one("#devices").focus()
            await pilot.press(*keys)
            await expect_report(pilot, f"Internal error (Mishap: {action})", tmp_path, action)
            app.clear_notifications()
        await expect_usable(pilot, app)
    assert app.return_code == 0


async def test_an_error_in_the_demo_of_an_empty_history_is_reported(
    runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RunActions, "start_demo", broken)
    app = ClarinetApp(runs_dir, now=lambda: NOW, catches_errors=True)
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await expect_text(pilot, "to watch the demo")
        await pilot.press("D")
        await expect_report(pilot, "Internal error (Mishap: boom)", tmp_path)
        three_runs(runs_dir)
        await expect_text(pilot, "aaa111")
        await expect_usable(pilot, app)
    assert app.return_code == 0


@pytest.mark.parametrize(("owner", "name", "view", "keys", "message"), OTHER_THREADS)
async def test_an_error_in_another_thread_is_reported(
    owner: object,
    name: str,
    view: tuple[str, str] | None,
    keys: tuple[str, ...],
    message: str,
    app: ClarinetApp,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        if view is None:
            patch.setattr(owner, name, broken)
        async with app.run_test(size=(160, 48), notifications=True) as pilot:
            if view:
                await open_view(pilot, view)
                patch.setattr(owner, name, broken)
                if not keys:  # make the history change
                    fill_queue(app.state.runs_dir, "fff666")
                await pilot.press(*keys)
            await expect_report(pilot, message, tmp_path)
            patch.undo()
            await expect_usable(pilot, app)
    assert app.return_code == 0


async def test_start_works_again_after_an_error(
    app: ClarinetApp, runs_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await open_view(pilot, LAUNCH)
        with monkeypatch.context() as patch:
            patch.setattr(RunActions, "submit", broken)
            await pilot.press("ctrl+s")
            await expect_report(pilot, "Internal error (Mishap: boom)", tmp_path)
        runs = set(list_run_ids(runs_dir))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        (new,) = set(list_run_ids(runs_dir)) - runs
        assert read_queue(runs_dir).waiting[0].id == new
