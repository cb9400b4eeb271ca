"""The board view: its numbers, cursor and keys, and the runs that it queues."""

import re
from pathlib import Path

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.board_table import BoardTable
from clarinet_tui.ui.widgets.run_table import RunTable
from tests.support.app import SMALL, WIDE, OpenedApp, expect_text, open_app, screen_text, wait_until
from tests.support.trained_runs import make_trained_run
from tests.support.ui_queue import waiting
from tests.support.ui_runs import board_runs

FRAMES = "│▌▁▂▃▄▅▆▇█"
"""Lines and scroll bars."""


def open_board(runs_dir: Path, text: str = "2/5", size: tuple[int, int] = WIDE) -> OpenedApp:
    return open_app(runs_dir, view="5", text=text, size=size, notifications=True)


def board_table(app: ClarinetApp) -> BoardTable:
    return app.screen.query_one(BoardTable)


def flat_text(app: ClarinetApp) -> str:
    """Return the text of the screen without frames and line ends."""
    return " ".join("".join(sign if sign not in FRAMES else " " for sign in screen_text(app)).split())


def line_of(app: ClarinetApp, text: str) -> str:
    return next(line for line in screen_text(app).splitlines() if text in line)


async def test_the_detail_of_the_cell_under_the_cursor(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir, size=SMALL) as (app, pilot):
        table = board_table(app)
        await pilot.press("right", "right", "l", "l", "l")
        assert table.cell == ("clarinet", "U->M")
        text = screen_text(app)
        assert "CLARINET U→M  83.68 ± 0.91  epochs=3  5/5  paper 83.69 ± 0.93  -0.01, 95" in text
        assert "1 ✓ 84.10 cum1 · 2 ✓ 83.00 cum2" in text
        assert "(a) epochs=9  91.00  1/5" in text
        assert re.search(r"\(a\) +91.0 1/5", text), "its row"
        await pilot.press("j")
        await wait_until(pilot, lambda: "4 ▸ 61.50… epoch 1/10 cmu4" in flat_text(app))
        assert "3 ✗ failed cmu3" in screen_text(app)
        assert "Missing: seed 5: f queues it" in screen_text(app)
        await pilot.press("up", "h")
        assert table.cell == ("gac+cdan-e", "U->M")


async def test_keys_and_clicks_move_the_cursor_through_both_tables(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir, size=SMALL) as (app, pilot):
        table = board_table(app)
        assert "|2.4" not in screen_text(app)
        await pilot.press(*"jjjjj")
        assert table.cell == ("gac", "Y->S")
        await pilot.press("j")
        assert table.cell == ("clarinet-ce", "U->M")
        await expect_text(pilot, "C w/o T")
        await pilot.press("a")
        assert table.cell == ("gac", "U->M")
        await expect_text(pilot, "One step against two")
        await pilot.click(BoardTable, offset=(70, 4))
        assert table.cell == ("clarinet", "M->U")
        await pilot.click(BoardTable, offset=(2, 0))
        assert table.cell == ("clarinet", "M->U"), "titles and labels are no cells"
        await pilot.press("G")
        assert table.cell == ("clarinet", "Y->S")
        await expect_text(pilot, "Avg.")
        await pilot.press("g")
        await pilot.click(BoardTable, offset=(70, 5), times=2)
        await wait_until(pilot, lambda: app.current_mode == "history", "History")


async def test_a_narrow_terminal_scrolls_through_the_methods(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir, "GAC+DANN", (50, 24)) as (app, pilot):
        assert "CLARINET" not in screen_text(app).split("Ablations")[0]
        await pilot.press("l", "l", "l", "l")
        await wait_until(pilot, lambda: "CLARINET" in screen_text(app).split("Ablations")[0], "the last method")
        assert "‹" in line_of(app, "GAC+CDAN_E")


async def test_enter_shows_the_runs_of_the_cell(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir) as (app, pilot):
        await pilot.press("enter")
        await expect_text(pilot, "This cell has no runs yet")
        table = board_table(app)
        edge = table.gutter.left + table._board.label_width + 4 * table._board.column_width
        for offset, method in ((edge - 1, "gac+cdan-e"), (edge, "clarinet")):
            await pilot.click(BoardTable, offset=(offset, 2))
            assert table.cell == (method, "U->M")
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.current_mode == "history", "History")
        await expect_text(pilot, "6 match")
        assert "method:clarinet task:U->M preset:smoke" in screen_text(app)
        assert "odd1" in screen_text(app)
        assert isinstance(app.focused, RunTable)
        await pilot.press("escape")
        await expect_text(pilot, "gum1")


async def test_presets_rules_and_seed_counts_can_be_selected(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir) as (app, pilot):
        for title in ("ORACLE SELECTION", "complementary risk", "information on the target", "last epoch, as"):
            await pilot.press("o")
            await wait_until(pilot, lambda title=title: title in line_of(app, "One step against two"), title)  # type: ignore[misc]
        await pilot.press("minus", "l", "l", "l", "l", "j")
        await expect_text(pilot, "2/4")
        await pilot.press("f")
        await expect_text(pilot, "No seed of CLARINET on M→U")
        (notice,) = app._notifications
        assert "1 failed, stopped or lost: enter shows them, r in History resumes them" in notice.message
        await pilot.press("minus", "minus")
        await expect_text(pilot, "91.5±0.7 2/2")
        await pilot.press("p", "p", "p", "p")
        await wait_until(pilot, lambda: "70.0     1/2" in line_of(app, "Y→D"), "the quick run")
        assert "not the protocol of the published numbers" in screen_text(app)
        assert "Excluded from the board: preset smoke" in screen_text(app)
        await pilot.press("y")
        assert app.clipboard == "clarinet table --preset quick --seeds 2"


async def test_missing_seeds_are_queued_with_the_settings_of_existing_runs(held: Path) -> None:
    for seed in (1, 3):
        make_trained_run(held, f"cum{seed}", [80.0 + seed], seed=seed, epochs=9, device="cpu", name=f"first {seed}")
    async with open_board(held, size=SMALL) as (app, pilot):
        await wait_until(pilot, lambda: app.state.machine, "the machine")
        await pilot.press("l", "l", "l", "l", "f")
        await expect_text(pilot, "Queue 3 runs?")
        for text in ("seeds 2, 4 and 5", "Preset smoke with", "as in the existing runs", "MNIST is missing"):
            assert text in screen_text(app)
        await pilot.press("n")
        assert not waiting(held)
        await pilot.press("f", "y", "f")
        await wait_until(pilot, lambda: len(waiting(held)) == 3, "the queue")
        await expect_text(pilot, "3 runs are queued")
        configs = [RunDirectory(held, run).read_config() for run in waiting(held)]
        assert [(one.seed, one.epochs, one.preset, one.device, one.name) for one in configs] == [
            (seed, 9, "smoke", "auto", "") for seed in (2, 4, 5)
        ]
        assert {(one.method, one.task) for one in configs} == {("clarinet", "U->M")}
        await expect_text(pilot, "2/5|83.7◦")
        await pilot.press("f")
        await expect_text(pilot, "No seed of CLARINET on U→M")
        assert len(waiting(held)) == 3
        assert not any(entry.paused for entry in read_queue(held).entries)


async def test_filling_a_table_queues_first_seeds_first(held: Path) -> None:
    async with open_board(held, "No runs yet") as (app, pilot):
        await pilot.press("minus", "minus", "minus", "a", "F")
        await expect_text(pilot, "Queue 36 runs?")
        assert "And 14 more cells." in screen_text(app)
        await pilot.press("y")
        await wait_until(pilot, lambda: len(waiting(held)) == 36, "the queue")
        configs = [RunDirectory(held, run).read_config() for run in waiting(held)]
        assert [one.seed for one in configs] == [1] * 18 + [2] * 18
        assert {one.preset for one in configs} == {"quick"}
        assert {one.method for one in configs} == {"clarinet-ce", "clarinet-no-t", "clarinet"}


async def test_latex_is_written_copied_and_replaced_after_a_question(runs_dir: Path) -> None:
    board_runs(runs_dir)
    async with open_board(runs_dir, size=SMALL) as (app, pilot):
        await pilot.press("w", "home", *"nowhere/", "enter")
        await expect_text(pilot, "nowhere: cannot be written")
        await pilot.press("w", "enter")
        await expect_text(pilot, "Written: board-smoke.tex")
        written = Path("board-smoke.tex").read_text()
        assert r"\begin{table}" in written
        assert "% runs: U->M clarinet epochs=3: cum1 cum2 cum3 cum4 cum5" in written
        await pilot.press("Y")
        await wait_until(pilot, lambda: app.clipboard == written, "the copy")
        Path("board-smoke.tex").write_text("mine")
        await pilot.press("w", "enter")
        await expect_text(pilot, "Replace board-smoke.tex?")
        await pilot.press("n")
        assert Path("board-smoke.tex").read_text() == "mine"
        await pilot.press("w", "enter")
        await expect_text(pilot, "Replace board-smoke.tex?")
        await pilot.press("y")
        await wait_until(pilot, lambda: Path("board-smoke.tex").read_text() == written, "the new table")


async def test_a_run_that_ends_changes_its_cell(runs_dir: Path) -> None:
    make_trained_run(runs_dir, "cum1", [84.0], seed=1)
    async with open_board(runs_dir, "84.0 1/5", SMALL) as (_, pilot):
        make_trained_run(runs_dir, "cum2", [83.0], seed=2)
        await expect_text(pilot, "83.5 2/5")
