"""`clarinet compare`: by ids and by queries."""

import shlex
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from clarinet_tui.ui.feed.compare_reader import CompareReader
from clarinet_tui.ui.snapshot.comparison import ComparisonRequest
from tests.support.cli import invalid, invoke, invoke_json
from tests.support.trained_runs import make_trained_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_trained_run(tmp_path, "aaa1", [83.0], seed=1)
    make_trained_run(tmp_path, "bbb1", [71.0], seed=1, method="gac+dan")
    return tmp_path


def test_runs_by_prefix_and_brackets_only_where_they_are_explained(runs: Path) -> None:
    result = invoke(runs, "compare", "aaa", "bbb")
    assert result.exit_code == 0
    assert "U→M: CLARINET minus GAC+DAN" in result.stdout
    assert "+12.00 points over 1 pair" in result.stdout
    assert "In brackets" not in result.stdout
    assert "oracle selection" in invoke(runs, "compare", "aaa", "bbb", "--select", "best").stdout
    output = invoke(runs, "compare", "--one-step", "", "--two-step", "").stdout
    assert "selected by" in output
    assert "In brackets" in output


def test_queries_as_json(runs: Path) -> None:
    content = invoke_json(runs, "compare", "--one-step", "", "--two-step", "method:gac+*")
    assert [row["id"] for row in content["runs"]] == ["aaa1", "bbb1"]
    assert content["differences"][0]["paired"]["difference"]["mean"] == 12.0


def test_without_arguments_the_app_and_the_command_compare_the_same(runs: Path) -> None:
    make_trained_run(runs, "ccc1", [75.0], seed=1, method="gac+cdan-e")
    result = invoke(runs, "compare")
    assert "CLARINET minus GAC+CDAN_E" in result.stdout
    assert "CLARINET minus GAC+DAN" not in result.stdout
    options = shlex.split(result.stderr.partition("both families: ")[2])
    assert invoke(runs, "compare", *options).stdout == result.stdout
    with Database.open(runs) as db:
        queries = CompareReader(db, runs).read(ComparisonRequest()).queries
    assert options[1::2] == list(queries or ())


def test_nothing_to_compare_is_one_sentence(tmp_path: Path) -> None:
    make_trained_run(tmp_path, "aaa1", [83.0], seed=1)
    assert "nothing to compare yet: no task has" in invalid(tmp_path, "compare")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--one-step", ""], "expected both --one-step QUERY and --two-step QUERY, or neither"),
        (["aaa", "--one-step", "seed:1"], "either run ids, or"),
        (["zzz"], "starting with 'zzz'"),
    ],
)
def test_invalid_input_is_one_sentence(runs: Path, arguments: list[str], message: str) -> None:
    assert message in invalid(runs, "compare", *arguments)
