"""Words that name runs: ids, prefixes, `last`, names and queries."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clarinet_tui.history import lookup
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all
from clarinet_tui.runs.directory import create_runs
from core.errors import InputError
from core.resolve import resolve
from tests.support.histories import make_run, open_history

Find = Callable[..., list[str]]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Six runs in the order of their creation; their ids are in another."""
    make_run(tmp_path, id="zzz111", method="gac", name="baseline")
    make_run(tmp_path, id="mmm222", method="basset", seed=1, name="a b=c")
    make_run(tmp_path, id="aaa333", method="basset", seed=2, name="twice")
    make_run(tmp_path, id="ddd444", method="basset", seed=3, name="twice")
    make_run(tmp_path, id="aaa555", method="gac+dann", name="zzz")
    make_run(tmp_path, id="ccc666", method="gac+dann", name="mmm222")
    return tmp_path


@pytest.fixture
def find(runs: Path) -> Find:
    """Return the ids that words name."""
    with open_history(runs) as db:
        ingest_all(db, runs)

    def found(*words: str) -> list[str]:
        with open_history(runs) as db:
            ids = [run.id for run in lookup.find_runs(runs, words, lambda: db)]
            if len(words) == 1 and ":" not in words[0]:
                assert [lookup.find_run(runs, words[0], lambda: db).id] == ids
        return ids

    return found


def fails(runs: Path, word: str, find: Callable[..., object]) -> str:
    with open_history(runs) as db:
        ingest_all(db, runs)
        with pytest.raises(InputError) as error:
            find(runs, word if find is lookup.find_run else [word], lambda: db)
    return str(error.value)


def test_each_word_names_its_run(find: Find) -> None:
    assert find("zzz111") == find("z") == find("baseline") == ["zzz111"]
    assert find("last") == find("last-0") == ["ccc666"]
    assert find("last-2", "last-5") == ["ddd444", "zzz111"]
    assert find("a b=c") == ["mmm222"], "a name, although a query could contain it"
    assert find("c", "zzz111", "last", "z") == ["ccc666", "zzz111"], "each once, in this order"


def test_ids_and_prefixes_win_over_names(find: Find) -> None:
    assert find("mmm222") == ["mmm222"]
    assert find("zzz") == ["zzz111"]


def test_last_wins_over_a_prefix_but_not_over_an_id(runs: Path, find: Find) -> None:
    make_run(runs, id="last5", name="other")
    make_run(runs, id="eee777")
    with open_history(runs) as db:
        ingest_all(db, runs)
    assert find("last") == ["eee777"]
    assert find("last5") == ["last5"]
    make_run(runs, id="last")
    make_run(runs, id="fff888")
    assert find("last") == ["last"]


def test_queries_stand_for_all_runs_that_match_in_the_order_of_their_creation(find: Find) -> None:
    assert find("method:basset") == ["mmm222", "aaa333", "ddd444"]
    assert find("method:basset seed:2..3") == find("-seed:1 method:basset") == ["aaa333", "ddd444"]
    assert find("ddd", "(seed:2 OR seed:3) method:basset", "name:baseline") == ["ddd444", "aaa333", "zzz111"]
    assert find("seed:2") == ["aaa333"]


def test_several_names_and_unknown_words_are_errors(runs: Path) -> None:
    for find in (lookup.find_run, lookup.find_runs):
        assert "'twice' is the name of 2 runs: ddd444, aaa333: give an id" in fails(runs, "twice", find)
        assert "'aaa' is the prefix of 2 runs: aaa555, aaa333: give a longer one" in fails(runs, "aaa", find)
        for word in ("nothing", "", "TWICE", "last-", "last--1", "last2", "../zzz111", "\udcff"):
            assert "no run in" in fails(runs, word, find)
        assert fails(runs, "last-6", find) == f"last-6: {runs} has 6 runs"
    assert fails(runs, "method:fwd", lookup.find_runs) == "no run matches 'method:fwd'"
    assert "sates" in fails(runs, "sates:failed", lookup.find_runs)
    assert "expected one run, got the query 'method:gac'" in fails(runs, "method:gac", lookup.find_run)


def test_the_history_is_opened_only_for_what_is_not_an_id(runs: Path) -> None:
    def refuse() -> Database:
        raise AssertionError

    assert lookup.find_run(runs, "zzz1", refuse).id == "zzz111"
    with pytest.raises(InputError, match="prefix of 2 runs"):
        lookup.find_runs(runs, ["ccc", "aaa"], refuse)


def test_last_follows_the_order_of_creation_in_one_call(tmp_path: Path) -> None:
    with (
        create_runs(tmp_path, [resolve(preset="smoke", seed=seed) for seed in range(20)]) as created,
        open_history(tmp_path) as db,
    ):
        ingest_all(db, tmp_path)
        for earlier, run in enumerate(reversed(created)):
            assert lookup.find_run(tmp_path, f"last-{earlier}", lambda: db).id == run.id
        assert lookup.find_runs(tmp_path, ["preset:smoke"], lambda: db)[7].id == created[7].id


def test_a_directory_without_runs_has_no_last(tmp_path: Path) -> None:
    assert fails(tmp_path, "last", lookup.find_run) == f"last: {tmp_path} has 0 runs"
