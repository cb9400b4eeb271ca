"""Actions on runs from History and Live: real requests on real runs that do not train."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.run_table import RunTable
from tests.support.app import make_app, screen_text, wait_until
from tests.support.ui_queue import dismissed, fill_queue, hold_queue, waiting
from tests.support.ui_runs import three_runs


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    """Three runs, and a queue that starts nothing."""
    three_runs(runs_dir)
    hold_queue(runs_dir)
    yield from dismissed(runs_dir)


@pytest.fixture
def app(held: Path) -> ClarinetApp:
    return make_app(held)


async def on_run(pilot: Pilot[None], run: str) -> None:
    """The cursor on a run of the history."""
    table = pilot.app.screen.query_one(RunTable)
    await wait_until(pilot, lambda: run in screen_text(pilot.app), run)
    await pilot.press("g")
    for _ in range(6):
        if table.cursor_run and table.cursor_run.id == run:
            return
        await pilot.press("j")
    raise AssertionError(f"the cursor is on {table.cursor_run}")


async def expect_text(pilot: Pilot[None], text: str) -> None:
    await wait_until(pilot, lambda: text in screen_text(pilot.app), text)


async def test_tags_are_added_and_removed(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "aaa111")
        await pilot.press("t", *"icml", "space", *"best", "enter")
        await expect_text(pilot, "aaa111 is tagged icml best")
        await expect_text(pilot, "#best #icml")
        await pilot.press("t", *"-best", "enter")
        await wait_until(pilot, lambda: "#best" not in screen_text(app), "the tag's going")
        await pilot.press("t", "escape")
        assert "#icml" in screen_text(app)


async def test_an_invalid_tag_is_rejected(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "aaa111")
        await pilot.press("t", *"fine", "space", "minus", "enter")
        await expect_text(pilot, "tag: expected 1 to 64 printable characters")
        assert "#fine" not in screen_text(app)


async def test_a_note_is_added_changed_and_removed(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "aaa111")
        await pilot.press("N", *"[b]why", "enter")
        await expect_text(pilot, "note [b]why")
        await pilot.press("N", "end", *"not", "enter")
        await expect_text(pilot, "note [b]whynot")
        await pilot.press("N", "backspace", "enter")
        await wait_until(pilot, lambda: "note [b]" not in screen_text(app), "the note's going")


async def test_delete_asks_first_and_can_be_undone(app: ClarinetApp, held: Path) -> None:
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await on_run(pilot, "bbb222")
        await pilot.press("d")
        await expect_text(pilot, "Delete run bbb222?")
        assert "bbb222. " not in screen_text(app)
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Delete run" not in screen_text(app), "the question's going")
        assert "bbb222" in list_run_ids(held)
        await pilot.press("d", "y")
        await expect_text(pilot, "bbb222 is deleted; u restores it")
        await wait_until(pilot, lambda: "✗ bbb222" not in screen_text(app), "the run's going")
        assert "bbb222" not in list_run_ids(held)
        await pilot.press("u")
        await wait_until(pilot, lambda: "✗ bbb222" in screen_text(app), "the run's return")
        await pilot.press("u")
        await expect_text(pilot, "Nothing was deleted in this session")


async def test_several_runs_are_deleted_after_one_question(app: ClarinetApp, held: Path) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "bbb222")
        await pilot.press("space", "space", "d")
        await expect_text(pilot, "Delete 2 runs?")
        await pilot.press("y")
        await expect_text(pilot, "2 runs are deleted")
        assert list_run_ids(held) == ["ccc333"]
        assert app.screen.query_one(RunTable).selected == ()
        await pilot.press("u")
        await wait_until(pilot, lambda: len(list_run_ids(held)) == 3, "their return")


async def test_stop_removes_a_waiting_run_and_resume_queues_it(app: ClarinetApp, held: Path) -> None:
    fill_queue(held, "ddd444")
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "ddd444")
        await pilot.press("s")
        await expect_text(pilot, "Stop run ddd444?")
        await pilot.press("n")
        await wait_until(pilot, lambda: "Stop run" not in screen_text(app), "the question's going")
        assert waiting(held) == ["ddd444"]
        await pilot.press("s", "y")
        await expect_text(pilot, "ddd444 was removed from the queue")
        assert waiting(held) == []
        await pilot.press("r")
        await expect_text(pilot, "ddd444 is queued again")
        assert waiting(held) == ["ddd444"]


async def test_an_impossible_action_is_explained(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "aaa111")
        await pilot.press("S")
        await expect_text(pilot, "run aaa111: is not running")
        await pilot.press("r")
        await expect_text(pilot, "run aaa111: has finished")


async def test_stopping_several_runs_asks_first_and_reports_errors(app: ClarinetApp, held: Path) -> None:
    fill_queue(held, "ddd444", "eee555")
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await on_run(pilot, "ddd444")
        await pilot.press("space", "space", "space", "s")
        await expect_text(pilot, "Stop 3 runs?")
        await pilot.press("y")
        await expect_text(pilot, "2 runs were asked to stop")
        await expect_text(pilot, "is not running")
        assert waiting(held) == []


async def test_clone_fills_the_launch_form(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await on_run(pilot, "bbb222")
        await pilot.press("e")
        await wait_until(pilot, lambda: app.current_mode == "launch", "Launch")
        await expect_text(pilot, "clarinet sweep --methods gac+cdan-e --tasks 'Y->D' --seeds 1 --preset smoke")
        await wait_until(pilot, lambda: re.search(r"● epochs +500 ", screen_text(app)), "500 epochs, marked as changed")


async def test_the_command_line_is_copied(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await on_run(pilot, "ccc333")
        await pilot.press("y")
        await wait_until(pilot, lambda: app.clipboard, "the copy")
        assert app.clipboard.startswith("clarinet run --headless --method clarinet --task 'Y->D' --seed 2")


async def test_actions_in_live_apply_to_its_run(held: Path) -> None:
    app = make_app(held, "bbb222")
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await expect_text(pilot, "● complementary")
        await pilot.press("N", *"odd", "enter")
        await expect_text(pilot, "note odd")
        await pilot.press("r")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222"], "the run in the queue")
        await pilot.press("d", "y")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        assert "bbb222" not in list_run_ids(held)
        assert waiting(held) == []


async def test_keys_are_in_help_and_palette(app: ClarinetApp) -> None:
    async with app.run_test(size=(100, 60)) as pilot:
        await on_run(pilot, "aaa111")
        commands = {command.title for command in app.get_system_commands(app.screen)}
        assert {"New", "Stop", "Resume", "Clone", "Tag", "Note", "Delete", "Undo delete", "Copy"} <= commands
        await pilot.press("question_mark")
        await expect_text(pilot, "Clone: open the launch form")


async def test_opening_the_app_starts_a_missing_supervisor(held: Path) -> None:
    from clarinet_tui.queue.queue_file import update_queue
    from clarinet_tui.queue.supervisor import find_supervisor

    run = fill_queue(held, "ddd444", paused=False)[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], paused=True))
    assert find_supervisor(held) is None
    app = make_app(held)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: find_supervisor(held) is not None, "the supervisor")
