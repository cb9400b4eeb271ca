"""`clarinet compare`: by ids and by queries."""

import json
from pathlib import Path

import pytest

from core.errors import InputError
from tests.support.cli import invoke
from tests.support.finished_runs import make_finished_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_finished_run(tmp_path, "aaa1", 83.0, seed=1)
    make_finished_run(tmp_path, "bbb1", 71.0, seed=1, method="gac+dan")
    return tmp_path


def test_runs_by_the_beginning_of_their_ids(runs: Path) -> None:
    shown = invoke(runs, "compare", "aaa", "bbb")
    assert shown.exit_code == 0
    assert "U→M: CLARINET minus GAC+DAN" in shown.stdout
    assert "+12.00 points over 1 pair" in shown.stdout


def test_brackets_are_explained_only_where_there_are_some(runs: Path) -> None:
    assert "In brackets" not in invoke(runs, "compare", "aaa", "bbb").stdout
    sides = invoke(runs, "compare", "--one-step", "", "--two-step", "").stdout
    assert "selected by" in sides
    assert "In brackets" in sides


def test_sides_by_queries_for_programs(runs: Path) -> None:
    told = json.loads(invoke(runs, "compare", "--one-step", "", "--two-step", "method:gac+*", "--json").stdout)
    assert [row["id"] for row in told["runs"]] == ["aaa1", "bbb1"]
    assert told["contrasts"][0]["paired"]["difference"]["mean"] == 12.0


def test_oracle_selection_is_marked(runs: Path) -> None:
    assert "oracle selection" in invoke(runs, "compare", "aaa", "bbb", "--select", "best").stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "say which runs"),
        (["--one-step", ""], "say which runs"),
        (["aaa", "--one-step", "seed:1"], "not both"),
        (["zzz"], "no run in .* starting with 'zzz'"),
    ],
)
def test_wrong_use_is_a_sentence(runs: Path, words: list[str], sentence: str) -> None:
    error = invoke(runs, "compare", *words).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=sentence):
        raise error
