"""The Launch view: a form that is checked while it is typed, and queues real runs."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.launch import LaunchScreen
from clarinet_tui.ui.widgets.launch_fields import Choices
from core.methods import methods
from tests.support.app import SIZES, make_app, screen_text, wait_until
from tests.support.image_folders import images, labels, save
from tests.support.ui_queue import dismissed, fill_queue, hold_queue, queue_of, waiting
from tests.support.ui_runs import write_run


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    """A runs directory whose queue is paused."""
    runs_dir.mkdir()
    hold_queue(runs_dir)
    yield from dismissed(runs_dir)


async def opened(pilot: Pilot[None]) -> LaunchScreen:
    await pilot.press("2")
    await wait_until(pilot, lambda: "$ clarinet sweep" in screen_text(pilot.app), "the command line")
    await wait_until(pilot, lambda: "○ cpu" in screen_text(pilot.app), "the devices")
    assert isinstance(pilot.app.screen, LaunchScreen)
    return pilot.app.screen


def focus(pilot: Pilot[None], name: str) -> None:
    pilot.app.screen.query_one(f"#{name}").focus()


@pytest.mark.parametrize("size", SIZES)
async def test_selected_methods_tasks_and_seeds_make_a_command(app: ClarinetApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        screen = await opened(pilot)
        await pilot.press(*["right"] * list(methods()).index("gac"), "space")
        focus(pilot, "seeds")
        await pilot.press(*"1..3")
        await wait_until(pilot, lambda: "6 runs" in screen_text(app))
        text = screen_text(app)
        assert "2 methods × 1 task × 3 seeds" in text
        assert "$ clarinet sweep --methods clarinet,gac --tasks 'Y->D' --seeds 1..3" in text
        assert "less than a minute" in text or "roughly" in text
        focus(pilot, "methods")
        await pilot.press("y")
        assert app.clipboard == screen._checked.command
        assert app.clipboard.endswith("--seeds 1..3 --preset quick")


async def test_an_error_is_shown_below_its_field_and_nothing_starts(held: Path) -> None:
    app = make_app(held)
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await opened(pilot)
        focus(pilot, "seeds")
        await pilot.press(*"1..")
        await wait_until(pilot, lambda: "✗ seeds: expected seeds" in screen_text(app))
        lines = screen_text(app).splitlines()
        place = next(number for number, line in enumerate(lines) if "Seeds" in line)
        assert "seeds: expected seeds such as 1..5" in lines[place + 1]
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: pilot.app._notifications, "the sentence")
        assert not waiting(held)
        assert isinstance(app.screen, LaunchScreen)


async def test_settings_are_searched_edited_and_reset(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        focus(pilot, "setting-lines")
        await pilot.press("slash", *"epochs", "enter", "enter", *"ten")
        await wait_until(pilot, lambda: 'epochs: expected an integer ≥ 1, got "ten"' in screen_text(app))
        await pilot.press("backspace", "backspace", "backspace", "7", "enter")
        await wait_until(pilot, lambda: "--epochs 7" in screen_text(app))
        await pilot.press("enter", "9")
        await wait_until(pilot, lambda: "--epochs 9" in screen_text(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: "--epochs 7 " in screen_text(app) + " ", "the setting as it was")
        await pilot.press("backspace")
        await wait_until(pilot, lambda: "--epochs" not in screen_text(app), "the preset's value")
        await pilot.press("escape", "slash", *"bf16", "enter", "right")
        await wait_until(pilot, lambda: "--set precision=bf16" in screen_text(app))
        for value in ("fp16", "tf32"):
            await pilot.press("right")
            await wait_until(pilot, lambda value=value: f"--set precision={value}" in screen_text(app))  # type: ignore[misc]
        await pilot.press("right")
        await wait_until(pilot, lambda: "precision=" not in screen_text(app))


async def test_start_queues_runs_at_the_front_and_opens_history(held: Path) -> None:
    fill_queue(held, "aaa111")
    app = make_app(held)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        focus(pilot, "seeds")
        await pilot.press(*"4,5", "ctrl+s", "ctrl+s")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        await wait_until(pilot, lambda: "2 runs are queued" in screen_text(app), "the notice")
        order = waiting(held)
        assert len(order) == 3
        assert order[2] == "aaa111"
        configs = [RunDirectory(held, run).read_config() for run in order[:2]]
        assert [(config.seed, config.preset) for config in configs] == [(4, "quick"), (5, "quick")]
        assert not any(entry.paused for entry in queue_of(held).entries)
        await wait_until(pilot, lambda: all(run in screen_text(app) for run in order), "the new runs")


async def test_queued_paused_runs_wait_at_the_end(held: Path) -> None:
    fill_queue(held, "aaa111")
    app = make_app(held)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        first, new = queue_of(held).waiting
        assert first.id == "aaa111"
        assert new.paused


async def test_missing_data_is_shown_and_needs_confirmation(held: Path) -> None:
    app = make_app(held)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        focus(pilot, "tasks")
        await pilot.press("space")
        await wait_until(pilot, lambda: "USPS is missing: clarinet data fetch usps" in screen_text(app))
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "Start without this data?" in screen_text(app))
        await pilot.press("n")
        await wait_until(pilot, lambda: isinstance(app.screen, LaunchScreen))
        assert not waiting(held)
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: "Start without this data?" in screen_text(app))
        await pilot.press("y")
        await wait_until(pilot, lambda: len(waiting(held)) == 2, "the runs in the queue")


async def test_the_estimate_follows_seeds_epochs_and_methods(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111", epochs=8)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        focus(pilot, "preset")
        await pilot.press("right", "space")
        basis = "on 1 slot: from the iterations of 1 finished run on a CPU"
        await wait_until(pilot, lambda: f"about 8s, {basis}" in screen_text(app))
        focus(pilot, "seeds")
        await pilot.press(*"1..3")
        await wait_until(pilot, lambda: "about 24s, each 8s" in screen_text(app))
        focus(pilot, "setting-lines")
        await pilot.press("slash", *"epochs", "enter", "enter", "9", "enter")
        await wait_until(pilot, lambda: "about 53s, each 18s" in screen_text(app))
        focus(pilot, "methods")
        await pilot.press("right", "space")
        await wait_until(pilot, lambda: "a guess, as no" in screen_text(app))


async def test_a_click_selects(app: ClarinetApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        screen = await opened(pilot)
        tasks = screen.query_one("#tasks", Choices)
        await pilot.click(tasks, offset=(0, 0))
        await wait_until(pilot, lambda: "'U->M,Y->D'" in screen_text(app))
        assert tasks.selected == ("U->M", "Y->D")
        await pilot.click(tasks, offset=(0, 0))
        await wait_until(pilot, lambda: "--tasks 'Y->D'" in screen_text(app))


async def test_text_is_not_interpreted_as_markup(app: ClarinetApp) -> None:
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        focus(pilot, "other-tasks")
        await pilot.press(*"[red]x->y")
        await wait_until(pilot, lambda: '"[red]x" is neither' in screen_text(app))


async def test_keys_are_in_help_and_palette(app: ClarinetApp) -> None:
    async with app.run_test(size=(100, 60)) as pilot:
        await opened(pilot)
        commands = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Start", "Queue paused", "Copy", "Select"} <= commands
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: "Queue these runs, paused" in screen_text(app))


async def test_samples_of_the_task_show_what_they_are_not(runs_dir: Path) -> None:
    Path("empty").mkdir()
    save(Path("photos.npz"), x=images(8), y=labels(8))
    save(Path("scans.npz"), x=images(8))
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        app.screen.query_one("#other-tasks", Input).value = "photos.npz->empty"
        await wait_until(pilot, lambda: "neither directly" in screen_text(app), "the sentence")
        app.screen.query_one("#other-tasks", Input).value = "photos.npz->scans.npz"
        await wait_until(pilot, lambda: "▀" * 13 in screen_text(app), "the samples")
        assert " not " in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: "▀" not in screen_text(app), "the form alone")
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: "▀" * 10 in screen_text(app), "the samples alone")
        assert "Methods" not in screen_text(app)
        await pilot.resize_terminal(160, 48)
        await wait_until(pilot, lambda: "Methods" in screen_text(app) and "▀" not in screen_text(app), "no samples")
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: "▀" * 13 in screen_text(app), "the samples again")
