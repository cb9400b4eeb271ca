"""The panes of the run at the cursor: their text, and switching between them."""

import math
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.chart.cells import BRAILLE
from clarinet_tui.runs.annotations import add_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import write_environment
from clarinet_tui.runs.journal import is_confusion_matrix
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_setting
from clarinet_tui.ui.feed.detail_reader import format_environment, list_run_settings
from clarinet_tui.ui.snapshot.snapshot import Confusion, DetailRequest, Failure, RunDetails, Setting
from clarinet_tui.ui.text.inspection import format_confusion
from clarinet_tui.ui.text.run import format_about, format_settings
from clarinet_tui.ui.widgets.run_detail import PANES, RunDetail
from core.config import RunConfig
from core.resolve import resolve
from tests.support.app import SMALL, expect_text, open_app, screen_text, wait_until
from tests.support.cli import invoke_json
from tests.support.known import known
from tests.support.trained_runs import make_label_free_run
from tests.support.ui_runs import CONFUSION, run_row, three_runs, write_run


async def open_pane(pilot: Pilot[None], name: str) -> None:
    detail = pilot.app.screen.query_one(RunDetail)
    while detail.pane != name:
        await pilot.press("p")


async def test_panes_show_the_run(runs_dir: Path) -> None:
    directory = write_run(runs_dir, "aaa111")
    write_environment(directory, directory.read_config(), device="cuda:3", command=["clarinet", "run", "a b"])
    add_tag(directory, "icml")
    set_note(directory, "the [bold]best[/] one")
    async with open_app(runs_dir, text="● target", size=SMALL) as (app, pilot):
        await open_pane(pilot, "about")
        await expect_text(pilot, "cuda:3")
        for text in ("#icml", "the [bold]best[/] one", "6 000 source", "431 080 parameters", "source images are rend"):
            assert text in screen_text(app)
        assert not known(app.state.snapshot).curves, "curves are not read for a pane of text"
        await open_pane(pilot, "settings")
        await expect_text(pilot, "Differs from the preset smoke")
        assert "500  instead of 3" in screen_text(app).replace("500         ", "500")
        await pilot.press("J", "J", "J")
        await wait_until(pilot, lambda: "Differs" not in screen_text(app), "scrolling down")
        await pilot.press("K", "K", "K")
        await expect_text(pilot, "Differs")
        await open_pane(pilot, "confusion")
        await expect_text(pilot, "     ".join("0123456789"))
        row = next(line for line in screen_text(app).splitlines() if "89" in line)
        assert "11" in row
        directory.config.write_text("method = [")
        await open_pane(pilot, "settings")
        await expect_text(pilot, "config.toml:")


async def test_a_run_without_target_labels_shows_what_it_selects(runs_dir: Path) -> None:
    make_label_free_run(runs_dir, "aaa111")
    async with open_app(runs_dir, text="Charts", size=SMALL) as (app, pilot):
        await open_pane(pilot, "about")
        await expect_text(pilot, "epoch 2 (0.800)")
        assert "epoch 3 (0.200)" in screen_text(app)
        assert not {"None", "NaN"} & set(screen_text(app).split())
        await open_pane(pilot, "confusion")
        await expect_text(pilot, "No confusion matrix yet")


async def test_keys_and_clicks_switch_panes(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="● target") as (app, pilot):
        detail = app.screen.query_one(RunDetail)
        panes = []
        for key in ("p", "right_square_bracket", "P", "left_square_bracket", "P"):
            await pilot.press(key)
            panes.append(detail.pane)
        names = list(PANES)
        assert panes == [names[1], names[2], names[1], names[0], names[-1]]
        await pilot.click("PaneTabs", offset=(2, 0))
        assert detail.pane == "charts"
        assert known(detail.charts).display


def test_a_failure_shows_frames_and_losses() -> None:
    run = run_row(state=RunState.FAILED, error="RuntimeError: no")
    failure = Failure("RuntimeError: no", ("a.py:3 f", "b.py:9 g"), (("mmd", math.nan),))
    text = format_about(run, RunDetails(DetailRequest("aaa111"), failure=failure), 0.0, 60).plain
    assert "error      RuntimeError: no" in text
    assert "at         a.py:3 f\n           b.py:9 g" in text
    assert "last step  mmd NaN" in text


def test_settings_that_differ_come_first() -> None:
    listed = list_run_settings(resolve(preset="smoke", batch_size=64, epochs=7))
    assert listed[:2] == (
        Setting("epochs", "7", "3", listed[0].description),
        Setting("batch_size", "64", "32", listed[1].description),
    )
    assert all(setting.default is None for setting in listed[2:])
    assert "Nothing differs" in settings_text(resolve(preset="smoke"))


def settings_text(config: RunConfig) -> str:
    return format_settings(
        run_row(preset="smoke"), RunDetails(DetailRequest("a"), list_run_settings(config)), 100
    ).plain


def test_values_are_formatted_as_in_toml() -> None:
    assert [format_setting(value) for value in (True, 5e-5, 3, "", "adam")] == ["true", "5e-05", "3", '""', "adam"]


def confusion(counts: list[list[int]]) -> Confusion:
    return Confusion(tuple(map(tuple, counts)), tuple(map(str, range(len(counts)))), 5)


def test_a_confusion_matrix_has_numbers_or_shades() -> None:
    roomy, narrow = (format_confusion(confusion(CONFUSION), width, BRAILLE, "dark").plain for width in (60, 14))
    assert "89" in roomy
    assert "4 predicted as 9  4 of 36, 11 %" in roomy
    assert "█" in narrow
    assert "░" in narrow
    assert max(map(len, narrow.split("\n")[:11])) <= 14


@pytest.mark.parametrize("matrix", [None, [], [3, 4], [[1, 2]], [[1, 2], [3]], [[1, -2], [3, 4]], [[1, "2"], [3, 4]]])
def test_only_square_matrices_of_counts_are_accepted(matrix: object) -> None:
    assert not is_confusion_matrix(matrix)
    assert is_confusion_matrix(CONFUSION)


def test_many_classes_show_only_the_most_frequent_confusions() -> None:
    counts = [[8 if a == b else int(b == a + 1) for b in range(200)] for a in range(200)]
    text = format_confusion(confusion(counts), 80, BRAILLE, "dark").plain
    assert "200 classes are too many" in text
    assert "0 predicted as 1  1 of 9, 11 %" in text


def test_an_empty_run_directory_has_only_its_path(tmp_path: Path) -> None:
    directory = RunDirectory.create(tmp_path, RunConfig(), id="aaa111")
    directory.config.write_text("method = [")
    assert format_environment(directory, {}) == (("directory", str(directory.path)),)


def test_about_names_the_command_that_was_typed_and_not_that_of_the_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tmp_path / "my runs"

    def about(*typed: str) -> str:
        monkeypatch.setattr("sys.argv", list(typed))
        run = RunDirectory.create(runs, resolve(preset="smoke", seed=2))
        write_environment(run, run.read_config(), device="cpu", command=["python", "-m", "clarinet_tui.worker.main"])
        command = dict(format_environment(run, {}))["command"]
        assert invoke_json(runs, "show", run.id)["command"] == command
        return command

    assert about("/bin/clarinet", "sweep", "--seeds", "1..2") == "clarinet sweep --seeds 1..2"
    same = about("-m")  # started from the app: a command that trains the same run
    assert same.startswith("clarinet run --headless --method clarinet ")
    assert same.endswith(f" --runs-dir '{runs}'")
