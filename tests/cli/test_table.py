"""`clarinet table` in processes of its own."""

import json
from pathlib import Path

from clarinet_tui.analysis.choices import RULES
from tests.support.cli import invalid, invoke, run_clarinet
from tests.support.trained_runs import make_trained_run


def test_board_as_text_and_json(tmp_path: Path) -> None:
    for seed in (1, 2):
        make_trained_run(tmp_path / "runs", f"run{seed}", [80.0 + seed], seed=seed)
    shown = run_clarinet(tmp_path, "table")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "81.50 ± 0.71" in shown.stdout
    written = run_clarinet(tmp_path, "table", "seed:2", "--format", "json", "--out", "board.json", "--seeds", "1")
    assert written.stdout == "Written: board.json\n"
    board = json.loads((tmp_path / "board.json").read_text())
    assert [cell["runs"] for cell in board["cells"] if cell["runs"]] == [["run2"]]


def test_without_runs_no_preset_is_named(tmp_path: Path) -> None:
    assert "There are no runs yet." in (empty := invoke(tmp_path, "table").stdout)
    assert "Preset" not in empty
    make_trained_run(tmp_path, "run1", [80.0])
    assert "No run matches." in invoke(tmp_path, "table", "seed:7").stdout


def test_invalid_input_is_one_sentence(tmp_path: Path) -> None:
    for arguments, message in (
        (["--standalone"], "needs --format latex"),
        (["--preset", "quik"], "preset: expected one of paper, literal, quick, smoke, photographs"),
        (["--format", "csv", "--out", "nowhere/board.csv"], "nowhere: cannot be written"),
    ):
        assert message in invalid(tmp_path, "table", *arguments)


def test_every_rule_can_be_selected(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "run1", [80.0])
    for rule in RULES:
        assert invoke(tmp_path, "table", "--select", rule).exit_code == 0
