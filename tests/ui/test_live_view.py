"""The Live view of one run."""

from pathlib import Path

import pytest

from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.run_charts import MetricGrid, RunCharts
from tests.support.app import SIZES, SMALL, expect_text, open_app, screen_text, wait_until
from tests.support.events import step
from tests.support.ui_runs import NOW, STEPS, go_on, sample_hardware, three_runs, write_run


async def test_live_shows_both_charts_and_updates(runs_dir: Path) -> None:
    directory = three_runs(runs_dir)[2]
    async with open_app(runs_dir, "ccc333", text="● complementary", size=SMALL) as (app, pilot):
        text = screen_text(app)
        assert "● target" in text
        assert "epoch 5/8" in text
        assert "ascent" in text
        before = app.screen.query(Chart).first().lines[0].x[-1]
        go_on(directory, 6, 8)
        await expect_text(pilot, "epoch 6/8")
        assert app.screen.query(Chart).first().lines[0].x[-1] > before


async def test_the_loss_that_is_minimised_is_shown_in_place_of_eq_6(runs_dir: Path) -> None:
    directory = three_runs(runs_dir)[2]
    measured = {"complementary_loss": -5.0, "surrogate_loss": 0.1}
    with JournalWriter(directory.journal, now=lambda: NOW) as journal:
        journal.append(step(5 * STEPS + 1, measured))
    async with open_app(runs_dir, "ccc333", text="surrogate 0.1", size=SMALL) as (app, _):
        assert "complementary" not in {line.name for line in app.screen.query(Chart).first().lines}


async def test_live_and_compare_without_runs(runs_dir: Path) -> None:
    async with open_app(runs_dir, view="3", text="No run to watch yet", size=SMALL) as (app, pilot):
        assert "Accuracy" not in screen_text(app)
        await pilot.press("4")
        await expect_text(pilot, "Nothing to compare yet")
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.current_mode == "history")


async def test_zoom_is_shared_reads_detail_and_resets(runs_dir: Path) -> None:
    async with open_app(runs_dir, "aaa111", text="Reading…", size=SMALL) as (app, pilot):
        loss, accuracy = app.screen.query(Chart)
        assert app.focused is loss, "the first key is for the chart as soon as it has a curve"
        write_run(runs_dir, "aaa111", epochs=80)
        await expect_text(pilot, "● complementary")

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


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
async def test_quit_mentions_running_runs(key: str, runs_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "ccc333", text="1 running") as (_, pilot):
        await pilot.press(key)
    assert "1 run continues" in "".join(capsys.readouterr())


async def test_keys_change_the_axis_and_the_scale_and_explain_metrics(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "aaa111", text="● target") as (app, pilot):
        await expect_text(pilot, "ascent so far")
        await pilot.press("i")
        await expect_text(pilot, "1 where the step was a gradient ascent")
        axes = []
        for _ in range(5):
            axes.append(app.screen.query(Chart).first().x_name)
            await pilot.press("x")
        assert axes == ["iteration", "epoch", "adaptation epoch", "device time", "iteration"]
        accuracy = app.screen.query_one(RunCharts).accuracy
        assert accuracy.axes is not None
        assert accuracy.axes.low > 0
        await pilot.press("z")
        await wait_until(pilot, lambda: accuracy.axes and (accuracy.axes.low, accuracy.axes.high) == (0, 100))
    async with open_app(runs_dir, "aaa111", text="● target") as (app, pilot):
        assert app.screen.query_one(RunCharts).accuracy.y_range == (0, 100)


@pytest.mark.parametrize("size", SIZES)
async def test_a_grid_shows_every_metric(runs_dir: Path, size: tuple[int, int]) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "aaa111", text="● target", size=size) as (app, pilot):
        await pilot.press("g")
        await expect_text(pilot, "Source accuracy %")
        titles = {chart.title for chart in app.screen.query("MetricGrid Chart").results(Chart)}
        assert {"Target accuracy %", "Complementary loss", "Adversarial loss", "Lambda"} <= titles | {"Lambda"}
        grid = app.screen.query_one(MetricGrid)
        charts = list(grid.query(Chart))
        await wait_until(pilot, lambda: charts[-1].region.bottom >= grid.region.bottom - 3, "a full grid")
        assert min(chart.region.height for chart in charts) >= 9
        await pilot.press("g")
        await expect_text(pilot, "■ source")


async def test_a_key_shows_the_hardware_over_time(runs_dir: Path) -> None:
    on_gpu, _, on_cpu = three_runs(runs_dir)
    sample_hardware(on_gpu)
    sample_hardware(on_cpu, has_gpu=False)
    async with open_app(runs_dir, on_gpu.id, text="● target", size=SMALL) as (app, pilot):
        assert "H Hardware" in screen_text(app)
        loss = app.screen.query_one(RunCharts).loss
        await pilot.press("H")
        await expect_text(pilot, "Process memory GiB")
        for title in ("GPU use %", "GPU memory GiB", "GPU power W", "GPU temperature °C", "CPU use %"):
            assert title in screen_text(app)
        await wait_until(pilot, lambda: isinstance(app.focused, Chart), "the focus")
        await pilot.press("plus", "left")
        shown = app.screen.query("HardwareGrid Chart").results(Chart)
        assert {chart.view.shows_all or chart.crosshair is None for chart in shown} == {False}, "all are zoomed"
        assert loss.view.shows_all, "its x axis is another one"
        await pilot.press("k")
        await expect_text(pilot, "No samples of the hardware")
        await pilot.press("k")
        await expect_text(pilot, "CPU use %")
        assert "Process memory GiB" in screen_text(app)
        assert "GPU power" not in screen_text(app)
        await pilot.press("p")
        await wait_until(pilot, lambda: app.screen.query_one("#live-log").region, "the log")
        await pilot.press("H", "g")
        await expect_text(pilot, "Source accuracy %")
        assert "No samples" not in screen_text(app)
        await pilot.press("g")
        await wait_until(pilot, lambda: loss.region, "the two charts")
