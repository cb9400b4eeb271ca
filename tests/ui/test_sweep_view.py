"""The Sweep view: a line for each variant, a column for each seed, and actions on the whole sweep."""

from pathlib import Path

import pytest

from clarinet_tui.chart.cells import BRAILLE
from clarinet_tui.history.queries import RunRow
from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.runs.state import RunState
from clarinet_tui.ui.feed.sweep_reader import SweepReader
from clarinet_tui.ui.launch_form import make_form
from clarinet_tui.ui.screens.sweep import SweepScreen
from clarinet_tui.ui.snapshot.sweep import SweepSnapshot
from clarinet_tui.ui.text.sweep import (
    estimate_seconds_left,
    format_sweep_cell,
    format_sweep_figure,
    format_sweep_grid,
    format_sweep_header,
)
from core.resolve import resolve
from tests.support.app import SMALL, expect_text, open_app, screen_text, wait_until
from tests.support.histories import ingested
from tests.support.trained_runs import make_trained_run
from tests.support.ui_queue import waiting
from tests.support.ui_runs import run_row, sweep_runs, write_run


def read_sweep(runs_dir: Path, name: str = "rates") -> SweepSnapshot:
    with ingested(runs_dir) as db:
        return SweepReader(db, runs_dir).read(name)


def grid_lines(sweep: SweepSnapshot, cursor: tuple[int, int] = (0, 0), width: int = 100, height: int = 20) -> list[str]:
    return [line.rstrip() for line in format_sweep_grid(sweep, cursor, width, height).plain.splitlines()]


def test_a_line_for_each_variant_and_a_column_for_each_seed(tmp_path: Path) -> None:
    sweep_runs(tmp_path)
    sweep = read_sweep(tmp_path)
    assert (sweep.common, sweep.titles, sweep.seeds) == (("clarinet", "M→U", "smoke"), ("classifier_rate",), (1, 2, 3))
    low, high = sweep.lines
    assert [line.labels for line in sweep.lines] == [("0.003",), ("0.03",)]
    assert [run.id for run in low.runs.values()] == ["lo1", "lo2", "lo3"]
    accuracies = [run.target_accuracy for run in low.runs.values()]
    assert low.mean == pytest.approx(sum(map(float, filter(None, accuracies))) / 3)
    assert (low.measured, high.measured) == (3, 1)
    assert high.std is None, "the failed and the running one do not count"
    assert format_sweep_header(sweep).plain.startswith("rates · clarinet · M→U · smoke\n")
    assert "4 of 6 runs finished, 1 running, 1 failed" in format_sweep_header(sweep).plain
    lines = grid_lines(sweep)
    assert lines[0].split() == ["classifier_rate", "seed", "1", "seed", "2", "seed", "3", "mean", "±", "std"]
    assert lines[2].split()[2:6] == ["✗", "▸", "50", "%"]
    figure = format_sweep_figure(sweep, 60, 12, BRAILLE, "dark").plain
    assert "classifier_rate" in figure
    assert len(figure.split("Points:")[0].splitlines()) < 16


def test_runs_of_another_version_are_a_line_of_their_own(tmp_path: Path) -> None:
    for seed, version in ((1, "9.0"), (2, "9.0"), (3, "0.1.0")):
        make_trained_run(tmp_path, f"run{seed}", [70.0 + seed], seed=seed, version=version, sweep="seeds")
    sweep = read_sweep(tmp_path, "seeds")
    assert sweep.titles == ("",)
    assert {line.labels: (line.measured, line.mean) for line in sweep.lines} == {
        ("version 9.0",): (2, 71.5),
        ("version 0.1.0",): (1, 73.0),
    }


def test_a_sweep_of_seeds_alone_has_no_settings_and_no_figure(tmp_path: Path) -> None:
    for seed in range(1, 13):
        write_run(tmp_path, f"run{seed:02}", seed=seed, sweep="seeds")
    sweep = read_sweep(tmp_path, "seeds")
    assert (sweep.titles, len(sweep.lines), sweep.figure) == ((), 1, None)
    assert format_sweep_figure(sweep, 60, 12, BRAILLE, "dark").plain == ""
    narrow = grid_lines(sweep, (0, 11), width=60)
    assert "seed 12" in narrow[0]
    assert "seed 1 " not in narrow[0]
    assert narrow[-1].startswith("seeds ")
    assert narrow[-1].endswith("to 12 of 12")
    assert max(map(len, narrow)) <= 60
    gone = read_sweep(tmp_path, "gone")
    assert (gone.lines, format_sweep_header(gone).plain) == ((), "gone  no runs")
    assert grid_lines(gone)


def test_many_lines_are_shown_around_the_cursor(tmp_path: Path) -> None:
    for number in range(1, 21):
        write_run(tmp_path, f"run{number:02}", sweep="rates", classifier_rate=number / 1000)
    sweep = read_sweep(tmp_path)
    lines = grid_lines(sweep, (19, 0), height=6)
    assert len(lines) == 7
    assert lines[-1] == "lines 16 to 20 of 20"
    assert lines[-2].startswith("0.02 ")


def row(state: RunState, **changes: object) -> RunRow:
    return run_row(state=state, **changes)


def test_cells_and_the_time_left() -> None:
    running = row(RunState.RUNNING, iteration=43, iterations_total=100, seconds=30.0, seconds_left=40.0)
    finished = row(RunState.FINISHED, target_accuracy=81.234, seconds=100.0)
    queued = row(RunState.QUEUED)
    cells = [format_sweep_cell(run)[0] for run in (running, finished, row(RunState.FAILED), queued, None)]
    assert cells == ["▸ 43 %", "81.2", "✗", "◦", ""]
    assert estimate_seconds_left((running, finished, queued)) == pytest.approx(140)
    assert estimate_seconds_left((running, queued)) == pytest.approx(110), "the running one takes 70 s"
    assert estimate_seconds_left((finished,)) is None
    assert estimate_seconds_left((queued,)) is None


def test_the_form_of_a_sweep_has_all_its_values() -> None:
    settings = {"method": "basset", "preset": "smoke", "sweep": "first"}
    configs = [
        resolve(settings, task=task, seed=seed, classifier_rate=rate)
        for task in ("M->U", "M->D")
        for rate in (0.01, 0.02)
        for seed in (2, 1)
    ]
    form = make_form(*configs, sweep="first")
    assert (form.methods, form.tasks, form.other_tasks, form.seeds) == (("basset",), ("M->U",), "M->D", "1..2")
    assert (form.preset, form.sweep, dict(form.settings)) == ("smoke", "first", {"classifier_rate": "0.01, 0.02"})


async def test_from_history_to_the_sweep_and_its_runs(runs_dir: Path) -> None:
    sweep_runs(runs_dir)
    async with open_app(runs_dir, text="other1", size=SMALL, notifications=True) as (app, pilot):
        await pilot.press("j", "w")
        await expect_text(pilot, "This run is not part of a sweep")
        await pilot.press("k", "w")
        await expect_text(pilot, "rates · clarinet")
        await pilot.press("j", "l", "l", "enter")
        await wait_until(pilot, lambda: app.current_mode == "live" and app.state.live_run == "hi3", "Live")
        app.action_view("sweep")
        await expect_text(pilot, "rates · clarinet")
        await pilot.press("x")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        await wait_until(pilot, lambda: "other1" not in screen_text(app) and "lo1" in screen_text(app), "its runs")
        await pilot.press("m")
        await expect_text(pilot, "classifier_rate=0.03")
        await pilot.press("w")
        await expect_text(pilot, "rates · clarinet")
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")


async def test_the_palette_opens_a_sweep_which_is_extended(runs_dir: Path) -> None:
    sweep_runs(runs_dir)
    async with open_app(runs_dir, text="other1") as (app, pilot):
        await pilot.press("ctrl+p", *"sweep: rates")
        await expect_text(pilot, "Show the runs of the sweep as a grid")
        await pilot.press("enter")
        await expect_text(pilot, "rates · clarinet")
        screen = app.screen
        assert isinstance(screen, SweepScreen)
        app.state.sweep = "another"
        assert screen.target_runs() == (), "nothing acts on the sweep that was read before"
        app.state.sweep = "rates"
        await pilot.press("e")
        await expect_text(pilot, "--name rates --methods clarinet --tasks 'M->U' --seeds 1..3")
        await expect_text(pilot, "3 seeds × 2 classifier_rate")


async def test_a_sweep_is_stopped_resumed_and_deleted_as_a_whole(held: Path) -> None:
    for seed, end in ((1, "finished"), (2, "failed"), (3, "failed")):
        write_run(held, f"run{seed}", seed=seed, end=end, until=3, sweep="seeds")
    write_run(held, "other1")
    async with open_app(held, text="other1", notifications=True) as (app, pilot):
        app.state.sweep = "seeds"
        app.action_view("sweep")
        await expect_text(pilot, "1 of 3 runs finished, 2 failed")
        await pilot.press("s")
        await expect_text(pilot, "No run of the sweep is running or queued")
        await pilot.press("r")
        await expect_text(pilot, "2 queued")
        assert sorted(waiting(held)) == ["run2", "run3"]
        await pilot.press("r")
        await expect_text(pilot, "No run of the sweep is stopped")
        await pilot.press("d")
        await expect_text(pilot, "s stops them")
        await pilot.press("s")
        await expect_text(pilot, "Stop 2 runs?")
        await pilot.press("y")
        await wait_until(pilot, lambda: not waiting(held), "an empty queue")
        await expect_text(pilot, "1 of 3 runs finished, 2 failed")
        await pilot.press("d")
        await expect_text(pilot, "Delete the sweep seeds?")
        await pilot.press("y")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        assert list_run_ids(held) == ["other1"]
        await pilot.press("u")
        await wait_until(pilot, lambda: len(list_run_ids(held)) == 4, "the runs")
