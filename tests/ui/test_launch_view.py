"""The Launch view: a form that is checked while it is typed, and queues real runs."""

from pathlib import Path

from textual.pilot import Pilot
from textual.widgets import Input

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.screens.launch import LaunchScreen
from clarinet_tui.ui.widgets.launch_fields import Choices
from core.methods import methods
from tests.support.app import SMALL, WIDE, OpenedApp, expect_text, open_app, screen_text, wait_until
from tests.support.image_folders import images, labels, save
from tests.support.ui_queue import fill_queue, waiting
from tests.support.ui_runs import write_run


def open_launch(runs_dir: Path, size: tuple[int, int] = WIDE) -> OpenedApp:
    return open_app(runs_dir, view="2", text="○ cpu", size=size, notifications=True)


def focus(pilot: Pilot[None], name: str) -> None:
    pilot.app.screen.query_one(f"#{name}").focus()


async def test_selected_methods_tasks_and_seeds_make_a_command(runs_dir: Path) -> None:
    async with open_launch(runs_dir) as (app, pilot):
        await pilot.press(*["right"] * list(methods()).index("gac"), "space")
        focus(pilot, "seeds")
        await pilot.press(*"1..3")
        await expect_text(pilot, "6 runs")
        text = screen_text(app)
        assert "2 methods × 1 task × 3 seeds" in text
        assert "$ clarinet sweep --methods clarinet,gac --tasks 'Y->D' --seeds 1..3" in text
        assert "less than a minute" in text or "roughly" in text
        focus(pilot, "methods")
        await pilot.press("y")
        assert app.clipboard == "clarinet sweep --methods clarinet,gac --tasks 'Y->D' --seeds 1..3 --preset quick"
        tasks = app.screen.query_one("#tasks", Choices)
        await pilot.click(tasks, offset=(0, 0))
        await expect_text(pilot, "'U->M,Y->D'")
        assert tasks.selected == ("U->M", "Y->D")
        await pilot.click(tasks, offset=(0, 0))
        await expect_text(pilot, "--tasks 'Y->D'")
        focus(pilot, "other-tasks")
        await pilot.press(*"[red]x->y")
        await expect_text(pilot, '"[red]x" is neither')


async def test_an_error_is_shown_below_its_field_and_nothing_starts(held: Path) -> None:
    async with open_launch(held) as (app, pilot):
        focus(pilot, "seeds")
        await pilot.press(*"1..")
        await expect_text(pilot, "✗ seeds: expected seeds")
        lines = screen_text(app).splitlines()
        place = next(number for number, line in enumerate(lines) if "Seeds" in line)
        assert "seeds: expected seeds such as 1..5" in lines[place + 1]
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: pilot.app._notifications, "the sentence")
        assert not waiting(held)
        assert isinstance(app.screen, LaunchScreen)


async def test_settings_are_searched_edited_and_reset(runs_dir: Path) -> None:
    async with open_launch(runs_dir) as (app, pilot):
        focus(pilot, "setting-lines")
        await pilot.press("slash", *"epochs", "enter", "enter", *"ten")
        await wait_until(pilot, lambda: 'epochs: expected an integer ≥ 1, got "ten"' in screen_text(app))
        await pilot.press("backspace", "backspace", "backspace", "7", "enter")
        await expect_text(pilot, "--epochs 7")
        await pilot.press("enter", "9")
        await expect_text(pilot, "--epochs 9")
        await pilot.press("escape")
        await wait_until(pilot, lambda: "--epochs 7 " in screen_text(app) + " ", "the setting as it was")
        await pilot.press("backspace")
        await wait_until(pilot, lambda: "--epochs" not in screen_text(app), "the preset's value")
        await pilot.press("escape", "slash", *"bf16", "enter", "right")
        await expect_text(pilot, "--set precision=bf16")
        for value in ("fp16", "tf32"):
            await pilot.press("right")
            await wait_until(pilot, lambda value=value: f"--set precision={value}" in screen_text(app))  # type: ignore[misc]
        await pilot.press("right")
        await wait_until(pilot, lambda: "precision=" not in screen_text(app))


async def test_runs_are_queued_at_the_front_or_paused_at_the_end(held: Path) -> None:
    fill_queue(held, "aaa111")
    async with open_launch(held, SMALL) as (app, pilot):
        focus(pilot, "seeds")
        await pilot.press(*"4,5", "ctrl+s", "ctrl+s")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        await expect_text(pilot, "2 runs are queued")
        order = waiting(held)
        assert len(order) == 3
        assert order[2] == "aaa111"
        configs = [RunDirectory(held, run).read_config() for run in order[:2]]
        assert [(config.seed, config.preset) for config in configs] == [(4, "quick"), (5, "quick")]
        assert not any(entry.paused for entry in read_queue(held).entries)
        await wait_until(pilot, lambda: all(run in screen_text(app) for run in order), "the new runs")
        await pilot.press("2", "ctrl+l")
        await wait_until(pilot, lambda: len(waiting(held)) == 5, "two more runs")
        assert [entry.paused for entry in read_queue(held).waiting] == [False, False, False, True, True]


async def test_several_runs_are_a_sweep_which_is_extended(held: Path) -> None:
    async with open_launch(held) as (app, pilot):
        assert not app.screen.query_one("#sweep-field").display
        focus(pilot, "seeds")
        await pilot.press(*"1..2")
        await wait_until(pilot, lambda: app.screen.query_one("#sweep-field").display, "the field of the sweep")
        focus(pilot, "tags")
        await pilot.press(*"icml")
        await expect_text(pilot, "--tag icml")
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: len(waiting(held)) == 2, "two runs")
        await expect_text(pilot, "#icml")
        app.action_view("launch")
        focus(pilot, "sweep")
        await pilot.press(*"clarinet-Y-D")
        focus(pilot, "seeds")
        await pilot.press(*"1..3")
        await expect_text(pilot, "3 runs")
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: len(waiting(held)) == 3, "one more run")
        await expect_text(pilot, "2 exist already")
        runs = [RunDirectory(held, entry) for entry in waiting(held)]
        assert {run.read_config().sweep for run in runs} == {"clarinet-Y-D"}
        assert sorted(run.read_config().seed for run in runs) == [1, 2, 3]


async def test_missing_data_is_shown_and_needs_confirmation(held: Path) -> None:
    async with open_launch(held) as (app, pilot):
        focus(pilot, "tasks")
        await pilot.press("space")
        await expect_text(pilot, "USPS is missing: clarinet data fetch usps")
        await pilot.press("ctrl+s")
        await expect_text(pilot, "Start without this data?")
        await pilot.press("n")
        await wait_until(pilot, lambda: isinstance(app.screen, LaunchScreen))
        assert not waiting(held)
        await pilot.press("ctrl+s")
        await expect_text(pilot, "Start without this data?")
        await pilot.press("y")
        await wait_until(pilot, lambda: len(waiting(held)) == 2, "the runs in the queue")


async def test_the_estimate_follows_seeds_epochs_and_methods(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111", epochs=8)
    async with open_launch(runs_dir) as (_, pilot):
        focus(pilot, "preset")
        await pilot.press("right", "space")
        basis = "on 1 slot: from the iterations of 1 finished run on a CPU"
        await expect_text(pilot, f"about 8s, {basis}")
        focus(pilot, "seeds")
        await pilot.press(*"1..3")
        await expect_text(pilot, "about 24s, each 8s")
        focus(pilot, "setting-lines")
        await pilot.press("slash", *"epochs", "enter", "enter", "9", "enter")
        await expect_text(pilot, "about 53s, each 18s")
        focus(pilot, "methods")
        await pilot.press("right", "space")
        await expect_text(pilot, "a guess, as no")


async def test_samples_of_the_task_show_what_they_are_not(runs_dir: Path) -> None:
    Path("empty").mkdir()
    save(Path("photos.npz"), x=images(8), y=labels(8))
    save(Path("scans.npz"), x=images(8))
    async with open_launch(runs_dir) as (app, pilot):
        app.screen.query_one("#other-tasks", Input).value = "photos.npz->empty"
        await expect_text(pilot, "neither directly")
        app.screen.query_one("#other-tasks", Input).value = "photos.npz->scans.npz"
        await expect_text(pilot, "▀" * 13)
        assert " not " in screen_text(app)
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: "▀" not in screen_text(app), "the form alone")
        await pilot.press("ctrl+o")
        await expect_text(pilot, "▀" * 10)
        assert "Methods" not in screen_text(app)
        await pilot.resize_terminal(160, 48)
        await wait_until(pilot, lambda: "Methods" in screen_text(app) and "▀" not in screen_text(app), "no samples")
        await pilot.press("ctrl+o")
        await expect_text(pilot, "▀" * 13)
