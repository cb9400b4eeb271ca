"""The query language: results against a plain model, errors of invalid queries, and quoting."""

import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import count_runs, list_runs
from clarinet_tui.history.query_language import QueryError, compile_query, quote_value
from clarinet_tui.runs.directory import create_runs
from core.errors import InputError
from core.resolve import resolve
from tests.support.histories import ingested, make_run, open_history

NOW = datetime(2026, 6, 15, 12).timestamp()
DAY = 86400.0


@dataclass(frozen=True)
class Run:
    id: str
    method: str
    task: str
    seed: int
    state: str
    accuracy: float | None
    tags: tuple[str, ...]
    age: float


RUNS = [
    Run(
        id=f"run{number:02}",
        method=("clarinet", "gac", "gac+dann")[number % 3],
        task=("U->M", "M->U", "M->m", "m->M")[number % 4],
        seed=number % 7,
        state=("finished", "running", "failed")[number % 3],
        accuracy=None if number % 5 == 0 else number * 2.5,
        tags=(("icml", "50%"), ("a_b",), ("two words",), ())[number % 4],
        age=number * DAY / 2,
    )
    for number in range(40)
]


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with open_history(tmp_path_factory.mktemp("runs")) as db:
        for run in RUNS:
            with db.transaction() as connection:
                connection.execute(
                    """INSERT INTO runs
                    (id, method, task, seed, state, target_accuracy, created, journal_state, notes, name)
                    VALUES (?, ?, ?, ?, ?, ?, ?, 'x', '[]', '')""",
                    (run.id, run.method, run.task, run.seed, run.state, run.accuracy, NOW - run.age),
                )
                connection.executemany("INSERT INTO tags VALUES (?, ?, 0)", [(run.id, tag) for tag in run.tags])
        yield db


def find_ids(db: Database, query: str) -> set[str]:
    rows = list_runs(db, query, limit=1000, now=NOW)
    assert len(rows) == count_runs(db, query, now=NOW)
    return {row.id for row in rows}


def expected(true: Callable[[Run], bool]) -> set[str]:
    return {run.id for run in RUNS if true(run)}


EXAMPLES: list[tuple[str, Callable[[Run], bool]]] = [
    ("", lambda run: True),
    ("   ", lambda run: True),
    ("method:gac", lambda run: run.method == "gac"),
    ("METHOD:GAC", lambda run: run.method == "gac"),
    ("method:gac*", lambda run: run.method.startswith("gac")),
    ("method!=gac", lambda run: run.method != "gac"),
    ("task:M->m", lambda run: run.task == "M->m"),
    ("task:mnist→usps", lambda run: run.task == "M->U"),
    ("task:M->*", lambda run: run.task.startswith("M->")),
    ("seed:1..3", lambda run: 1 <= run.seed <= 3),
    ("seed:..3", lambda run: run.seed <= 3),
    ("seed:5..", lambda run: run.seed >= 5),
    ("seed:1,4,6", lambda run: run.seed in (1, 4, 6)),
    ("seed!=1,4", lambda run: run.seed not in (1, 4)),
    ("acc>80", lambda run: run.accuracy is not None and run.accuracy > 80),
    ("-acc>80", lambda run: run.accuracy is None or run.accuracy <= 80),
    ("acc>=25% acc<50", lambda run: run.accuracy is not None and 25 <= run.accuracy < 50),
    ("state:running", lambda run: run.state == "running"),
    ("tag:icml", lambda run: "icml" in run.tags),
    ("-tag:icml", lambda run: "icml" not in run.tags),
    ('tag:"two words"', lambda run: "two words" in run.tags),
    ("tag:50%", lambda run: "50%" in run.tags),
    ("tag:a_b", lambda run: "a_b" in run.tags),
    ("tag:axb", lambda run: False),
    ("since:2d", lambda run: run.age <= 2 * DAY),
    ("until:2d", lambda run: run.age >= 2 * DAY),
    ("since:today", lambda run: run.age <= DAY / 2),
    ("since:2026-06-10", lambda run: run.age <= 5.5 * DAY),
    ("id:run1", lambda run: run.id.startswith("run1")),
    ("run1", lambda run: run.id.startswith("run1")),
    ("clari", lambda run: "clari" in run.method),
    ("U->M", lambda run: run.task.lower() == "u->m"),
    ("method:gac OR state:running", lambda run: run.method == "gac" or run.state == "running"),
    ("seed:1 method:gac OR seed:2", lambda run: (run.seed == 1 and run.method == "gac") or run.seed == 2),
    ("seed:1 (method:gac OR state:running)", lambda run: run.seed == 1 and run.state == "running"),
    ("-(seed:1 OR seed:2) AND -method:gac", lambda run: run.seed not in (1, 2) and run.method != "gac"),
    ("--seed:1", lambda run: run.seed == 1),
    ("method:gac or state:running", lambda run: run.method == "gac" or run.state == "running"),
    ("seed:1 and method:gac", lambda run: run.seed == 1 and run.method == "gac"),
    ("seed:1 Or (seed:2 AND not method:gac)", lambda run: run.seed == 1 or (run.seed == 2 and run.method != "gac")),
    ("NOT seed:1 not -seed:2", lambda run: run.seed == 2),
    ('"or"', lambda run: "two words" in run.tags),
    ('"and"', lambda run: False),
    ("method:or", lambda run: False),
    ('"OR"', lambda run: "two words" in run.tags),
    ("ORDER", lambda run: False),
    ("x'; DROP TABLE runs;", lambda run: False),
]


@pytest.mark.parametrize(("query", "true"), EXAMPLES, ids=[query for query, _ in EXAMPLES])
def test_examples_agree_with_the_model(db: Database, query: str, true: Callable[[Run], bool]) -> None:
    assert find_ids(db, query) == expected(true)


ATOMS = st.sampled_from([pair for pair in EXAMPLES if pair[0].strip() and " " not in pair[0] and "," not in pair[0]])
Pair = tuple[str, Callable[[Run], bool]]


def combine(pairs: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    """Return negations, conjunctions and alternatives of the pairs."""

    def both(one: Pair, other: Pair) -> Pair:
        return f"({one[0]}) ({other[0]})", lambda run: one[1](run) and other[1](run)

    def either(one: Pair, other: Pair) -> Pair:
        return f"({one[0]} OR {other[0]})", lambda run: one[1](run) or other[1](run)

    negations = pairs.map(lambda pair: (f"-({pair[0]})", lambda run: not pair[1](run)))
    return negations | st.builds(both, pairs, pairs) | st.builds(either, pairs, pairs)


@settings(max_examples=100)
@given(st.recursive(ATOMS, combine, max_leaves=8))
def test_any_combination_agrees_with_the_model(db: Database, pair: Pair) -> None:
    assert find_ids(db, pair[0]) == expected(pair[1])


WORDS = st.sampled_from(
    ["method:", "acc>", "seed:1..", "OR", "AND", "-", "(", ")", '"', ",", "since:", "task:U->M", "\\"]
)
TEXTS = st.text(max_size=30) | st.lists(WORDS | st.text(string.printable, max_size=3), max_size=12).map("".join)


@settings(max_examples=400)
@given(TEXTS)
def test_any_text_is_a_query_or_gives_the_position_of_its_error(db: Database, text: str) -> None:
    try:
        count_runs(db, text, now=NOW)
    except QueryError as error:
        assert 0 <= error.position <= len(text)  # noqa: PT017
        assert "expected" in error.message  # noqa: PT017


INVALID_DATES = ("9999999999d", "0000-00-00", "2026-13-01", "99999-01-01", "1e5d")


@pytest.mark.parametrize(
    ("query", "position", "message"),
    [
        ("acc>x", 4, "expected a number after acc>, got 'x'"),
        ("seed:1 colour:red", 7, "expected a setting that clarinet settings lists, or one of id, state, method"),
        ("method>3", 6, "expected method with one of : = !="),
        ("state:runing", 6, "expected one of queued, starting, running, finished, failed, stopped, lost, silent"),
        ("seed:", 5, "expected a number after seed:"),
        ("seed:1,", 7, "expected a number after seed:"),
        ("seed:..", 5, "expected a number on a side of .."),
        ("seed:5..1", 5, "expected the smaller side of .. first after seed:, got '5..1'"),
        ("seed:1 OR", 9, "expected a condition on both sides of OR"),
        ("OR seed:1", 9, "expected a condition on both sides of OR"),
        ("AND seed:1", 4, "expected a condition on both sides of AND"),
        ("seed:1 or", 9, 'expected a condition on both sides of OR; the word is "or" in quotes'),
        ("or", 2, "expected a condition on both sides of OR"),
        ("seed:1 and or seed:2", 11, "expected a condition on both sides of AND"),
        ("seed:1 and and seed:2", 11, "expected a condition on both sides of AND"),
        ("-or", 1, "expected a condition on both sides of OR"),
        ("not", 3, "expected a condition after NOT"),
        ("(seed:1", 0, 'expected a ")" for this "("'),
        ("seed:1)", 6, 'expected no ")" without its "("'),
        ("()", 0, "expected a condition between the parentheses"),
        ('tag:"a', 4, "expected a second quotation mark"),
        ("since:later", 6, "expected a time such as 2d, 12h, today or 2026-01-31 after since:, got 'later'"),
        ("-", 1, "expected a word, or a condition such as seed:1"),
        ("time>2x", 5, "expected a duration such as 90s, 5m or 2h"),
        ("(" * 60 + "x" + ")" * 60, 51, "expected at most 50 parentheses"),
        ("x" * 10_001, 10_000, "expected at most 10000 characters"),
        ("x " * 300, 400, "expected at most 200 conditions"),
        ("flip:maybe", 5, "expected one of true, false after flip:, got 'maybe'"),
        ("flip>0", 4, "expected flip with one of : = !="),
        ("complementary_loss:fwd", 19, "expected one of ascent, cross-entropy"),
        ("epochs:ten", 7, "expected a number after epochs:, got 'ten'"),
        *((f"since:{date}", 6, "expected a time such as 2d") for date in INVALID_DATES),
    ],
)
def test_errors_of_invalid_queries(query: str, position: int, message: str) -> None:
    with pytest.raises(QueryError) as caught:
        compile_query(query, NOW)
    assert caught.value.position == position
    assert caught.value.message.startswith(message)
    assert str(caught.value).startswith(f"query, character {position + 1}: ")


VALUES = st.text(st.sampled_from('\\"*%_[]?,() \t\nabAB→-'), max_size=6) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12
)
"""Without NUL: SQLite compares texts only up to it."""


def find_column(db: Database, field: str, column: str, values: tuple[str, str]) -> list[str]:
    """Return what a query for the quoted first value finds among runs with either value."""
    with db.transaction() as connection:
        for number, value in enumerate(values):
            connection.execute(
                f"INSERT INTO runs (id, state, journal_state, created, {column}) VALUES (?, 'lost', 'x', 0, ?)",
                (f"quoted{number}", value),
            )
    try:
        where, parameters = compile_query(f"{field}:{quote_value(values[0])} id:quoted")
        return [row[0] for row in db.rows(f"SELECT id FROM runs WHERE {where} ORDER BY id", parameters)]
    finally:
        with db.transaction() as connection:
            connection.execute("DELETE FROM runs WHERE id LIKE 'quoted%'")


def ascii_folded(text: str) -> str:
    return "".join(char.lower() if char.isascii() else char for char in text)


@settings(max_examples=300)
@given(VALUES, VALUES)
def test_a_quoted_value_finds_exactly_itself(db: Database, value: str, other: str) -> None:
    expected = ["quoted0", "quoted1"] if ascii_folded(value) == ascii_folded(other) else ["quoted0"]
    assert find_column(db, "preset", "preset", (value, other)) == expected
    if "→" not in value:
        assert find_column(db, "task", "task", (value, other)) == (
            ["quoted0", "quoted1"] if value == other else ["quoted0"]
        )


def test_plain_values_stay_readable_and_lone_surrogates_match_nothing(db: Database) -> None:
    assert [quote_value(value) for value in ("gac+dann", "U->M", "two words")] == ["gac+dann", "U->M", '"two words"']
    assert find_ids(db, "name:\udcff \ud800") == set()


def test_sorting_and_pages(db: Database) -> None:
    rows = list_runs(db, sort="target_accuracy", limit=1000)
    values = [row.target_accuracy for row in rows]
    known = [value for value in values if value is not None]
    assert known == sorted(known, reverse=True)
    assert values[: len(known)] == known
    ascending = [row.target_accuracy for row in list_runs(db, sort="target_accuracy", descending=False, limit=1000)]
    assert ascending[: len(known)] == known[::-1]
    pages = [row.id for offset in range(0, 40, 7) for row in list_runs(db, limit=7, offset=offset)]
    assert pages == [run.id for run in RUNS]
    with pytest.raises(InputError, match="sort: expected one of"):
        list_runs(db, sort="id; DROP TABLE runs")


def test_runs_created_together_keep_their_order(tmp_path: Path) -> None:
    with create_runs(tmp_path, [resolve(preset="smoke", seed=seed) for seed in range(12)]) as runs:
        order = [run.id for run in runs]
    with ingested(tmp_path) as db:
        assert [row.id for row in list_runs(db)] == order[::-1]
        assert [row.id for row in list_runs(db, sort="method", descending=False)] == order


@pytest.fixture(scope="module")
def with_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """Two runs whose settings differ."""
    runs = tmp_path_factory.mktemp("settings")
    make_run(runs, "short", epoch_iterations=150, classifier_rate=5e-5, flip=True, stage1={"epochs": 7})
    make_run(
        runs, "long", complementary_loss="forward", classifier_rate=0.02, weights="my weights.pt", network="resnet18"
    )
    make_run(runs, "broken").config.write_text("no toml")
    with ingested(runs) as db:
        yield db


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("epoch_iterations:150", "short"),
        ("epoch_iterations:100..", "short"),
        ("epoch_iterations<150", "long"),
        ("classifier_rate<0.01", "short"),
        ("classifier_rate=5e-5", "short"),
        ("Classifier_Rate>1E-2", "long"),
        ("stage1.epochs:7", "short"),
        ("stage1.epochs!=7 -id:broken", "long"),
        ("flip:true", "short"),
        ("flip:False", "long"),
        ("complementary_loss:forward,free", "long"),
        ("complementary_loss!=forward", "short broken"),
        ("complementary_loss:for*", "long"),
        ('weights:"my *"', "long"),
        ("batch_size>0", "short long"),
    ],
)
def test_settings_are_fields(with_settings: Database, query: str, found: str) -> None:
    assert find_ids(with_settings, query) == set(found.split())
