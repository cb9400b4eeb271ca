"""Reading and saving preferences."""

import os
from pathlib import Path

import pytest

from clarinet_tui.chart.cells import HALVES
from clarinet_tui.ui.preferences import Preferences, PreferenceStore, preferences_path, read_preferences
from clarinet_tui.ui.themes import CONTRAST, DARK, LIGHT
from clarinet_tui.ui.widgets.chart import Chart
from clarinet_tui.ui.widgets.run_charts import RunCharts
from clarinet_tui.ui.widgets.run_detail import RunDetail
from tests.support.app import expect_text, make_app, open_app, screen_text, toast_texts, wait_until
from tests.support.ui_runs import three_runs


def fail(message: str, error: Exception) -> None:
    pytest.fail(message)


def test_the_file_is_in_the_config_directory() -> None:
    assert preferences_path({"XDG_CONFIG_HOME": "/c"}) == Path("/c/clarinet/tui.json")
    assert preferences_path({"HOME": "/home/a"}) == Path("/home/a/.config/clarinet/tui.json")


def test_saved_values_are_read_again_and_others_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a" / "tui.json"
    one, two = PreferenceStore(path, fail), PreferenceStore(path, fail)
    one.save(theme=DARK)
    one.close()
    assert not path.exists(), "without a change nothing is written"
    one.save(theme=LIGHT)
    one.close()
    two.save(sort="method", pane="log")
    two.close()
    assert read_preferences(path) == (Preferences(theme=LIGHT, sort="method", pane="log"), "")
    assert not [file for file in path.parent.iterdir() if file != path]


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b'{"theme": 3}', b"\xff\xfe", b'{"axis": ' + b"[" * 9000])
def test_a_damaged_file_is_reported_and_not_overwritten(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "tui.json"
    path.write_bytes(content)
    store = PreferenceStore(path, fail)
    assert store.values == Preferences()
    assert "cannot be read" in store.problem
    store.save(theme=LIGHT)
    store.close()
    assert store.values.theme == LIGHT
    assert path.read_bytes() == content


def test_unknown_values_are_ignored(tmp_path: Path) -> None:
    path = tmp_path / "tui.json"
    path.write_text('{"pane": "hologram", "new": {"x": 1}}')
    assert read_preferences(path) == (Preferences(pane="hologram"), "")
    os.mkfifo(tmp_path / "pipe")
    assert read_preferences(tmp_path / "pipe")[0] == Preferences(), "a pipe in its place does not block"


def test_an_unwritable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "clarinet").write_text("a file where a folder should be")
    errors: list[str] = []
    store = PreferenceStore(tmp_path / "clarinet" / "tui.json", lambda message, error: errors.append(message))
    assert store.problem
    store = PreferenceStore(tmp_path / "clarinet.json", lambda message, error: errors.append(message))
    (tmp_path / "clarinet.json").mkdir()
    store.save(theme=LIGHT)
    store.close()
    assert "preferences could not be saved" in errors[0]


async def test_the_layout_is_restored(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="● target") as (app, pilot):
        await pilot.press("o", "p")
        app.theme = CONTRAST
        await pilot.press("enter", "x")
        await wait_until(pilot, lambda: "● target" in screen_text(app) and app.current_mode == "live")
        app.action_use_glyphs("halves")
    again = make_app(runs_dir)
    assert again.theme == CONTRAST
    assert again.has_class("-contrast")
    async with again.run_test(size=(160, 48)) as pilot:
        await expect_text(pilot, "aaa111")
        assert again.screen.query_one(RunDetail).pane == "about"
        assert again.state.snapshot is not None
        await wait_until(pilot, lambda: again.state.history_feed.requested.sort == "target_accuracy", "the order")
        await pilot.press("enter")
        await expect_text(pilot, "● target")
        charts = again.screen.query_one(RunCharts)
        assert charts.axis == "epoch"
        assert charts.loss.glyphs is HALVES


async def test_the_app_works_with_a_damaged_file(runs_dir: Path) -> None:
    three_runs(runs_dir)
    write_preferences("not json")
    async with open_app(runs_dir, text="● target", notifications=True) as (app, pilot):
        await wait_until(pilot, lambda: any("cannot be read" in text for text in toast_texts(app)), "the notice")


def write_preferences(text: str) -> None:
    path = preferences_path()
    path.parent.mkdir(parents=True)
    path.write_text(text)


async def test_an_axis_that_the_run_lacks_becomes_iterations(runs_dir: Path) -> None:
    three_runs(runs_dir)
    write_preferences('{"axis": "adaptation epoch", "theme": "of another time", "pane": "hologram"}')
    async with open_app(runs_dir, "ccc333", text="● target") as (app, _):
        assert app.theme == DARK
        charts, drawn = app.screen.query_one(RunCharts), app.screen.query(Chart).first()
        assert drawn.x_name == "adaptation epoch"
        charts.show()
        assert drawn.x_name == "iteration"
