"""The board as text: its cells at every width, and its command, query and file name."""

from dataclasses import replace
from pathlib import Path

import pytest

from clarinet_tui.analysis.board import Board, make_board
from clarinet_tui.history.queries import list_runs
from clarinet_tui.ui.text.board import (
    BoardLayout,
    BoardLine,
    cell_query,
    format_seeds,
    latex_file_name,
    layout_board,
    table_command,
)
from tests.support.trained_runs import make_trained_run, read_runs
from tests.support.ui_runs import board_runs

PAPER = (
    "83.7±0.9 5/5 | paper 83.7",
    "50.0±63.6 2/5 | paper 71.7",
    "91.5±0.7 2/5▸✗ | paper 94.5",
    "55.5…    0/5▸◦ | paper 63.1",
)


@pytest.fixture
def board(tmp_path: Path) -> Board:
    board_runs(tmp_path)
    make_trained_run(tmp_path, "wide1", [5.0], seed=1, task="M->m")
    make_trained_run(tmp_path, "wide2", [95.0], seed=2, task="M->m")
    return make_board(read_runs(tmp_path), preset="smoke")


def cell_text(line: BoardLine, column: int) -> str:
    return "".join(text for text, _ in line.cells[column + 1])


def row_of(shown: BoardLayout, table: int, task: str) -> BoardLine:
    return next(line for line in shown.lines if (line.table, line.task) == (table, task))


def titles_of(shown: BoardLayout) -> list[str]:
    return ["".join(text for text, _ in line.title) for line in shown.lines if line.title]


@pytest.mark.parametrize(
    ("width", "complete", "spread", "unfinished", "running"),
    [
        (80, "83.7±0.9|83.7", "50.0 2/5|71.7", "91.5 2/5|94.5▸", "55.5…0/5|63.1▸"),
        (120, "83.7±0.9 5/5|83.7", "50.0±63.6 2/5|71.7", "91.5±0.7 2/5▸✗|94.5", "55.5…    0/5▸◦|63.1"),
        (140, "83.7±0.9 5/5|83.7 +0.0", "50.0±63.6 2/5|71.7 -21.7", "91.5±0.7 2/5▸✗|94.5 -3.0", "55.5…    0/5▸◦|63.1"),
        (160, *PAPER),
        (200, PAPER[0] + " +0.0", PAPER[1] + " -21.7", PAPER[2] + " -3.0", PAPER[3]),
    ],
)
def test_a_cell_shows_as_much_as_fits(
    board: Board, width: int, complete: str, spread: str, unfinished: str, running: str
) -> None:
    shown = layout_board(board, width, 24)
    texts = [cell_text(row_of(shown, 0, task), 4) for task in ("U->M", "M->m", "M->U", "S->M")]
    assert texts == [f" {text}" for text in (complete, spread, unfinished, running)]


def test_nothing_is_cut_in_the_middle(board: Board) -> None:
    for width in (*range(20, 230, 7), 230):
        shown = layout_board(board, width, 40)
        for line in shown.lines:
            for column in range(len(line.cells) - 1):
                assert len(cell_text(line, column).rstrip()) <= shown.column_width


def test_decimal_points_align_with_those_of_tasks_that_the_paper_does_not_have(tmp_path: Path) -> None:
    for task in ("U->M", "Y->D"):
        make_trained_run(tmp_path, f"run{task[0].lower()}", [70.0], seed=1, task=task)
    shown = layout_board(make_board(read_runs(tmp_path)), 160, 48)
    assert cell_text(row_of(shown, 0, "U->M"), 4) == " 70.0     1/5 | paper 83.7"
    assert cell_text(row_of(shown, 0, "Y->D"), 4) == " 70.0     1/5"


def test_empty_cells_and_averages_align(board: Board) -> None:
    shown = layout_board(board, 160, 48)
    assert cell_text(row_of(shown, 0, "U->M"), 0) == "    – | paper 51.9"
    average = [line for line in shown.lines if line.table == 0 and line.row is not None][-1]
    assert cell_text(average, 0) == "    – | paper 60.6"


def test_the_best_of_a_row_is_strong_and_an_unfinished_one_is_not(board: Board) -> None:
    shown = layout_board(board, 160, 48)
    roles = [line[0][1] for line in row_of(shown, 0, "U->M").cells[1:]]
    assert roles == ["faint", "faint", "faint", "", "strong"]
    assert row_of(shown, 0, "S->M").cells[5][0] == (" 55.5…   ", "live")


def test_distances_are_faint_unless_the_preset_is_that_of_the_paper(board: Board) -> None:
    distance = row_of(layout_board(board, 200, 48), 0, "U->M").cells[5][-1]
    assert distance[1] == "faint"
    paper = layout_board(replace(board, preset="paper"), 200, 48)
    assert row_of(paper, 0, "U->M").cells[5][-1][1] == "good"
    assert "not that of the paper's numbers" in titles_of(layout_board(board, 160, 24))[0]


def test_other_methods_have_tables_of_their_own(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "own1", [95.0], method="basset", seed=1)
    make_trained_run(tmp_path, "ref1", [95.0], method="cdan-e", seed=1)
    board = make_board(read_runs(tmp_path))
    assert [table.title for table in board.tables][2] == "BASSET and its controls"
    shown = layout_board(board, 80, 24)
    assert shown.methods[2:] == (("basset", "fwd+basset", "fwd+basset-kept"), ("cdan-e",))
    assert ["| paper" in title for title in titles_of(shown)] == [True, True, False, False], "not published"
    assert cell_text(row_of(shown, 3, "U->M"), 0) == " 95.0 1/5"


def test_tasks_have_gaps_where_everything_fits(board: Board) -> None:
    rows = [[line.row for line in layout_board(board, 200, height).lines[2:6]] for height in (60, 40, 24, 14)]
    assert rows == [[0, 0, None, 1]] * 2 + [[0, 0, 1, 2]] * 2, "no gap between a task and its variants"


def test_the_command_and_the_file_are_named_after_the_board(board: Board, tmp_path: Path) -> None:
    assert table_command(board) == "clarinet table --preset smoke"
    oracle = make_board(read_runs(tmp_path), preset="quick", rule="best", seeds=3)
    assert table_command(oracle) == "clarinet table --preset quick --select best --seeds 3"
    assert (latex_file_name(board), latex_file_name(oracle)) == ("board-smoke.tex", "board-quick-best.tex")


def test_the_query_finds_every_run_of_a_cell(board: Board, tmp_path: Path) -> None:
    found = list_runs(read_runs(tmp_path).db, cell_query("clarinet", "M->U", "smoke"))
    assert sorted(run.id for run in found) == ["cmu1", "cmu2", "cmu3", "cmu4"]
    assert cell_query("clarinet", 'my "photos"->b', None) == 'method:clarinet task:"my \\"photos\\"->b"'


def test_seeds_are_formatted_as_list_or_range() -> None:
    texts = [format_seeds(seeds) for seeds in ((3,), (1, 2), (1, 2, 3, 4), (2, 4, 5))]
    assert texts == ["3", "1 and 2", "1 to 4", "2, 4 and 5"]
