"""Read the history: runs by query, one run, its evaluations, iterations and events."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.durations import estimate_time_left
from clarinet_tui.history.query_language import compile_query
from clarinet_tui.runs.journal import parse_number
from clarinet_tui.runs.state import RunState
from core.errors import InputError


@dataclass(frozen=True)
class RunRow:
    """One run. Times are Unix seconds, accuracies percent; `seconds` is the training time."""

    id: str
    state: RunState
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
    """Remarks on the data, such as that it was generated."""
    family: str
    alarms: tuple[str, ...] = ()
    """The kinds of open alarms; `read_open_alarms` reads the alarms themselves."""
    problems: tuple[str, ...] = ()
    """The files and lines of the run that cannot be read, each with the reason."""
    hardware: str | None = None
    """The model of its GPU or CPU; several, if attempts used different ones."""
    gpu_memory: float | None = None
    """The most bytes that it has used on a GPU."""
    gpu_use: float | None = None
    """The mean utilization of its GPU in percent."""
    memory: float | None = None
    """The most resident bytes of its processes."""
    energy: float | None = None
    """Joules that its GPU has used for it."""
    iterations_given: int = 0
    """Iterations of a stage 1 that another run has trained."""
    seconds_left: float | None = None
    """An estimate for a running run."""

    @property
    def progress(self) -> float | None:
        """The completed share of its iterations, if both numbers are known."""
        if not self.iterations_total or self.iteration is None:
            return None
        return min(self.iteration / self.iterations_total, 1.0)

    def without_progress(self) -> "RunRow":
        """Return the row without what changes in every iteration, to compare it with an earlier row."""
        if not self.state.is_live:
            return self
        return replace(self, iteration=None, iterations_given=0, seconds=None, seconds_left=None)


_COLUMNS = """runs.*,
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tags WHERE run = runs.id ORDER BY tag)) AS tags,
    (SELECT note FROM notes WHERE run = runs.id) AS note,
    ifnull((SELECT min(iteration) - 1 FROM iterations WHERE run = runs.id), 0) AS iterations_given"""
ITERATION_KEYS = ("run", "iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The keys of every iteration and evaluation, before those of its metrics."""
PAGE_SIZE = 5000
_UNSORTABLE = {"tags", "note", "notes", "alarms", "problems", "iterations_given", "seconds_left"}
SORT_FIELDS = frozenset(RunRow.__dataclass_fields__) - _UNSORTABLE
SORT_ALIASES = {
    "acc": "target_accuracy",
    "target": "target_accuracy",
    "source": "source_accuracy",
    "pseudo": "pseudo_label_accuracy",
    "time": "seconds",
    "labels": "label_hash",
}
"""Names of fields in tables and in the query language."""


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
    """Return the matching runs in order; those without a value of `sort` come last."""
    if sort not in SORT_FIELDS:
        raise InputError(f"sort: expected one of {', '.join(sorted(SORT_FIELDS))}, got {sort!a}")
    where, parameters = compile_query(query, now)
    direction = "DESC" if descending else "ASC"
    order = ", ".join(f"{column} {direction} NULLS LAST" for column in dict.fromkeys((sort, "created", "id")))
    # Tags and notes are read for the rows of the page only.
    sql = f"""WITH page AS (SELECT id AS selected FROM runs WHERE {where}
            ORDER BY {order} LIMIT ? OFFSET ?)
        SELECT {_COLUMNS} FROM page JOIN runs ON runs.id = page.selected
        ORDER BY {order}"""
    return [_run_row(db, dict(row)) for row in db.rows(sql, (*parameters, limit, offset))]


def count_runs(db: Database, query: str = "", *, now: float | None = None) -> int:
    where, parameters = compile_query(query, now)
    row = db.row(f"SELECT count(*) FROM runs WHERE {where}", parameters)
    return int(row[0]) if row else 0


def get_run(db: Database, run_id: str) -> RunRow | None:
    row = db.row(f"SELECT {_COLUMNS} FROM runs WHERE id = ?", (run_id,))
    return _run_row(db, dict(row)) if row else None


def read_evaluations(db: Database, run_id: str) -> list[dict[str, Any]]:
    """Return every evaluation in order with all columns, the confusion matrix as rows, and NaN as such."""
    rows = db.rows("SELECT * FROM evaluations WHERE run = ? ORDER BY iteration, epoch, stage", (run_id,))
    return [_evaluation(dict(row)) for row in rows]


def read_iterations(
    db: Database, run_id: str, *, start: int | None = None, stop: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield every iteration from `start` to before `stop`, in bounded memory."""
    start, stop = (0 if start is None else start), (2**62 if stop is None else stop)
    sql = "SELECT * FROM iterations WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration LIMIT ?"
    while rows := db.rows(sql, (run_id, start, stop, PAGE_SIZE)):
        for row in rows:
            yield _iteration(dict(row))
        start = rows[-1]["iteration"] + 1


def read_events(db: Database, run_id: str) -> list[dict[str, Any]]:
    """Return all other events in order; `superseded` ones were recorded again after a resume."""
    rows = db.rows("SELECT fields, superseded FROM events WHERE run = ? ORDER BY position", (run_id,))
    return [msgspec.json.decode(row["fields"]) | {"superseded": bool(row["superseded"])} for row in rows]


def _iteration(row: dict[str, Any]) -> dict[str, Any]:
    """Leave out metrics without a value."""
    other = row.pop("other")
    kept = {name: value for name, value in row.items() if value is not None or name == "adaptation_epoch"}
    return kept | {name: parse_number(value) for name, value in (msgspec.json.decode(other) if other else {}).items()}


def _evaluation(row: dict[str, Any]) -> dict[str, Any]:
    other = row.pop("other")
    if other:
        row |= {name: parse_number(value) for name, value in msgspec.json.decode(other).items()}
    row["confusion"] = msgspec.json.decode(row["confusion"]) if row["confusion"] else None
    return row


def _run_row(db: Database, row: dict[str, Any]) -> RunRow:
    row["state"] = RunState(row["state"])
    row["tags"] = tuple(msgspec.json.decode(row["tags"]))
    row["notes"] = tuple(msgspec.json.decode(row["notes"] or "[]"))
    row["alarms"] = tuple(msgspec.json.decode(row["alarms"] or "[]"))
    row["problems"] = tuple(msgspec.json.decode(row["problems"] or "[]"))
    row["note"] = row["note"] or ""
    row["name"] = row["name"] or ""
    row["family"] = row["family"] or "one-step"
    row["seconds_left"] = estimate_time_left(db, row)
    return RunRow(**{name: row[name] for name in RunRow.__dataclass_fields__})
