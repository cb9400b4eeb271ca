"""The board in every format: layout, escaping, marks, and the runs of each number."""

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.analysis.board import Board, make_board
from clarinet_tui.analysis.board_table import board_view, to_csv, to_json, to_latex, to_markdown
from tests.support.histories import make_run
from tests.support.tables import printed
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs


@pytest.fixture
def records(tmp_path: Path) -> Any:
    make_seeds(tmp_path, "clar", (82.0, 84.0))
    make_seeds(tmp_path, "cdan", (72.0, 74.0), method="gac+cdan-e")
    make_trained_run(tmp_path, "odd1", [20.0], seed=3, epochs=9)
    make_trained_run(tmp_path, "only1", [93.0], seed=1, task="M->U")
    make_run(tmp_path, "wait1", seed=4)
    return read_runs(tmp_path)


def on_terminal(board: Board, width: int) -> str:
    return printed(board_view(board, width), width)


def test_markdown_has_the_layout_of_the_paper(records: Any) -> None:
    text = to_markdown(make_board(records, seeds=2))
    assert "| Task | GAC | GAC+DAN | GAC+DANN | GAC+CDAN\\_E | CLARINET |" in text
    assert "| U→M | – | – | – | 73.000 ± 1.414 | **83.000 ± 1.414** |" in text
    assert "| *  (a)* |  |  |  |  | 20.000 (1/2) |" in text
    assert "- U-\\>M clarinet, first row: epochs=3\n- (a) epochs=9\n" in text
    assert "| U→M, published | *51.860* | *60.692 ± 1.300* |" in text
    assert "| M→U | – | – | – | – | 93.000 (1/2) |" in text
    assert "| Average | – | – | – | 73.000 (1/6) | **83.000** (1/6) |" in text
    assert "| Average, published | *60.585* | *65.968* | *74.483* | *71.498* (1/6) | *83.692* (1/6) |" in text
    assert "U->M clarinet epochs=3: clar1 clar2\n" in text


def test_latex_has_equal_rows_balanced_braces_and_ids(records: Any) -> None:
    text = to_latex(make_board(records, seeds=2))
    assert r"$U \rightarrow M$ & -- & -- & -- & 73.000$\pm$1.414 & \textbf{83.000$\pm$1.414} \\" in text
    assert "% runs: U->M clarinet epochs=3: clar1 clar2\n" in text
    assert "% runs: U->M clarinet epochs=9: odd1\n" in text
    assert r"\quad (a) &  &  &  &  & 20.000 (1/2) \\" in text
    assert "(a) epochs=9\\par" in text
    typeset = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("%"))
    for columns, body in re.findall(r"\\begin\{tabular\}\{(l[r]*)\}(.*?)\\end\{tabular\}", typeset, re.DOTALL):
        rows = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert rows
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(columns) - 1}
    bare = re.sub(r"\\[{}]", "", typeset)
    assert bare.count("{") == bare.count("}")
    assert typeset.count(r"\begin") == typeset.count(r"\end{")
    standalone = to_latex(make_board(records, seeds=2), standalone=True)
    assert standalone.startswith(r"\documentclass")
    assert standalone.endswith("\\end{document}\n")
    board = make_board(records, 'note!="a\n\\input{secret}"')
    (line,) = [line for line in to_latex(board).splitlines() if "secret" in line]
    assert line.startswith("%"), "a query cannot leave the comment"


def test_csv_has_a_line_for_each_cell(records: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv(make_board(records)))))
    assert len(rows) == 7 * 6 + 1
    row, other = [row for row in rows if row["task"] == "U->M" and row["method"] == "clarinet"]
    assert (other["variant"], other["mean"], other["runs"], other["best"]) == ("epochs=9", "20.0", "odd1", "False")
    assert (float(row["mean"]), row["seeds"], row["queued"], row["best"]) == (83.0, "2", "1", "True")
    assert (row["runs"], row["excluded"], row["variant"]) == ("clar1 clar2", "", "epochs=3")
    assert float(row["distance_low"]) < float(row["distance"]) < float(row["distance_high"])
    oracle = csv.DictReader(io.StringIO(to_csv(make_board(records, rule="best"))))
    assert {row["oracle"] for row in oracle} == {"True"}


def test_json_contains_all_fields_of_a_cell(records: Any) -> None:
    board = json.loads(to_json(make_board(records)))
    cell, other = [cell for cell in board["cells"] if (cell["method"], cell["task"]) == ("clarinet", "U->M")]
    assert (other["variant"], other["difference"], other["runs"]) == ("epochs=9", "epochs is 9, not 3", ["odd1"])
    assert [result["run"] for result in cell["results"]] == cell["runs"] == ["clar1", "clar2"]
    assert cell["summary"]["mean"] == 83.0
    assert cell["published"] == {"n": 5, "mean": 83.692, "std": 0.928, "missing": 0}
    assert (cell["missing"], cell["states"]) == ([3, 5], {"finished": 2, "queued": 1})
    assert board["oracle"] is False
    assert json.loads(to_json(make_board(records, rule="best")))["oracle"] is True


@pytest.mark.parametrize("export", [to_markdown, to_latex, lambda board: on_terminal(board, 80)])
def test_oracle_selection_is_marked_in_every_format(records: Any, export: Any) -> None:
    assert "oracle selection" in " ".join(export(make_board(records, rule="best")).lower().split())
    assert "oracle selection" not in export(make_board(records)).lower()


@pytest.fixture
def trained(tmp_path: Path) -> Any:
    """Risk selects the last of two epochs, information and the oracle select the first."""
    make_trained_run(tmp_path, "clar1", (70.0, 66.0), seed=1)
    make_trained_run(tmp_path, "clar2", (74.0, 72.0), seed=2)
    return read_runs(tmp_path)


def test_every_format_lists_all_rules_with_their_difference_from_the_oracle(trained: Any) -> None:
    board = make_board(trained, seeds=2)
    markdown, latex, terminal = to_markdown(board), to_latex(board), on_terminal(board, 120)
    last, other = "69.000 ± 4.243 (-3.000)", "72.000 ± 2.828"
    assert f"| U→M | CLARINET | {last} | {last} | {other} (0.000) | {other} |" in markdown
    assert r"$U \rightarrow M$ & CLARINET & 69.000$\pm$4.243 ($-$3.000) & " in latex
    line = r"U→M +CLARINET +69.00 ± 4.24 \(-3.00\) +69.00 ± 4.24 \(-3.00\) +72.00 ± 2.83 \(0.00\) +72.00 ± 2.83"
    assert re.search(line, terminal)
    for text in (markdown, latex, terminal):
        assert "held-out risk: the epoch with the lowest complementary risk (Eq. 6)" in text
        assert "oracle: the best epoch by the target's true labels" in text
    (row,) = [row for row in csv.DictReader(io.StringIO(to_csv(board))) if row["mean"]]
    assert (row["last_accuracy"], row["last_to_oracle"]) == ("69.0", "-3.0")
    assert (row["risk_accuracy"], row["risk_to_oracle"]) == ("69.0", "-3.0")
    assert (row["information_accuracy"], row["information_to_oracle"]) == ("72.0", "0.0")
    assert row["oracle_accuracy"] == "72.0"
    (cell,) = [cell for cell in json.loads(to_json(board))["cells"] if cell["results"]]
    assert cell["rules"]["risk"]["to_oracle"]["mean"] == -3.0


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_rules_fit_the_terminal(trained: Any, width: int) -> None:
    text = on_terminal(make_board(trained), width)
    assert max(map(len, text.splitlines())) <= width
    assert "69.00 (-3.00)" in text


@pytest.mark.parametrize("width", [80, 100, 160])
def test_terminal_shows_all_methods_within_its_width(records: Any, width: int) -> None:
    text = on_terminal(make_board(records), width)
    assert max(map(len, text.splitlines())) <= width
    assert re.search(r"GAC +GAC\+DAN +GAC\+DANN +GAC\+CDAN_E +CLARINET", text)
    assert re.search(r"U→M +– +– +– +73.00 ?± ?1.41 +83.00 ?± ?1.41", text)
    assert re.search(r"queued +1", text)
    assert re.search(r"seeds +2/5 +2/5", text)
    assert re.search(r"\(a\) +20.00", text)
    assert "· (a) epochs=9" in text
    assert "…" not in text.replace("…+", "").replace("…-", ""), "nothing is cut off"


def test_rule_shows_its_difference_from_the_oracle(records: Any) -> None:
    assert re.search(r"to oracle +0.00 +0.00", on_terminal(make_board(records, rule="risk"), 80))
    assert "to oracle" not in on_terminal(make_board(records), 80)


def test_narrow_terminal_splits_tables(records: Any) -> None:
    text = on_terminal(make_board(records), 40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("One step against two") == 3


def test_directory_names_are_escaped(tmp_path: Path) -> None:
    own = tmp_path / "a|b[red]\x1b[31m"
    own.mkdir()
    make_trained_run(tmp_path / "runs", "own1", [50.0], task=f"{own}->U", seed=1)
    board = make_board(read_runs(tmp_path / "runs"))
    assert "\x1b" not in on_terminal(board, 80)
    assert "a|b[red]" in on_terminal(board, 80)
    assert "| a\\|b\\[red\\]" in to_markdown(board)


def test_latex_and_markdown_contain_the_notes(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    make_trained_run(runs, "clar1", [82.0], seed=1, start={"notes": ["MNIST is made here"]}, commit="a" * 40)
    make_trained_run(runs, "clar2", [84.0], seed=2, start={"notes": ["MNIST is made here"]}, commit="b" * 40)
    make_trained_run(runs, "odd1", [20.0], seed=3, epochs=9)
    board = make_board(read_runs(runs))
    for text in (to_markdown(board), to_latex(board)):
        assert "data: MNIST is made here" in text
        assert "started at 2 git commits: aaaaaaa, bbbbbbb" in text
        assert "(a) epochs=9" in text
    row, _ = [row for row in csv.DictReader(io.StringIO(to_csv(board))) if row["mean"]]
    assert (row["notes"], row["commits"]) == ("MNIST is made here", "aaaaaaa bbbbbbb")


def test_more_seeds_than_wanted_are_shown(records: Any) -> None:
    """The caption of the LaTeX table gives the number of seeds of numbers without brackets."""
    board = make_board(records, seeds=1)
    assert "| **83.000 ± 1.414** (2/1) |" in to_markdown(board)
    assert r"\textbf{83.000$\pm$1.414} (2/1)" in to_latex(board)


def test_published_average_has_a_label(records: Any) -> None:
    board = make_board(records, seeds=5)
    assert not board.averages
    assert "| Average | – | – | – | – | – |\n| Average, published | *60.585* |" in to_markdown(board)
    assert "Average & -- & -- & -- & -- & -- \\\\\n\\quad published & \\textit{60.585}" in to_latex(board)
    assert re.search(r"Average +– +– +– +– +–\n +paper +60.59", on_terminal(board, 80))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX is installed")
def test_latex_compiles(tmp_path: Path) -> None:
    runs, own = tmp_path / "runs", tmp_path / "a_b%[1pt]$中"
    own.mkdir()
    for seed in (1, 2):
        make_trained_run(runs, f"clar{seed}", (70.0, 66.0), seed=seed)
        make_trained_run(
            runs, f"own{seed}", [50.0], task=f"{own}->U", seed=seed, start={"notes": ["50 % & more_than #1 \\x"]}
        )
    make_trained_run(runs, "odd1", [20.0], seed=3, epochs=9)
    (tmp_path / "board.tex").write_text(to_latex(make_board(read_runs(runs)), standalone=True))
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "board.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "board.pdf").stat().st_size > 10_000
