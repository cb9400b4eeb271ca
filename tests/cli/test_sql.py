"""`clarinet sql`: formats, statements that do more than read, limits, and every example of the reference."""

import csv
import io
import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.history.database import DATABASE_NAME
from clarinet_tui.runs.annotations import add_tag, set_note
from tests.support.cli import invalid, invoke, invoke_json
from tests.support.histories import make_outdated
from tests.support.trained_runs import make_trained_run

REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "schema.md"
ENDLESS = "with recursive c(x) as (select 1 union all select x + 1 from c)"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    make_trained_run(tmp_path, "aaa1", [83.0], seed=1)
    make_trained_run(tmp_path, "bbb1", [71.5], seed=2, method="gac+dan")
    return tmp_path


def rows(runs: Path, statement: str) -> Any:
    return invoke_json(runs, "sql", statement)


def test_formats(runs: Path) -> None:
    statement = "select id, target_accuracy as acc, error from runs order by id"
    assert invoke(runs, "sql", statement).stdout.replace(" \n", "\n").splitlines() == [
        "id     acc  error",
        "aaa1  83.0  NULL",
        "bbb1  71.5  NULL",
    ]
    assert invoke(runs, "sql", statement, "--csv").stdout == "id,acc,error\naaa1,83.0,\nbbb1,71.5,\n"
    objects = [{"id": "aaa1", "acc": 83.0, "error": None}, {"id": "bbb1", "acc": 71.5, "error": None}]
    assert rows(runs, statement) == objects
    lines = invoke(runs, "sql", statement, "--jsonl").stdout.splitlines()
    assert [json.loads(line) for line in lines] == objects
    assert invalid(runs, "sql", statement, "--csv", "--json") == "expected one of --csv, --json and --jsonl"


def test_the_history_is_brought_up_to_date_first(runs: Path) -> None:
    assert rows(runs, "select count(*) as runs from runs") == [{"runs": 2}]
    make_outdated(runs / DATABASE_NAME)
    make_trained_run(runs, "ccc1", [60.0])
    assert rows(runs, "select count(*) as runs from runs") == [{"runs": 3}]
    assert rows(runs / "missing", "select count(*) as runs from runs") == [{"runs": 0}]
    assert not (runs / "missing").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "delete from runs",
        "update runs set state = 'finished'",
        "insert into tags values ('aaa1', 'x', 0)",
        "drop table runs",
        "create table x (a)",
        "create temp table x (a)",
        "attach '{folder}/other.db' as other",
        "vacuum into '{folder}/other.db'",
        "begin immediate",
        "pragma journal_mode = delete",
        "pragma query_only = off",
        "pragma writable_schema = on",
        "select load_extension('x')",
        "update sqlite_master set sql = ''",
        "with x as (select 1) delete from runs",
    ],
)
def test_a_statement_that_does_more_than_read_is_refused(runs: Path, statement: str) -> None:
    before = rows(runs, "select * from runs, sqlite_master order by 1, name")
    refusal = r"SQL: (expected a statement that only reads|not authorized|table sqlite_master may not)"
    assert re.match(refusal, invalid(runs, "sql", statement.format(folder=runs)))
    assert not (runs / "other.db").exists()
    assert rows(runs, "select * from runs, sqlite_master order by 1, name") == before


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("selec 1", 'near "selec": syntax error'),
        ("select * from absent", "no such table: absent"),
        ("select 1; select 2", "one statement at a time"),
        ("select ?", "Incorrect number of bindings"),
        ("", "expected a SELECT statement"),
        ("/* nothing */", "expected a SELECT statement"),
        ("select zeroblob(2000000000)", "too big"),
    ],
)
def test_a_wrong_statement_is_one_sentence(runs: Path, statement: str, message: str) -> None:
    assert message in invalid(runs, "sql", statement)
    assert invoke(runs, "sql", "select '\udcff'").exit_code == 0


@pytest.mark.parametrize("statement", [f"{ENDLESS} select count(*) from c", f"{ENDLESS} select * from c where x < 0"])
def test_an_endless_query_is_stopped(runs: Path, statement: str) -> None:
    message = invalid(runs, "sql", statement, "--timeout", "0.2")
    assert message == "SQL: stopped after 0.2 s: simplify the statement, or give a longer --timeout"


def test_a_long_result_is_cut_in_a_table_only(runs: Path) -> None:
    statement = f"{ENDLESS} select x, hex(zeroblob(100)) as text from c limit 1500"
    result = invoke(runs, "sql", statement)
    assert len(result.stdout.splitlines()) == 1001
    assert max(map(len, result.stdout.splitlines())) < 70
    assert "the first 1000 rows; --csv prints all" in result.stderr
    assert len(invoke(runs, "sql", statement, "--csv").stdout.splitlines()) == 1501
    wide = invoke(runs, "sql", "select * from runs as a, runs as b")
    assert re.search(r"\d+ of 78 columns; --csv prints all", wide.stderr)


def test_values_of_every_kind(runs: Path) -> None:
    set_note(make_trained_run(runs, "ccc1", [None]), 'one, "two"\nthree')
    statement = """select x'00ff' as bytes, null as absent, 9e999 as infinite, 'a' || char(0) || 'b' as zero,
        1 as same, 2 as same, cast(x'ff41' as text) as invalid, (select note from notes) as note,
        char(27) || ']0;title' || char(7) || char(27) || '[31mred' as red"""
    assert rows(runs, statement) == [
        {
            "bytes": "x'00ff'",
            "absent": None,
            "infinite": "inf",
            "zero": "a\0b",
            "same": 1,
            "same_2": 2,
            "invalid": "\ufffdA",
            "note": 'one, "two"\nthree',
            "red": "\x1b]0;title\x07\x1b[31mred",
        }
    ]
    (table,) = csv.DictReader(io.StringIO(invoke(runs, "sql", statement, "--csv").stdout))
    assert (table["bytes"], table["absent"], table["note"]) == ("x'00ff'", "", 'one, "two"\nthree')
    for output in (invoke(runs, "sql", statement).stdout, invoke(runs, "sql", statement, "--csv").stdout):
        assert not set(output) & set("\x00\x07\x1b")
        assert "red" in output


def test_tables_can_be_listed_and_json_taken_apart(runs: Path) -> None:
    names = {row["name"] for row in rows(runs, "select name from pragma_table_list where type = 'table'")}
    assert {"runs", "iterations", "evaluations"} <= names
    assert rows(runs, "select value from json_each('[1, 2]')") == [{"value": 1}, {"value": 2}]
    assert rows(runs, "select count(*) as n from runs, json_each(notes)") == [{"n": 0}]


def test_examples_of_the_reference(runs: Path) -> None:
    add_tag(make_trained_run(runs, "ccc1", [60.0], task="U->M"), "icml")
    blocks = re.findall(r"```\n(clarinet sql.*?)```", REFERENCE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 7
    for block in blocks:
        result = invoke(runs, *shlex.split(block)[1:])
        assert result.exit_code == 0, f"{block}: {result.exception}"
    assert "gac+dan" in invoke(runs, *shlex.split(blocks[1])[1:]).stdout
