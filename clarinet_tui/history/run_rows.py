"""Columns of `runs` that come from a run's directory: settings, environment and annotations."""

import sqlite3
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.schema import family_of
from clarinet_tui.runs.atomic_files import modified_time
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal_reader import parse_line, read_lines
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.state import RunState
from core.errors import InputError


def insert_run(db: Database, run: RunDirectory) -> None:
    """Insert the run unless the history has it."""
    values = {
        "id": run.id,
        "state": RunState.QUEUED,
        "said": RunState.QUEUED,
        "created": modified_time(run.config),
        "notes": "[]",
        **_read_settings(run),
    }
    columns, places = ", ".join(values), ", ".join("?" * len(values))
    with db.transaction() as connection:
        connection.execute(f"INSERT OR IGNORE INTO runs ({columns}) VALUES ({places})", tuple(values.values()))
        connection.execute("INSERT OR IGNORE INTO ingested VALUES (?, 0, NULL, 0, NULL)", (run.id,))


def read_run_columns(run: RunDirectory) -> dict[str, Any]:
    """Return settings, device and host; they are final when an attempt starts."""
    settings = _read_settings(run)
    settings.pop("device", None)  # the requested one; the environment has the one in use
    environment = read_environment(run)
    owner = read_lock_owner(run.lock)
    used = {"host": environment.get("host") or (owner.host if owner else None), "device": environment.get("device")}
    return settings | {name: value for name, value in used.items() if isinstance(value, str)}


def _read_settings(run: RunDirectory) -> dict[str, Any]:
    try:
        config = run.read_config()
    except InputError as error:
        return {"error": str(error)}
    names = ("method", "task", "seed", "preset", "name", "device")
    return {name: getattr(config, name) for name in names} | {"family": family_of(config.method)}


def ingest_annotations(db: Database, run: RunDirectory, offset: int) -> int:
    """Ingest annotations from `offset` on, exactly once; return the number of lines."""
    try:
        file = run.annotations.open("rb")
    except FileNotFoundError:
        return 0
    with file:
        lines = [(end, parse_line(line, None)) for _, end, line in read_lines(file, offset)]
    if not lines:
        return 0
    with db.transaction() as connection:
        moved = connection.execute(
            "UPDATE ingested SET annotations = ? WHERE run = ? AND annotations = ?", (lines[-1][0], run.id, offset)
        )
        if moved.rowcount == 0:
            return 0
        for _, fields in lines:
            if fields is not None:
                _write_annotation(connection, run.id, fields)
    return len(lines)


def _write_annotation(connection: sqlite3.Connection, run: str, fields: dict[str, Any]) -> None:
    time = fields.get("time") if isinstance(fields.get("time"), float | int) else None
    tag, note = fields.get("tag"), fields.get("note")
    match fields["event"]:
        case "created" if time is not None:
            connection.execute("UPDATE runs SET created = ? WHERE id = ?", (time, run))
        case "tagged" if isinstance(tag, str):
            connection.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (run, tag, time))
        case "untagged":
            connection.execute("DELETE FROM tags WHERE run = ? AND tag = ?", (run, str(tag)))
        case "noted" if isinstance(note, str) and note:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (run, note, time))
        case "noted":
            connection.execute("DELETE FROM notes WHERE run = ?", (run,))
