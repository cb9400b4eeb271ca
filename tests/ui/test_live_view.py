"""The Live view of one run."""

from pathlib import Path

import pytest

from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.chart_grid import MetricGrid
from clarinet_tui.ui.widgets.run_charts import RunCharts
from tests.support.app import SIZES, make_app, screen_text, wait_until
from tests.support.events import step
from tests.support.ui_runs import NOW, STEPS, go_on, sample_hardware, three_runs, write_run


@pytest.mark.parametrize("size", SIZES)
async def test_live_shows_both_charts_and_updates(runs_dir: Path, size: tuple[int, int]) -> None:
    directory = three_runs(runs_dir)[2]
    app = make_app(runs_dir, "ccc333")
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "● complementary" in screen_text(app), "the loss")
        text = screen_text(app)
        assert "● target" in text
        assert "epoch 5/8" in text
        assert "ascent" in text
        before = app.screen.query(Chart).first().lines[0].x[-1]
        go_on(directory, 6, 8)
        await wait_until(pilot, lambda: "epoch 6/8" in screen_text(app), "the next epoch")
        assert app.screen.query(Chart).first().lines[0].x[-1] > before


async def test_the_loss_that_is_minimised_is_shown_in_place_of_eq_6(runs_dir: Path) -> None:
    directory = three_runs(runs_dir)[2]
    measured = {"complementary_loss": -5.0, "surrogate_loss": 0.1}
    with JournalWriter(directory.journal, now=lambda: NOW) as journal:
        journal.append(step(5 * STEPS + 1, measured))
    app = make_app(runs_dir, "ccc333")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "surrogate 0.1" in screen_text(app), "the surrogate")
        assert "complementary" not in {line.name for line in app.screen.query(Chart).first().lines}


@pytest.mark.parametrize("size", SIZES)
async def test_live_and_compare_without_runs(app: ClarinetApp, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "No runs yet" in screen_text(app))
        await pilot.press("3")
        await wait_until(pilot, lambda: "No run to watch yet" in screen_text(app))
        assert "Accuracy" not in screen_text(app)
        await pilot.press("4")
        await wait_until(pilot, lambda: "Nothing to compare yet" in screen_text(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.current_mode == "history")


async def test_zoom_is_shared_reads_detail_and_resets(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111", epochs=80)
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "● complementary" in screen_text(app))
        loss, accuracy = app.screen.query(Chart)

        def inside() -> int:
            start, stop = loss.window
            return int(((loss.lines[0].x >= start) & (loss.lines[0].x <= stop)).sum())

        coarse = inside() // 8
        await pilot.press("plus", "plus", "plus")
        await wait_until(pilot, lambda: inside() > 2 * coarse, "more detail")
        assert accuracy.view == loss.view
        await pilot.press("left", "left")
        assert accuracy.crosshair == loss.crosshair is not None
        await pilot.press("0")
        await pilot.pause()
        assert loss.view.shows_all
        assert accuracy.view.shows_all
        await pilot.press("escape")
        assert loss.crosshair is None
        await pilot.press("f")
        await pilot.pause()
        assert loss.view.follow


async def test_x_cycles_through_the_axes(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111")
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "● complementary" in screen_text(app))
        seen = []
        for _ in range(4):
            seen.append(app.screen.query(Chart).first().x_name)
            await pilot.press("x")
        assert seen == ["iteration", "epoch", "adaptation epoch", "device time"]
        assert app.screen.query(Chart).first().x_name == "iteration"


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_help_lists_every_key_and_quit_mentions_running_runs(
    key: str, runs_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "ccc333")
    async with app.run_test(size=(100, 110)) as pilot:
        await wait_until(pilot, lambda: "1 running" in screen_text(app))
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: "In charts" in screen_text(app))
        text = screen_text(app)
        for key_text in ("Zoom in", "Pan left", "Crosshair right", "Next run", "Quit; runs continue", "Search all"):
            assert key_text in text
        await pilot.press("escape", key)
    assert "1 run continues" in "".join(capsys.readouterr())


async def test_the_palette_offers_the_actions_of_the_view(runs_dir: Path) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        commands = {command.title for command in app.get_system_commands(app.screen)}
        assert {"Filter", "Compare", "Open", "Select", "View: Live", "Theme"} <= commands


async def test_accuracy_fits_the_data_and_a_key_shows_0_to_100(runs_dir: Path) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app), "the chart")
        accuracy = app.screen.query_one(RunCharts).accuracy
        assert accuracy.axes is not None
        assert accuracy.axes.low > 0
        await pilot.press("z")
        await wait_until(pilot, lambda: accuracy.axes and (accuracy.axes.low, accuracy.axes.high) == (0, 100))
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app), "the chart")
        assert app.screen.query_one(RunCharts).accuracy.y_range == (0, 100)


async def test_metrics_are_explained(runs_dir: Path) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "ascent so far" in screen_text(app), "the metrics")
        await pilot.press("i")
        await wait_until(pilot, lambda: "1 where the step was a gradient ascent" in screen_text(app), "the meaning")


@pytest.mark.parametrize("size", SIZES)
async def test_a_grid_shows_every_metric(runs_dir: Path, size: tuple[int, int]) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111")
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app), "the chart")
        await pilot.press("g")
        await wait_until(pilot, lambda: "Source accuracy %" in screen_text(app), "the grid")
        titles = {chart.title for chart in app.screen.query("MetricGrid Chart").results(Chart)}
        assert {"Target accuracy %", "Complementary loss", "Adversarial loss", "Lambda"} <= titles | {"Lambda"}
        grid = app.screen.query_one(MetricGrid)
        charts = list(grid.query(Chart))
        await wait_until(pilot, lambda: charts[-1].region.bottom >= grid.region.bottom - 3, "a full grid")
        assert min(chart.region.height for chart in charts) >= 9
        await pilot.press("g")
        await wait_until(pilot, lambda: "■ source" in screen_text(app), "the two charts")


async def test_a_key_shows_the_hardware_over_time(runs_dir: Path) -> None:
    on_gpu, _, on_cpu = three_runs(runs_dir)
    sample_hardware(on_gpu)
    sample_hardware(on_cpu, has_gpu=False)
    app = make_app(runs_dir, on_gpu.id)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app), "the chart")
        assert "H Hardware" in screen_text(app)
        loss = app.screen.query_one(RunCharts).loss
        await pilot.press("H")
        await wait_until(pilot, lambda: "Process memory GiB" in screen_text(app), "the last chart")
        for title in ("GPU use %", "GPU memory GiB", "GPU power W", "GPU temperature °C", "CPU use %"):
            assert title in screen_text(app)
        await wait_until(pilot, lambda: isinstance(app.focused, Chart), "the focus")
        await pilot.press("plus", "left")
        shown = app.screen.query("HardwareGrid Chart").results(Chart)
        assert {chart.view.shows_all or chart.crosshair is None for chart in shown} == {False}, "all are zoomed"
        assert loss.view.shows_all, "its x axis is another one"
        await pilot.press("k")
        await wait_until(pilot, lambda: "No samples of the hardware" in screen_text(app), "the sentence")
        await pilot.press("k")
        await wait_until(pilot, lambda: "CPU use %" in screen_text(app), "the run on the CPU")
        assert "Process memory GiB" in screen_text(app)
        assert "GPU power" not in screen_text(app)
        await pilot.press("p")
        await wait_until(pilot, lambda: app.screen.query_one("#live-log").region, "the log")
        await pilot.press("H", "g")
        await wait_until(pilot, lambda: "Source accuracy %" in screen_text(app), "all metrics")
        assert "No samples" not in screen_text(app)
        await pilot.press("g")
        await wait_until(pilot, lambda: loss.region, "the two charts")
