"""Inspecting a run from the app: its process, progress, figures and pictures."""

import threading
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.analysis.figures.figure import class_curves
from clarinet_tui.chart.cells import BRAILLE
from clarinet_tui.runs.inspection_file import CalibrationBins, FeatureMap, Inspection, Picture, write_inspection
from clarinet_tui.runs.ownership import READ_ONLY_VARIABLE
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.feed.child_process import InspectionFeed
from clarinet_tui.ui.snapshot.snapshot import Confusion, InspectionProgress
from clarinet_tui.ui.text.inspection import format_confusion, format_inspection_state
from clarinet_tui.ui.widgets.run_detail import RunDetail
from clarinet_tui.ui.widgets.styled_text import StyledText
from tests.support.app import SMALL, expect_text, open_app, screen_text, toast_texts, wait_until
from tests.support.ui_runs import write_run

SQUARE = ((0.0, 0.0), (1.0, 1.0))
MAP = FeatureMap("start", SQUARE, SQUARE, (0, 1), (1, 0), 1.25)
BLACK = bytes(8 * 8 * 3)
PICTURES = (
    Picture("wrong", 8, 8, BLACK, true="[bold]seven", predicted="one", probability=0.98),
    Picture("source", 8, 8, BLACK, excluded="nine"),
)
INSPECTION = Inspection(3, ("one", "two"), PICTURES, CalibrationBins((0.6,), (0.5,), 9, 0.125), (MAP, MAP))


async def open_pane(app: ClarinetApp, pilot: Pilot[None], name: str) -> str:
    """Open a pane and return all of its text, as it is after the next paint."""
    detail = app.screen.query_one(RunDetail)
    while detail.pane != name:
        await pilot.press("p")
    await pilot.pause()
    return pane_text(app)


def pane_text(app: ClarinetApp) -> str:
    return str(app.screen.query_one("#pane-text", StyledText).content)


async def test_figures_and_pictures_of_an_inspected_run(runs_dir: Path) -> None:
    directory = write_run(runs_dir, "aaa111")
    async with open_app(runs_dir, text="● target", size=SMALL) as (app, pilot):
        await open_pane(app, pilot, "pictures")
        await expect_text(pilot, "clarinet inspect aaa111")
        write_inspection(directory, INSPECTION)
        await wait_until(pilot, lambda: "▀" * 16 in screen_text(app), "the pictures")
        for text in ("Wrong predictions, the surest first", "[bold]seven", "→ one", "not nine"):
            assert text in pane_text(app)
        await pilot.press("P")
        await expect_text(pilot, "start: A 1.25")
        for text in ("symbols: target, dots: source", "0 one", "Calibration: ECE 12.5 %", "calibrated"):
            assert text in pane_text(app)


async def test_a_key_inspects_the_run_without_blocking_unless_the_app_only_watches(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_run(runs_dir, "aaa111")
    monkeypatch.setenv(READ_ONLY_VARIABLE, "1")
    async with open_app(runs_dir, text="● target", size=SMALL, notifications=True) as (app, pilot):
        await pilot.press("i")
        await wait_until(pilot, lambda: toast_texts(app), "the refusal")
        assert "read-only" in toast_texts(app)[0]
        assert not app.state.inspections
        monkeypatch.delenv(READ_ONLY_VARIABLE)
        await pilot.press("i")
        await expect_text(pilot, "Inspecting: ")
        await wait_until(pilot, lambda: len(toast_texts(app)) == 2, "the end")
        assert "aaa111: run aaa111: has no weights yet" in toast_texts(app)[1]
        assert "Not inspected yet: i evaluates its model" in pane_text(app)


def test_stopping_ends_the_process_and_forgets_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("import signal; signal.pause()")  # the process waits where it imports torch
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "aaa111").mkdir()
    (tmp_path / "aaa111" / "model.safetensors").touch()
    posted: list[InspectionProgress] = []
    has_started = threading.Event()

    def post(progress: InspectionProgress) -> None:
        posted.append(progress)
        if progress.what == "Loading the model":
            has_started.set()

    feed = InspectionFeed(tmp_path, tmp_path, post)
    feed.add(["aaa111", "bbb222", "aaa111"])
    assert has_started.wait(60)
    feed.stop()
    assert "inspect" not in {thread.name for thread in threading.enumerate()}
    waited = [one.run for one in posted if one.what == "Waiting"]
    assert waited == ["aaa111", "bbb222"]
    assert posted[-1].run == "aaa111"


def test_an_unexpected_end_is_an_error(tmp_path: Path) -> None:
    (report,) = InspectionFeed(tmp_path, tmp_path, print).reports(["inspect", "--no-such-option"])
    assert "unrecognized arguments" in report.error or "required" in report.error


def test_progress_has_a_bar_and_plain_text() -> None:
    progress = InspectionProgress("aaa111", "Reading \x1b[31m[b]photos", 5, 10)
    text = format_inspection_state("aaa111", None, progress).plain
    assert text.startswith("Inspecting: " + "━" * 10 + "─" * 10)
    assert "\x1b" not in text


def test_each_class_has_a_curve() -> None:
    matrices = (((2, 2), (0, 0)), ((3, 1), (0, 4)))
    rows = [{"epoch": epoch, "confusion": matrix} for epoch, matrix in enumerate(matrices, 1)]
    both = Confusion(matrices[1], ("cat", "eel"), 2, class_curves(rows, ("cat", "eel")))
    text = format_confusion(both, 60, BRAILLE, "dark").plain
    for line in ("Accuracy of each class, %", "● cat  75", "■ eel  100"):
        assert line in text
    one = Confusion(matrices[1], ("cat", "eel"), 2, class_curves(rows[1:], ("cat", "eel")))
    assert "Accuracy of each class" not in format_confusion(one, 60, BRAILLE, "dark").plain
