"""Update the row of `runs` from a batch and from the other tables."""

import sqlite3
from typing import Any

import msgspec

from clarinet_tui.history.alarms import SELECT_EVENTS, find_open_alarms
from clarinet_tui.history.journal_batches import NUMBER, Batch, EventRow
from clarinet_tui.history.schema import EVALUATION_COLUMNS, RUN
from clarinet_tui.runs.journal_reader import ATTEMPT_STARTS
from clarinet_tui.runs.state import FINAL_EVENTS, RunState

ALARM_EVENTS = ATTEMPT_STARTS | {"alarm"}


def update_run_row(connection: sqlite3.Connection, run: str, batch: Batch, run_columns: dict[str, Any]) -> None:
    """Set the state to the recorded one: a run that has just written is alive."""
    recorded = connection.execute("SELECT said FROM runs WHERE id = ?", (run,)).fetchone()[0]
    columns: dict[str, Any] = {"said": RunState.RUNNING if recorded == RunState.QUEUED else recorded}
    for event in batch.events:
        columns |= _event_columns(event)
    columns["state"] = columns["said"]
    columns |= _read_times(connection, run) | _read_progress(connection, run) | _read_accuracies(connection, run)
    columns |= run_columns
    if any(event.name in ALARM_EVENTS for event in batch.events):
        columns["alarms"] = _read_alarm_kinds(connection, run)
    assignments = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*columns.values(), run))


def _event_columns(event: EventRow) -> dict[str, Any]:
    """Return the columns that one event sets."""
    if event.name == "started":
        return {"said": RunState.RUNNING, "ended": None, "error": None} | _started_columns(event)
    if event.name == "resumed":
        return {"said": RunState.RUNNING, "ended": None, "error": None}
    if event.name in FINAL_EVENTS:
        error = event.get("message", str) if event.name == RunState.FAILED else None
        return {"said": event.name, "ended": event.get("time", NUMBER), "error": error}
    return {}


def _started_columns(event: EventRow) -> dict[str, Any]:
    kinds: dict[str, Any] = {"method": str, "task": str, "seed": int, "device": str, "label_hash": str}
    kinds |= {"epochs_total": int, "iterations_total": int}
    columns = {name: event.get(name, kind) for name, kind in kinds.items()}
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
    accuracies: dict[str, Any] = dict.fromkeys(name for name in EVALUATION_COLUMNS if name in RUN)
    last = connection.execute(
        f"SELECT {', '.join(accuracies)} FROM evaluations WHERE run = ? ORDER BY iteration DESC, epoch DESC LIMIT 1",
        (run,),
    ).fetchone()
    if last is not None:
        accuracies = dict(last)
    if accuracies["pseudo_label_accuracy"] is None:
        labelled = connection.execute(
            """SELECT fields ->> 'accuracy' FROM events WHERE run = ? AND event = 'pseudo-labels' AND NOT superseded
            AND json_type(fields, '$.accuracy') IN ('real', 'integer') ORDER BY position DESC LIMIT 1""",
            (run,),
        ).fetchone()
        accuracies["pseudo_label_accuracy"] = labelled[0] if labelled else None
    return accuracies
