"""Write a batch of journal lines into the tables, inside a transaction."""

import sqlite3
from operator import lt
from typing import Any

import msgspec

from clarinet_tui.history import rollups
from clarinet_tui.history.alarms import SELECT_EVENTS, find_open_alarms
from clarinet_tui.history.journal_batches import NUMBER, Batch, EventRow
from clarinet_tui.history.samples import INSERT_SAMPLE, summarize_samples
from clarinet_tui.history.schema import EVALUATION_COLUMNS
from clarinet_tui.runs.journal import ATTEMPT_STARTS
from clarinet_tui.runs.state import FINAL_EVENTS, RunState

_INSERT_EVALUATION = f"INSERT OR REPLACE INTO evaluations VALUES ({', '.join('?' * (9 + len(EVALUATION_COLUMNS)))})"


def write_batch(connection: sqlite3.Connection, run: str, batch: Batch, run_columns: dict[str, Any]) -> None:
    """Write the batch, and the columns of `runs` that come from other files of the run's directory."""
    metrics: set[str] = set()
    if batch.superseded_after is not None:
        metrics |= _supersede(connection, run, batch.superseded_after)
    for position in batch.attempt_starts:
        connection.execute(
            """DELETE FROM events WHERE run = ? AND event = 'damaged' AND json_extract(fields, '$.end') = ?
            AND fields ->> 'line' IS fields ->> 'last_line'""",
            (run, position),
        )
    for layout, rows in batch.iterations:
        connection.executemany(layout.insert_sql, rows)
    connection.executemany(_INSERT_EVALUATION, batch.evaluations)
    connection.executemany(INSERT_SAMPLE, batch.samples)
    connection.executemany(
        "INSERT OR REPLACE INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_event_values(run, event) for event in batch.events],
    )
    _write_rollups(connection, run, batch, metrics)
    update_run_row(connection, run, batch, run_columns)


def _write_rollups(connection: sqlite3.Connection, run: str, batch: Batch, superseded_metrics: set[str]) -> None:
    changed = [row[1] for _, rows in batch.iterations for row in rows]
    if batch.start.offset == 0 and changed and all(map(lt, changed, changed[1:])):
        rollups.build(connection, run, batch.iterations)
        return
    if batch.superseded_after is not None:
        changed.append(batch.superseded_after + 1)
    if changed:
        metrics = superseded_metrics.union(*(layout.metrics for layout in batch.layouts.values()))
        rollups.rebuild(connection, run, min(changed), max(changed), metrics)


def _supersede(connection: sqlite3.Connection, run: str, iteration: int) -> set[str]:
    """Delete what a resumed run records again, after this iteration; return the metrics to roll up again."""
    connection.execute("DELETE FROM iterations WHERE run = ? AND iteration > ?", (run, iteration))
    connection.execute("DELETE FROM evaluations WHERE run = ? AND iteration > ?", (run, iteration))
    connection.execute(
        "UPDATE events SET superseded = 1 WHERE run = ? AND (iteration > ? OR ? < 0)", (run, iteration, iteration)
    )
    return rollups.delete_after(connection, run, iteration)


def _event_values(run: str, event: EventRow) -> tuple[Any, ...]:
    return (
        run,
        event.position,
        event.get("time", NUMBER),
        event.name,
        event.iteration,
        event.get("seconds", NUMBER),
        event.get("message", str),
        int(event.superseded),
        msgspec.json.encode(event.fields).decode(),
    )


def update_run_row(connection: sqlite3.Connection, run: str, batch: Batch, run_columns: dict[str, Any]) -> None:
    """Update the row of `runs`; its state is the recorded one, because a run that has just written is alive."""
    recorded = connection.execute("SELECT said FROM runs WHERE id = ?", (run,)).fetchone()[0]
    columns: dict[str, Any] = {"said": RunState.RUNNING if recorded == RunState.QUEUED else recorded}
    for event in batch.events:
        columns |= _event_columns(event)
    columns["state"] = columns["said"]
    columns |= _read_times(connection, run) | _read_progress(connection, run) | _read_accuracies(connection, run)
    columns |= run_columns
    if batch.samples:
        columns |= summarize_samples(connection, run)
    if any(event.name in ATTEMPT_STARTS | {"alarm"} for event in batch.events):
        columns["alarms"] = _read_alarm_kinds(connection, run)
    assignments = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*columns.values(), run))


def _event_columns(event: EventRow) -> dict[str, Any]:
    """Return the columns that one event sets."""
    if event.name in ATTEMPT_STARTS:
        columns = {"said": RunState.RUNNING, "ended": None, "error": None}
        return columns | (_started_columns(event) if event.name == "started" else {})
    if event.name in FINAL_EVENTS:
        error = event.get("message", str) if event.name == RunState.FAILED else None
        return {"said": event.name, "ended": event.get("time", NUMBER), "error": error}
    return {}


def _started_columns(event: EventRow) -> dict[str, Any]:
    types: dict[str, Any] = {"method": str, "task": str, "seed": int, "device": str, "label_hash": str}
    types |= {"epochs_total": int, "iterations_total": int}
    columns = {name: event.get(name, type_) for name, type_ in types.items()}
    notes = event.get("notes", list) or []
    columns["notes"] = msgspec.json.encode([str(note) for note in notes]).decode()
    return {name: value for name, value in columns.items() if value is not None}


def _read_times(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """Return when the run first started, and the seconds that it has trained."""
    row = connection.execute(
        """SELECT (SELECT min(time) FROM events WHERE run = :run AND event = 'started') AS started,
        max(ifnull((SELECT seconds FROM iterations WHERE run = :run ORDER BY iteration DESC LIMIT 1), 0),
            ifnull((SELECT max(seconds) FROM evaluations WHERE run = :run), 0),
            ifnull((SELECT max(seconds) FROM events WHERE run = :run AND NOT superseded), 0)) AS seconds""",
        {"run": run},
    ).fetchone()
    return dict(row)


def _read_alarm_kinds(connection: sqlite3.Connection, run: str) -> str | None:
    events = (msgspec.json.decode(row["fields"]) for row in connection.execute(SELECT_EVENTS, (run,)))
    kinds = [alarm.kind for alarm in find_open_alarms(events)]
    return msgspec.json.encode(kinds).decode() if kinds else None


def _read_progress(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """Return the last iteration, or the stage that started after it."""
    last = connection.execute(
        "SELECT iteration, epoch, stage FROM iterations WHERE run = ? ORDER BY iteration DESC LIMIT 1", (run,)
    ).fetchone()
    stage = connection.execute(
        """SELECT iteration, fields ->> 'epoch' AS epoch, fields ->> 'stage' AS stage FROM events
        WHERE run = ? AND event = 'stage' AND NOT superseded ORDER BY position DESC LIMIT 1""",
        (run,),
    ).fetchone()
    if last is None or (stage is not None and (stage["iteration"] or 0) >= last["iteration"]):
        last = stage
    return dict(last) if last is not None else {"iteration": None, "epoch": None, "stage": None}


def _read_accuracies(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """Return the accuracies of the last evaluation; that of the pseudo-labels may be recorded before it."""
    names = "target_accuracy, source_accuracy, pseudo_label_accuracy"
    last = connection.execute(
        f"SELECT {names} FROM evaluations WHERE run = ? ORDER BY iteration DESC, epoch DESC LIMIT 1", (run,)
    ).fetchone()
    accuracies: dict[str, Any] = dict(last) if last is not None else dict.fromkeys(names.split(", "))
    if accuracies["pseudo_label_accuracy"] is None:
        labelled = connection.execute(
            """SELECT fields ->> 'accuracy' FROM events WHERE run = ? AND event = 'pseudo-labels' AND NOT superseded
            AND json_type(fields, '$.accuracy') IN ('real', 'integer') ORDER BY position DESC LIMIT 1""",
            (run,),
        ).fetchone()
        accuracies["pseudo_label_accuracy"] = labelled[0] if labelled else None
    return accuracies
