"""The row of `runs`: what the last events said, and where the tables end."""

import sqlite3
from typing import Any

import msgspec

from clarinet_tui.history.alarms import EVENTS, find_open_alarms
from clarinet_tui.history.journal_batches import NUMBER, Batch, EventRow
from clarinet_tui.history.schema import EVALUATION_COLUMNS, RUN
from clarinet_tui.runs.journal_reader import ATTEMPT_STARTS
from clarinet_tui.runs.state import FINAL_EVENTS

SAY_OF_ALARMS = ATTEMPT_STARTS | {"alarm"}


def update_run_row(connection: sqlite3.Connection, run: str, batch: Batch, beside: dict[str, Any]) -> None:
    """What speaks is alive: the state becomes what the journal says."""
    said = connection.execute("SELECT said FROM runs WHERE id = ?", (run,)).fetchone()[0]
    facts: dict[str, Any] = {"said": "running" if said == "queued" else said}
    for event in batch.events:
        facts |= _told(event)
    facts["state"] = facts["said"]
    facts |= _times(connection, run) | _place(connection, run) | _knowledge(connection, run) | beside
    if any(event.event in SAY_OF_ALARMS for event in batch.events):
        facts["alarms"] = _alarms(connection, run)
    columns = ", ".join(f"{name} = ?" for name in facts)
    connection.execute(f"UPDATE runs SET {columns} WHERE id = ?", (*facts.values(), run))


def _told(said: EventRow) -> dict[str, Any]:
    """What one event says about the run as a whole."""
    if said.event == "started":
        return {"said": "running", "ended": None, "error": None} | _sizes(said)
    if said.event == "resumed":
        return {"said": "running", "ended": None, "error": None}
    if said.event in FINAL_EVENTS:
        error = said.get("message", str) if said.event == "failed" else None
        return {"said": said.event, "ended": said.get("time", NUMBER), "error": error}
    return {}


def _sizes(said: EventRow) -> dict[str, Any]:
    kinds: dict[str, Any] = {"method": str, "task": str, "seed": int, "device": str, "label_hash": str}
    kinds |= {"epochs_total": int, "iterations_total": int}
    told = {name: said.get(name, kind) for name, kind in kinds.items()}
    notes = said.get("notes", list) or []
    told["notes"] = msgspec.json.encode([str(note) for note in notes]).decode()
    return {name: value for name, value in told.items() if value is not None}


def _times(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """When it first began, and how long it has trained: the latest of all that still counts."""
    row = connection.execute(
        """SELECT (SELECT min(time) FROM events WHERE run = :run AND event = 'started') AS started,
        max(ifnull((SELECT seconds FROM iterations WHERE run = :run ORDER BY iteration DESC LIMIT 1), 0),
            ifnull((SELECT max(seconds) FROM evaluations WHERE run = :run), 0),
            ifnull((SELECT max(seconds) FROM events WHERE run = :run AND NOT superseded), 0)) AS seconds""",
        {"run": run},
    ).fetchone()
    return dict(row)


def _alarms(connection: sqlite3.Connection, run: str) -> str | None:
    said = (msgspec.json.decode(row["fields"]) for row in connection.execute(EVENTS, (run,)))
    kinds = [alarm.kind for alarm in find_open_alarms(said)]
    return msgspec.json.encode(kinds).decode() if kinds else None


def _place(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """The last iteration, or the stage that was announced after it."""
    last = connection.execute(
        "SELECT iteration, epoch, stage FROM iterations WHERE run = ? ORDER BY iteration DESC LIMIT 1", (run,)
    ).fetchone()
    announced = connection.execute(
        """SELECT iteration, fields ->> 'epoch' AS epoch, fields ->> 'stage' AS stage FROM events
        WHERE run = ? AND event = 'stage' AND NOT superseded ORDER BY position DESC LIMIT 1""",
        (run,),
    ).fetchone()
    if last is None or (announced is not None and (announced["iteration"] or 0) >= last["iteration"]):
        last = announced
    return dict(last) if last is not None else {"iteration": None, "epoch": None, "stage": None}


def _knowledge(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """The last evaluation; pseudo-labels may be known before one."""
    found: dict[str, Any] = dict.fromkeys(name for name in EVALUATION_COLUMNS if name in RUN)
    last = connection.execute(
        f"SELECT {', '.join(found)} FROM evaluations WHERE run = ? ORDER BY iteration DESC, epoch DESC LIMIT 1", (run,)
    ).fetchone()
    if last is not None:
        found = dict(last)
    if found["pseudo_label_accuracy"] is None:
        labelled = connection.execute(
            """SELECT fields ->> 'accuracy' FROM events WHERE run = ? AND event = 'pseudo-labels' AND NOT superseded
            AND json_type(fields, '$.accuracy') IN ('real', 'integer') ORDER BY position DESC LIMIT 1""",
            (run,),
        ).fetchone()
        found["pseudo_label_accuracy"] = labelled[0] if labelled else None
    return found
