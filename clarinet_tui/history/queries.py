"""What the history tells: runs by query, one run, its evaluations, its curves."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from clarinet_tui.history.alarms import Alarm, alarms
from clarinet_tui.history.curves import Series, metrics_of, series
from clarinet_tui.history.database import Database
from clarinet_tui.history.query_language import compile_query
from clarinet_tui.history.time_left import time_left
from clarinet_tui.runs.journal_reader import number
from core.errors import InputError

__all__ = [
    "Alarm",
    "RunRow",
    "Series",
    "alarms",
    "count_runs",
    "evaluations",
    "events",
    "get_run",
    "iterations",
    "list_runs",
    "metrics_of",
    "series",
]


@dataclass(frozen=True)
class RunRow:
    """One run as a listing shows it. Times are Unix seconds, accuracies percent, `seconds` its training time."""

    id: str
    state: str
    method: str | None
    task: str | None
    seed: int | None
    preset: str | None
    device: str | None
    host: str | None
    stage: str | None
    epoch: int | None
    epochs_total: int | None
    iteration: int | None
    iterations_total: int | None
    target_accuracy: float | None
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    created: float
    started: float | None
    ended: float | None
    seconds: float | None
    tags: tuple[str, ...]
    note: str
    error: str | None
    name: str
    label_hash: str | None
    notes: tuple[str, ...]
    """What a reader of the results must know about the data."""
    family: str
    alarms: tuple[str, ...] = ()
    """The kinds of those that are open; `alarms` tells more of them."""
    iterations_given: int = 0
    """Those before its first own one: of a stage 1 that another run has paid for."""
    seconds_left: float | None = None
    """What a running one still takes, probably."""


_COLUMNS = """runs.*,
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tags WHERE run = runs.id ORDER BY tag)) AS tags,
    (SELECT note FROM notes WHERE run = runs.id) AS note,
    ifnull((SELECT min(iteration) - 1 FROM iterations WHERE run = runs.id), 0) AS iterations_given"""
PIECE = 5000
SORTS = frozenset(RunRow.__dataclass_fields__) - {"tags", "note", "notes", "alarms", "iterations_given", "seconds_left"}
SORT_NAMES = {
    "acc": "target_accuracy",
    "target": "target_accuracy",
    "source": "source_accuracy",
    "pseudo": "pseudo_label_accuracy",
    "time": "seconds",
    "labels": "label_hash",
}
"""What the table and the query language call fields of a run."""


def list_runs(
    db: Database,
    query: str = "",
    *,
    sort: str = "created",
    descending: bool = True,
    limit: int = 100,
    offset: int = 0,
    now: float | None = None,
) -> list[RunRow]:
    """Runs that match, in order; those without a value of `sort` come last."""
    if sort not in SORTS:
        raise InputError(f"sort: expected one of {', '.join(sorted(SORTS))}, got {sort!a}")
    where, parameters = compile_query(query, now)
    direction = "DESC" if descending else "ASC"
    # Tags and notes are looked up for the rows of the page only.
    sql = f"""WITH page AS (SELECT id AS chosen FROM runs WHERE {where}
            ORDER BY {sort} {direction} NULLS LAST, id {direction} LIMIT ? OFFSET ?)
        SELECT {_COLUMNS} FROM page JOIN runs ON runs.id = page.chosen
        ORDER BY runs.{sort} {direction} NULLS LAST, runs.id {direction}"""
    return [_run_row(db, dict(row)) for row in db.rows(sql, (*parameters, limit, offset))]


def count_runs(db: Database, query: str = "", *, now: float | None = None) -> int:
    where, parameters = compile_query(query, now)
    row = db.row(f"SELECT count(*) FROM runs WHERE {where}", parameters)
    return int(row[0]) if row else 0


def get_run(db: Database, id: str) -> RunRow | None:  # noqa: A002
    row = db.row(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (id,))
    return _run_row(db, dict(row)) if row else None


def evaluations(db: Database, run_id: str) -> list[dict[str, Any]]:
    """Every evaluation in order, as the run said it: all columns, the confusion as rows, not-a-number as such."""
    rows = db.rows("SELECT * FROM evaluations WHERE run = ? ORDER BY iteration, epoch, stage", (run_id,))
    return [_evaluation(dict(row)) for row in rows]


def iterations(
    db: Database, run_id: str, *, start: int | None = None, stop: int | None = None
) -> Iterator[dict[str, Any]]:
    """Every iteration from `start` to before `stop`, as the run said it, in bounded memory."""
    at, stop = (0 if start is None else start), (2**62 if stop is None else stop)
    sql = "SELECT * FROM iterations WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration LIMIT ?"
    while rows := db.rows(sql, (run_id, at, stop, PIECE)):
        for row in rows:
            yield _iteration(dict(row))
        at = rows[-1]["iteration"] + 1


def events(db: Database, run_id: str) -> list[dict[str, Any]]:
    """All that the run said beside iterations and evaluations, in order; `superseded` is what no longer counts."""
    rows = db.rows("SELECT fields, superseded FROM events WHERE run = ? ORDER BY position", (run_id,))
    return [msgspec.json.decode(row["fields"]) | {"superseded": bool(row["superseded"])} for row in rows]


def _iteration(row: dict[str, Any]) -> dict[str, Any]:
    """What was not measured is left out."""
    other = row.pop("other")
    kept = {name: value for name, value in row.items() if value is not None or name == "adaptation_epoch"}
    return kept | {name: number(value) for name, value in (msgspec.json.decode(other) if other else {}).items()}


def _evaluation(row: dict[str, Any]) -> dict[str, Any]:
    other = row.pop("other")
    if other:
        row |= {name: number(value) for name, value in msgspec.json.decode(other).items()}
    row["confusion"] = msgspec.json.decode(row["confusion"]) if row["confusion"] else None
    return row


def _run_row(db: Database, row: dict[str, Any]) -> RunRow:
    row["tags"] = tuple(msgspec.json.decode(row["tags"]))
    row["notes"] = tuple(msgspec.json.decode(row["notes"] or "[]"))
    row["alarms"] = tuple(msgspec.json.decode(row["alarms"] or "[]"))
    row["note"] = row["note"] or ""
    row["name"] = row["name"] or ""
    row["family"] = row["family"] or "one-step"
    row["seconds_left"] = time_left(db, row)
    return RunRow(**{name: row[name] for name in RunRow.__dataclass_fields__})
