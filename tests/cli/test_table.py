"""`clarinet table` from the command line."""

import json
from pathlib import Path

from clarinet_tui.cli.table import Select
from clarinet_tui.evidence.selection import RULES
from tests.support.cli import run_clarinet
from tests.support.finished_runs import make_finished_run


def test_the_board_as_text_and_for_programs(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_finished_run(tmp_path / "runs", f"run{seed}", 80.0 + seed, seed=seed)
    shown = run_clarinet(tmp_path, "table")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "81.50 ± 0.71" in shown.stdout
    written = run_clarinet(tmp_path, "table", "seed:2", "--format", "json", "--out", "board.json", "--seeds", "1")
    assert written.stdout == "Written: board.json\n"
    board = json.loads((tmp_path / "board.json").read_text())
    assert [cell["runs"] for cell in board["cells"] if cell["runs"]] == [["run2"]]


def test_wrong_input_is_a_sentence(tmp_path: Path) -> None:
    for words, sentence in (
        (["--standalone"], "say --format latex too"),
        (["--preset", "quik"], "preset: expected one of paper, literal, quick, smoke"),
        (["--format", "csv", "--out", "nowhere/board.csv"], "nowhere: cannot be written"),
    ):
        refused = run_clarinet(tmp_path, "table", *words)
        assert refused.returncode == 2
        assert sentence in refused.stderr


def test_every_rule_can_be_asked_for() -> None:
    assert tuple(Select) == RULES
