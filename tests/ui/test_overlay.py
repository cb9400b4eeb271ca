"""The Live view of overlaid runs, and the text beside the charts."""

from pathlib import Path

from clarinet_tui.ui.feed.detail_reader import DetailReader
from clarinet_tui.ui.feed.history_reader import HistoryReader
from clarinet_tui.ui.snapshot.snapshot import CurvesRequest, DetailRequest, RunCurves, ViewRequest
from clarinet_tui.ui.text.metrics import format_ascent, format_runs, recent_mean
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.log_tail import LogTail
from clarinet_tui.ui.widgets.run_charts import RunCharts, overlay_lines
from tests.support.app import SMALL, expect_text, open_app, screen_text, wait_until
from tests.support.histories import ingested
from tests.support.ui_runs import three_runs


async def test_each_run_has_its_line_and_one_is_in_front(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "aaa111", "bbb222", "ccc333", text="◆ ccc333", size=SMALL) as (app, pilot):
        loss, accuracy = app.screen.query(Chart)
        assert [(line.name, line.colour_index) for line in accuracy.lines] == [
            ("aaa111 clarinet 1", 0),
            ("bbb222 gac+cdan-e 1", 1),
            ("ccc333 clarinet 2", 2),
        ]
        assert accuracy.title == "Target accuracy %"
        await pilot.press("j")
        await wait_until(pilot, lambda: "✗ gac+cdan-e" in screen_text(app).splitlines()[1], "the next run in front")
        assert accuracy.lines[0].name.startswith("bbb222")
        assert accuracy.lines[0].colour_index == 1
        await pilot.press("M")
        assert loss.title == "Adversarial loss"
        assert accuracy.title == "Source accuracy %"
        await pilot.press("M")
        assert loss.title == "Complementary loss"


async def test_selected_runs_are_overlaid(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111") as (app, pilot):
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested)
        assert "Overlay" not in screen_text(app)
        await pilot.press("v")
        assert app.current_mode == "history"
        await pilot.press("space", "space")
        await expect_text(pilot, "v Overlay")
        await pilot.press("v")
        await expect_text(pilot, "■ bbb222")
        assert app.state.overlaid_runs == ("ccc333", "bbb222")
        await pilot.press("escape", "enter")
        await wait_until(pilot, lambda: app.current_mode == "live" and not app.state.overlaid_runs)
        await expect_text(pilot, "● target")


async def test_the_log_replaces_the_charts_and_back(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "ccc333", text="● target", size=SMALL) as (app, pilot):
        await pilot.press("p")
        await expect_text(pilot, "epoch 5: target 75.07 %")
        assert app.focused is app.screen.query_one(LogTail).lines
        assert "● target" not in screen_text(app)
        await pilot.press("p")
        await expect_text(pilot, "● target")
        assert isinstance(app.focused, Chart)


async def test_overlaid_runs_share_zoom_and_axes(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, "aaa111", "bbb222", text="■ bbb222") as (app, pilot):
        charts = app.screen.query_one(RunCharts)
        await wait_until(pilot, lambda: app.focused is charts.loss, "the focus")
        await pilot.press("plus")
        await wait_until(
            pilot,
            lambda: app.state.snapshot and all(one.request.window for one in app.state.snapshot.curves.values()),
            "detail of both",
        )
        await pilot.press("x")
        await wait_until(pilot, lambda: charts.axis == "epoch", "the next axis")
        assert charts.loss.view.shows_all
        assert charts.accuracy.lines[0].x[-1] == 8.0
        assert charts.accuracy.lines[1].x[-1] == 3.0


def curves_of(runs_dir: Path, *ids: str) -> list[RunCurves]:
    ingested(runs_dir).close()
    reader = HistoryReader(runs_dir)
    snapshot = reader.read(ViewRequest(curves=tuple(CurvesRequest(run, ("target_accuracy",)) for run in ids)))
    reader.close()
    assert snapshot is not None
    return [snapshot.curves[run] for run in ids]


def test_overlaid_runs_keep_their_colours_and_are_listed_with_their_markers(tmp_path: Path) -> None:
    three_runs(tmp_path)
    first, second, third = curves_of(tmp_path, "aaa111", "bbb222", "ccc333")
    lines = overlay_lines([first, second], "target_accuracy", "iteration", "bbb222")
    assert [line.colour_index for line in lines] == [1, 0], "the front run is on top"
    assert not overlay_lines([first], "mmd", "iteration", "")
    text = format_runs([second, third], "ccc333", [("●", "#ffffff"), ("■", "#000000")], 50).plain.split("\n")
    assert text[0].startswith("● gac+cdan-e 1 bbb222")
    assert text[0].endswith("✗  66.6 %")
    assert "62%" in text[1]
    assert {len(line) for line in text} == {50}


def test_the_meter_shows_the_share_of_ascent_steps() -> None:
    assert format_ascent(0.5, 10).plain.split() == ["gradient", "ascent", "━━━━━─────", "50.0", "%"]
    assert recent_mean([0.0] * 90 + [1.0] * 10) == 1.0


def test_an_invalid_run_id_is_reported(tmp_path: Path) -> None:
    reader = DetailReader(tmp_path)
    assert "run id" in str(reader.read_files(DetailRequest("../etc"))[0])
    assert reader.read_files(None) == ()
