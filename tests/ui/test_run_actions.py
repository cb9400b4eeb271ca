"""Actions on runs from History and Live: real requests on real runs that do not train."""

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.queue.supervisor import find_supervisor
from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.ui.widgets.run_table import RunTable
from tests.support.app import expect_text, open_app, screen_text, wait_until
from tests.support.ui_queue import fill_queue, waiting
from tests.support.ui_runs import three_runs


@pytest.fixture
def held(held: Path) -> Path:
    """Three runs, and a queue that starts nothing."""
    three_runs(held)
    return held


async def on_run(pilot: Pilot[None], run: str) -> None:
    """The cursor on a run of the history."""
    table = pilot.app.screen.query_one(RunTable)
    await expect_text(pilot, run)
    await pilot.press("g")
    for _ in range(6):
        if table.cursor_run and table.cursor_run.id == run:
            return
        await pilot.press("j")
    raise AssertionError(f"the cursor is on {table.cursor_run}")


async def test_tags_and_notes_are_added_changed_and_removed(held: Path) -> None:
    async with open_app(held, notifications=True) as (app, pilot):
        await on_run(pilot, "aaa111")
        await pilot.press("t", *"icml", "space", *"best", "enter")
        await expect_text(pilot, "aaa111 is tagged icml best")
        await expect_text(pilot, "#best #icml")
        await pilot.press("t", *"-best", "enter")
        await wait_until(pilot, lambda: "#best" not in screen_text(app), "the tag's removal")
        await pilot.press("t", "escape")
        await pilot.press("t", *"fine", "space", "minus", "enter")
        await expect_text(pilot, "tag: expected 1 to 64 printable characters")
        assert "#icml" in screen_text(app)
        assert "#fine" not in screen_text(app)
        await pilot.press("N", *"[b]why", "enter")
        await expect_text(pilot, "note [b]why")
        await pilot.press("N", "end", *"not", "enter")
        await expect_text(pilot, "note [b]whynot")
        await pilot.press("N", "backspace", "enter")
        await wait_until(pilot, lambda: "note [b]" not in screen_text(app), "the note's removal")


async def test_delete_asks_first_and_can_be_undone(held: Path) -> None:
    async with open_app(held, notifications=True) as (app, pilot):
        await on_run(pilot, "bbb222")
        await pilot.press("d")
        await expect_text(pilot, "Delete run bbb222?")
        assert "bbb222. " not in screen_text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Delete run" not in screen_text(app), "the end of the question")
        assert "bbb222" in list_run_ids(held)
        await pilot.press("d", "y")
        await expect_text(pilot, "bbb222 is deleted; u restores it")
        await wait_until(pilot, lambda: "✗ bbb222" not in screen_text(app), "the run's removal")
        assert "bbb222" not in list_run_ids(held)
        await pilot.press("u")
        await expect_text(pilot, "✗ bbb222")
        await pilot.press("u")
        await expect_text(pilot, "Nothing was deleted in this session")
        await on_run(pilot, "bbb222")
        await pilot.press("space", "space", "d")
        await expect_text(pilot, "Delete 2 runs?")
        await pilot.press("y")
        await expect_text(pilot, "2 runs are deleted")
        assert list_run_ids(held) == ["ccc333"]
        assert app.screen.query_one(RunTable).selected == ()
        await pilot.press("u")
        await wait_until(pilot, lambda: len(list_run_ids(held)) == 3, "their return")


async def test_stop_removes_waiting_runs_and_resume_queues_them(held: Path) -> None:
    fill_queue(held, "ddd444", "eee555")
    async with open_app(held, notifications=True) as (app, pilot):
        await on_run(pilot, "ddd444")
        await pilot.press("s")
        await expect_text(pilot, "Stop run ddd444?")
        await pilot.press("n")
        await wait_until(pilot, lambda: "Stop run" not in screen_text(app), "the end of the question")
        assert waiting(held) == ["ddd444", "eee555"]
        await pilot.press("s", "y")
        await expect_text(pilot, "ddd444 was removed from the queue")
        assert waiting(held) == ["eee555"]
        await pilot.press("r")
        await expect_text(pilot, "ddd444 is queued again")
        assert waiting(held) == ["eee555", "ddd444"]
        await on_run(pilot, "ddd444")
        await pilot.press("space", "space", "space", "s")
        await expect_text(pilot, "Stop 3 runs?")
        await pilot.press("y")
        await expect_text(pilot, "2 runs were asked to stop")
        await expect_text(pilot, "is not running")
        assert waiting(held) == []


async def test_impossible_actions_are_explained_and_runs_copied_and_cloned(held: Path) -> None:
    async with open_app(held, notifications=True) as (app, pilot):
        await on_run(pilot, "aaa111")
        await pilot.press("S")
        await expect_text(pilot, "run aaa111: is not running")
        await pilot.press("r")
        await expect_text(pilot, "run aaa111: has finished")
        await on_run(pilot, "ccc333")
        await pilot.press("y")
        await wait_until(pilot, lambda: app.clipboard, "the copy")
        assert app.clipboard.startswith("clarinet run --headless --method clarinet --task 'Y->D' --seed 2")
        await on_run(pilot, "bbb222")
        await pilot.press("e")
        await wait_until(pilot, lambda: app.current_mode == "launch", "Launch")
        await expect_text(pilot, "clarinet sweep --methods gac+cdan-e --tasks 'Y->D' --seeds 1 --preset smoke")
        await wait_until(pilot, lambda: re.search(r"● epochs +500 ", screen_text(app)), "500 epochs, marked as changed")


async def test_actions_in_live_apply_to_its_run(held: Path) -> None:
    async with open_app(held, "bbb222", text="● complementary", notifications=True) as (app, pilot):
        await pilot.press("N", *"odd", "enter")
        await expect_text(pilot, "note odd")
        await pilot.press("r")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222"], "the run in the queue")
        await pilot.press("d", "y")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        assert "bbb222" not in list_run_ids(held)
        assert waiting(held) == []


async def test_opening_the_app_starts_a_missing_supervisor(held: Path) -> None:
    run = fill_queue(held, "ddd444", paused=False)[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], paused=True))
    assert find_supervisor(held) is None
    async with open_app(held) as (_, pilot):
        await wait_until(pilot, lambda: find_supervisor(held) is not None, "the supervisor")
