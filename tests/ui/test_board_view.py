"""The board view: its numbers, cursor and keys, and the runs that it queues."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.screens.board import BoardScreen
from clarinet_tui.ui.screens.dialogs import ConfirmDialog, TextDialog
from clarinet_tui.ui.widgets.board_table import BoardTable
from clarinet_tui.ui.widgets.run_table import RunTable
from tests.support.app import SIZES, make_app, screen_text, wait_until
from tests.support.trained_runs import make_trained_run
from tests.support.ui_queue import dismissed, hold_queue, queue_of, waiting
from tests.support.ui_runs import board_runs

FRAMES = "│▌▁▂▃▄▅▆▇█"
"""Lines and scroll bars."""


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    """A runs directory whose queue is paused."""
    runs_dir.mkdir()
    hold_queue(runs_dir)
    yield from dismissed(runs_dir)


async def opened(pilot: Pilot[None], text: str = "2/5") -> BoardTable:
    app = pilot.app
    assert isinstance(app, ClarinetApp)
    await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the history")
    await pilot.press("5")
    await wait_until(pilot, lambda: text in screen_text(app), "the board")
    await wait_until(pilot, lambda: app.state.machine, "the machine")
    return app.screen.query_one(BoardTable)


def flat_text(app: ClarinetApp) -> str:
    """Return the text of the screen without frames and line ends."""
    return " ".join("".join(sign if sign not in FRAMES else " " for sign in screen_text(app)).split())


def line_of(app: ClarinetApp, text: str) -> str:
    return next(line for line in screen_text(app).splitlines() if text in line)


@pytest.mark.parametrize(("size", "published"), [((80, 24), "|83.7"), ((160, 48), "– | paper 83.7")])
async def test_an_empty_history_shows_the_paper_and_the_first_step(
    app: ClarinetApp, size: tuple[int, int], published: str
) -> None:
    async with app.run_test(size=size) as pilot:
        await opened(pilot, "No runs yet")
        text = screen_text(app)
        assert published in text
        assert "f queues the missing seeds of this cell" in text
        assert "quick" in text


@pytest.mark.parametrize(
    ("width", "cells"),
    [
        (80, ("83.7±0.9|83.7 ", "91.5 2/5|94.5▸", "55.5…0/5|63.1▸")),
        (150, ("83.7±0.9 5/5|83.7 +0.0 ", "91.5±0.7 2/5▸✗|94.5 -3.0 ", "55.5…    0/5▸◦|63.1 ")),
        (160, ("83.7±0.9 5/5 | paper 83.7 ", "91.5±0.7 2/5▸✗ | paper 94.5 ", "55.5…    0/5▸◦ | paper 63.1 ")),
        (200, ("83.7±0.9 5/5 | paper 83.7 +0.0 ", "91.5±0.7 2/5▸✗ | paper 94.5 -3.0 ", "55.5…    0/5▸◦ | paper 63.1 ")),
    ],
)
async def test_cells_show_mean_seeds_states_and_difference(runs_dir: Path, width: int, cells: tuple[str, ...]) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(width, 48)) as pilot:
        await opened(pilot)
        text = screen_text(app)
        for cell in cells:
            assert cell in text
        assert "smoke 22" in text
        assert "quick 1" in text
        assert "Ablations" in text


@pytest.mark.parametrize("size", SIZES)
async def test_the_detail_of_the_cell_under_the_cursor(runs_dir: Path, size: tuple[int, int]) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=size) as pilot:
        table = await opened(pilot)
        await pilot.press("right", "right", "l", "l", "l")
        assert table.cell == ("clarinet", "U->M")
        text = screen_text(app)
        assert "CLARINET U→M  83.68 ± 0.91  5/5  paper 83.69 ± 0.93  -0.01, 95 %" in text
        assert "1 ✓ 84.10 cum1 · 2 ✓ 83.00 cum2" in text
        assert "Excluded: epochs is 9, not 3 (odd1)" in text
        await pilot.press("j")
        await wait_until(pilot, lambda: "4 ▸ 61.50… epoch 1/10 cmu4" in flat_text(app))
        assert "3 ✗ failed cmu3" in screen_text(app)
        assert "Missing: seed 5: f queues it" in screen_text(app)
        await pilot.press("up", "h")
        assert table.cell == ("gac+cdan-e", "U->M")


async def test_down_and_a_key_lead_to_the_ablations(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        assert "|2.4" not in screen_text(app)
        await pilot.press(*"jjjjj")
        assert table.cell == ("gac", "Y->S")
        await pilot.press("j")
        assert table.cell == ("clarinet-ce", "U->M")
        await wait_until(pilot, lambda: "C w/o T" in screen_text(app))
        await pilot.press("a")
        assert table.cell == ("gac", "U->M")
        await wait_until(pilot, lambda: "One step against two" in screen_text(app))
        await pilot.press("G")
        assert table.cell == ("clarinet", "Y->S")
        await wait_until(pilot, lambda: "Avg." in screen_text(app), "the averages with the last task")


async def test_one_click_moves_the_cursor_and_two_open_the_cell(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        table = await opened(pilot)
        await pilot.click(BoardTable, offset=(70, 3))
        assert table.cell == ("clarinet", "M->U")
        await pilot.click(BoardTable, offset=(2, 0))
        assert table.cell == ("clarinet", "M->U"), "titles and labels are no cells"
        await pilot.click(BoardTable, offset=(70, 4), times=2)
        await wait_until(pilot, lambda: app.current_mode == "history", "History")


async def test_a_click_at_the_edge_of_a_cell_selects_it(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        table = await opened(pilot)
        edge = table.gutter.left + table._board.label_width + 4 * table._board.column_width
        await pilot.click(BoardTable, offset=(edge, 2))
        assert table.cell == ("clarinet", "U->M")
        await pilot.click(BoardTable, offset=(edge - 1, 2))
        assert table.cell == ("gac+cdan-e", "U->M")


async def test_a_narrow_terminal_scrolls_through_the_methods(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(50, 24)) as pilot:
        await opened(pilot, "GAC+DANN")
        assert "CLARINET" not in screen_text(app).split("Ablations")[0]
        await pilot.press("l", "l", "l", "l")
        await wait_until(pilot, lambda: "CLARINET" in screen_text(app).split("Ablations")[0], "the last method")
        assert "‹" in line_of(app, "GAC+CDAN_E")


async def test_enter_shows_the_runs_of_the_cell(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        await pilot.press("enter")
        await wait_until(pilot, lambda: app._notifications, "the notice that this cell has none")
        await pilot.press("l", "l", "l", "l", "enter")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        await wait_until(pilot, lambda: "6 match" in screen_text(app), "the filter")
        assert "method:clarinet task:U->M preset:smoke" in screen_text(app)
        assert "odd1" in screen_text(app)
        assert isinstance(app.focused, RunTable)
        await pilot.press("escape")
        await wait_until(pilot, lambda: "gum1" in screen_text(app), "all runs again")


async def test_presets_rules_and_seed_counts_can_be_selected(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        for title in ("ORACLE SELECTION", "complementary risk", "information on the target", "last epoch, as"):
            await pilot.press("o")
            await wait_until(pilot, lambda title=title: title in line_of(app, "One step against two"), title)  # type: ignore[misc]
        await pilot.press("minus", "minus", "minus")
        await wait_until(pilot, lambda: "91.5±0.7 2/2" in screen_text(app), "two seeds")
        await pilot.press("p", "p", "p", "p")
        await wait_until(pilot, lambda: "70.0     1/2" in line_of(app, "Y→D"), "the quick run")
        assert "not the protocol of the published numbers" in screen_text(app)
        assert "Excluded from the board: preset smoke" in screen_text(app)
        await pilot.press("y")
        assert app.clipboard == "clarinet table --preset quick --seeds 2"


async def test_missing_seeds_are_queued_with_the_settings_of_existing_runs(held: Path) -> None:
    for seed in (1, 3):
        make_trained_run(held, f"cum{seed}", [80.0 + seed], seed=seed, epochs=9, device="cpu", name=f"first {seed}")
    app = make_app(held)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("l", "l", "l", "l", "f")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        text = screen_text(app)
        assert "Queue 3 runs?" in text
        assert "seeds 2, 4 and 5" in text
        assert "Preset smoke with" in text
        assert "as in the existing runs" in text
        assert "MNIST is missing" in text
        await pilot.press("n")
        assert not waiting(held)
        await pilot.press("f", "y", "f")
        await wait_until(pilot, lambda: len(waiting(held)) == 3, "the queue")
        await wait_until(pilot, lambda: "3 runs are queued" in screen_text(app), "the notice")
        configs = [RunDirectory(held, run).read_config() for run in waiting(held)]
        assert [(one.seed, one.epochs, one.preset, one.device, one.name) for one in configs] == [
            (seed, 9, "smoke", "auto", "") for seed in (2, 4, 5)
        ]
        assert {(one.method, one.task) for one in configs} == {("clarinet", "U->M")}
        await wait_until(pilot, lambda: "2/5|83.7◦" in screen_text(app), "the queued seeds on the board")
        await pilot.press("f")
        await wait_until(pilot, lambda: "No seed of CLARINET on U→M" in screen_text(app), "the refusal")
        assert len(waiting(held)) == 3
        assert not any(entry.paused for entry in queue_of(held).entries)


async def test_filling_a_table_queues_first_seeds_first(held: Path) -> None:
    app = make_app(held)
    async with app.run_test(size=(160, 48)) as pilot:
        table = await opened(pilot, "No runs yet")
        await pilot.press("minus", "minus", "minus", "a", "F")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        assert "Queue 36 runs?" in screen_text(app)
        assert "And 14 more cells." in screen_text(app)
        assert table.table_methods == ("clarinet-ce", "clarinet-no-t", "clarinet")
        await pilot.press("y")
        await wait_until(pilot, lambda: len(waiting(held)) == 36, "the queue")
        configs = [RunDirectory(held, run).read_config() for run in waiting(held)]
        assert [one.seed for one in configs] == [1] * 18 + [2] * 18
        assert {one.preset for one in configs} == {"quick"}


async def test_failed_seeds_are_not_missing_and_the_notice_explains_it(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("minus", "l", "l", "l", "l", "j")
        await wait_until(pilot, lambda: "2/4" in screen_text(app), "four seeds")
        await pilot.press("f")
        await wait_until(pilot, lambda: app._notifications, "the advice")
        (notice,) = app._notifications
        assert "1 failed, stopped or lost: enter shows them, r in History resumes them" in notice.message
        assert isinstance(app.screen, BoardScreen)


async def test_latex_is_written_copied_and_replaced_after_a_question(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("w")
        await wait_until(pilot, lambda: isinstance(app.screen, TextDialog), "the name")
        await pilot.press("enter")
        await wait_until(pilot, lambda: "Written: board-smoke.tex" in screen_text(app), "the notice")
        written = Path("board-smoke.tex").read_text()
        assert r"\begin{table}" in written
        assert "% runs: U->M clarinet: cum1 cum2 cum3 cum4 cum5" in written
        await pilot.press("Y")
        await wait_until(pilot, lambda: app.clipboard == written, "the copy")
        Path("board-smoke.tex").write_text("mine")
        await pilot.press("w")
        await wait_until(pilot, lambda: isinstance(app.screen, TextDialog), "the name")
        await pilot.press("enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        await pilot.press("n")
        assert Path("board-smoke.tex").read_text() == "mine"
        await pilot.press("w", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, ConfirmDialog), "the question")
        await pilot.press("y")
        await wait_until(pilot, lambda: Path("board-smoke.tex").read_text() == written, "the new table")


async def test_a_missing_directory_is_reported(runs_dir: Path) -> None:
    board_runs(runs_dir)
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await pilot.press("w")
        await wait_until(pilot, lambda: isinstance(app.screen, TextDialog), "the name")
        await pilot.press("home", *"nowhere/", "enter")
        await wait_until(pilot, lambda: "nowhere: cannot be written" in screen_text(app), "the sentence")


async def test_a_run_that_ends_changes_its_cell(runs_dir: Path) -> None:
    make_trained_run(runs_dir, "cum1", [84.0], seed=1)
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, "84.0 1/5")
        make_trained_run(runs_dir, "cum2", [83.0], seed=2)
        await wait_until(pilot, lambda: "83.5 2/5" in screen_text(app), "the second seed")
