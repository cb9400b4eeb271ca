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


def test_runs_by_prefix(runs: Path) -> None:
    result = invoke(runs, "compare", "aaa", "bbb")
    assert result.exit_code == 0
    assert "U→M: CLARINET minus GAC+DAN" in result.stdout
    assert "+12.00 points over 1 pair" in result.stdout


def test_brackets_are_explained_only_if_present(runs: Path) -> None:
    assert "In brackets" not in invoke(runs, "compare", "aaa", "bbb").stdout
    output = invoke(runs, "compare", "--one-step", "", "--two-step", "").stdout
    assert "selected by" in output
    assert "In brackets" in output


def test_queries_as_json(runs: Path) -> None:
    content = json.loads(invoke(runs, "compare", "--one-step", "", "--two-step", "method:gac+*", "--json").stdout)
    assert [row["id"] for row in content["runs"]] == ["aaa1", "bbb1"]
    assert content["contrasts"][0]["paired"]["difference"]["mean"] == 12.0


def test_oracle_selection_is_marked(runs: Path) -> None:
    assert "oracle selection" in invoke(runs, "compare", "aaa", "bbb", "--select", "best").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected run ids, or both"),
        (["--one-step", ""], "expected run ids, or both"),
        (["aaa", "--one-step", "seed:1"], "either run ids, or"),
        (["zzz"], "no run in .* starting with 'zzz'"),
    ],
)
def test_invalid_input_is_one_sentence(runs: Path, arguments: list[str], message: str) -> None:
    error = invoke(runs, "compare", *arguments).exception
    assert isinstance(error, InputError)
    with pytest.raises(InputError, match=message):
        raise error
