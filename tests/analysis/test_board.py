"""The board: means, counts, distances, excluded runs and variants."""

from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.analysis.board import Board, BoardCell, make_board
from clarinet_tui.analysis.published import MAIN_METHODS
from clarinet_tui.analysis.statistics import Summary
from core.errors import InputError
from core.tasks import PAPER_TASKS
from tests.support.histories import make_run
from tests.support.trained_runs import make_seeds, make_trained_run, read_runs


def board_of(runs_dir: Path, query: str = "", **options: Any) -> Board:
    return make_board(read_runs(runs_dir), query, **options)


def cell_of(runs_dir: Path, method: str = "clarinet", task: str = "U->M", **options: Any) -> BoardCell:
    return board_of(runs_dir, **options).cells[method, task]


def test_empty_history_shows_the_published_results(tmp_path: Path) -> None:
    board = board_of(tmp_path)
    assert board.tasks == PAPER_TASKS
    assert board.tables[0].methods == MAIN_METHODS
    cell = board.cells["gac+dann", "Y->M"]
    assert cell.published is not None
    assert (cell.published.mean, cell.summary, cell.missing) == (92.328, Summary(0), (1, 2, 3, 4, 5))
    assert board.averages == {}
    assert board.best("Y->M", MAIN_METHODS) == frozenset()


def test_cell_has_mean_runs_and_distance(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (82.0, 83.0, 84.0))
    cell = cell_of(tmp_path)
    assert cell.summary == Summary(3, 83.0, 1.0)
    assert cell.runs == ("run1", "run2", "run3")
    assert cell.missing == (4, 5)
    assert not cell.is_complete
    assert cell.distance is not None
    assert cell.distance.interval is not None
    assert cell.distance.difference == pytest.approx(83.0 - 83.692)
    assert cell.distance.interval.low < 0 < cell.distance.interval.high
    make_seeds(tmp_path, "gac", (51.0, 52.0), method="gac")
    distance = cell_of(tmp_path, "gac").distance
    assert distance is not None
    assert distance.interval is None, "the paper gives GAC without ±"


def test_a_seed_takes_the_state_of_its_most_advanced_run(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "run1", [82.0], seed=1)
    make_run(tmp_path, "again1", seed=1)
    make_trained_run(tmp_path, "old2", [None], seed=2, end="failed")
    make_trained_run(tmp_path, "new2", [40.0], seed=2, end="running")
    make_trained_run(tmp_path, "run3", [44.0], seed=3, end="running")
    make_run(tmp_path, "run4", seed=4)
    make_trained_run(tmp_path, "run5", [None], seed=5, end="failed")
    cell = cell_of(tmp_path, seeds=6)
    assert cell.states == {"finished": 1, "running": 2, "queued": 1, "failed": 1}
    assert [(one.seed, one.run, one.state) for one in cell.unfinished] == [
        (2, "new2", "running"), (3, "run3", "running"), (4, "run4", "queued"), (5, "run5", "failed")
    ]  # fmt: skip
    assert cell.interim_summary.mean == 42.0
    assert cell.summary == Summary(1, 82.0)
    assert cell.unfinished[2].selected is None
    assert cell.missing == (6,)


def test_template_run_has_exactly_the_counted_settings(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "own1", [70.0], method="gac+dan", seed=1)
    make_trained_run(tmp_path, "one2", [71.0], method="gac+dan", seed=2, stage1={"seed": 1})
    make_trained_run(tmp_path, "one3", [72.0], method="gac+dan", seed=3, stage1={"seed": 1})
    cell = cell_of(tmp_path, "gac+dan")
    assert cell.runs == ("own1", "one2", "one3")
    assert cell.template_run in ("one2", "one3"), "own1 shares its stage 1 by chance alone"
    assert cell_of(tmp_path, "gac").template_run is None


def test_two_step_runs_report_their_last_stage(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (71.0, 73.0), method="gac+cdan-e")
    for rule in ("last", "best", "risk"):
        assert cell_of(tmp_path, "gac+cdan-e", rule=rule).summary.mean == 72.0


def test_newest_finished_run_of_a_seed_counts(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "old", [70.0], seed=1)
    make_trained_run(tmp_path, "new", [80.0], seed=1)
    make_trained_run(tmp_path, "newest", [None], seed=1, end="failed")
    make_trained_run(tmp_path, "unlabelled", [None], seed=2)
    cell = cell_of(tmp_path)
    assert cell.runs == ("new",)
    assert [(left.reason, left.runs) for left in cell.excluded] == [
        ("seed 1 was run again; the newest finished run counts: new", ("old",)),
        ("no target accuracy under the rule last", ("unlabelled",)),
    ]


def test_other_variants_are_cells_of_their_own(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (70.0, 72.0))
    make_trained_run(tmp_path, "longer", [92.0], seed=1, epochs=9)
    make_trained_run(tmp_path, "other", [60.0], seed=1, epochs=9, task="M->U")
    board = board_of(tmp_path)
    cell = board.cells["clarinet", "U->M"]
    assert (cell.summary.mean, cell.variant, cell.missing, cell.excluded) == (71.0, "epochs=3", (3, 4, 5), ())
    (other,) = cell.others
    assert (other.runs, other.variant, other.difference) == (("longer",), "epochs=9", "epochs is 9, not 3")
    assert board.cells["clarinet", "M->U"].variant == "epochs=9", "a variant has one name in all tasks"
    assert board.variant_notes(["clarinet"]) == ["U->M clarinet, first row: epochs=3", "(a) epochs=9"]
    assert board.all_cells().count(other) == 1
    assert not board.is_best(other)


def test_commits_are_listed_and_separate_runs_on_request(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, commit="a" * 40)
    make_trained_run(tmp_path, "bbb", [72.0], seed=2, commit="b" * 40)
    assert "U->M clarinet: started at 2 git commits: aaaaaaa, bbbbbbb" in board_of(tmp_path).notes
    apart = cell_of(tmp_path, by_commit=True)
    assert (apart.runs, apart.commits) == (("bbb",), ("bbbbbbb",))
    assert apart.others[0].difference == "commit aaaaaaa"


def test_preset_with_most_finished_runs_is_used_and_others_are_listed(tmp_path: Path) -> None:
    make_seeds(tmp_path, "run", (70.0, 71.0))
    make_trained_run(tmp_path, "ccc", [90.0], seed=1, preset="quick", method="gac")
    board = board_of(tmp_path)
    assert board.preset == "smoke"
    assert [(left.reason, left.runs) for left in board.excluded] == [("preset quick", ("ccc",))]
    assert board_of(tmp_path, "seed:2").cells["clarinet", "U->M"].runs == ("run2",)
    assert board_of(tmp_path, preset="quick").cells["gac", "U->M"].summary.mean == 90.0
    with pytest.raises(InputError, match="expected one of last, best, risk, information"):
        board_of(tmp_path, rule="luck")
    with pytest.raises(InputError, match="expected one of paper, literal, quick, smoke"):
        board_of(tmp_path, preset="quik")


def test_averages_are_over_complete_tasks_and_best_needs_equal_tasks(tmp_path: Path) -> None:
    for task, accuracy in (("U->M", 80.0), ("M->U", 90.0)):
        make_trained_run(tmp_path, f"c{accuracy:.0f}", [accuracy], task=task, seed=1)
    make_trained_run(tmp_path, "gac1", [50.0], method="gac", seed=1)
    board = board_of(tmp_path, seeds=1)
    average = board.averages["clarinet"]
    assert (average.mean, average.tasks) == (85.0, ("U->M", "M->U"))
    assert average.published == pytest.approx((83.692 + 94.538) / 2)
    assert board.best("U->M", MAIN_METHODS) == {"clarinet"}
    assert board.best("M->U", MAIN_METHODS) == frozenset(), "nothing to compare with"
    assert board.best_average(MAIN_METHODS) == frozenset(), "over different tasks"
    make_trained_run(tmp_path, "gac2", [95.0], method="gac", task="M->U", seed=1)
    assert board_of(tmp_path, seeds=1).best_average(MAIN_METHODS) == {"clarinet"}
    assert "clarinet" not in board_of(tmp_path, seeds=2).averages


def test_other_tasks_and_methods_are_added(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], task="Y->D", seed=1)
    for index, method in enumerate(("cdan-e", "source-only", "gac")):
        make_trained_run(tmp_path, f"run{index}", [95.0 - index], method=method, seed=1)
    make_trained_run(tmp_path, "clar1", [60.0], seed=1)
    board = board_of(tmp_path, seeds=1)
    assert board.tasks == (*PAPER_TASKS, "Y->D")
    assert board.cells["clarinet", "Y->D"].published is None
    assert board.averages["clarinet"].tasks == ("U->M",), "the average is over the paper's tasks"
    tables = {table.kind: table.methods for table in board.tables}
    assert tables["reference"] == ("cdan-e", "source-only")
    assert "other" not in tables
    assert board.table_of("cdan-e").title == "References with true labels"
    assert board.table_of("gac").kind == "main"
    assert board.best("U->M", MAIN_METHODS) == {"gac"}, "not the reference, which has a higher mean"


def test_notes_list_rule_preset_data_and_settings(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa", [70.0], seed=1, epochs=9, start={"notes": ["USPS is made here"]})
    notes = "\n".join(board_of(tmp_path, rule="best").notes)
    assert "oracle selection" in notes
    assert "Preset smoke: not the protocol of the published numbers." in notes
    assert "U->M: data: USPS is made here" in notes
    assert "U->M clarinet: settings: epochs=9" in notes
    assert "oracle" not in "\n".join(board_of(tmp_path).notes)


def test_unchanged_run_is_read_once(tmp_path: Path) -> None:
    run = make_trained_run(tmp_path, "aaa", [70.0], seed=1)
    records = read_runs(tmp_path)
    first = records.search()[0]
    run.config.unlink()
    assert records.search()[0] is first
