"""Columns of `runs` that come from a run's directory: settings, environment and annotations."""

import sqlite3
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import Position, ReplacedFileError, advance, check_start
from clarinet_tui.history.schema import family_of
from clarinet_tui.runs.directory import JOURNAL, RunDirectory
from clarinet_tui.runs.environment import hardware_names, read_environment
from clarinet_tui.runs.files import modified_time, open_file
from clarinet_tui.runs.journal import parse_event, read_lines
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.runs.state import RunState
from core.errors import InputError

MAX_DAMAGED = 10
"""Unreadable lines of the journal that are listed with the run; its events have all of them."""


def insert_run(db: Database, run: RunDirectory) -> None:
    """Insert the run unless the history has it; raise FileNotFoundError if it was removed meanwhile."""
    settings, config = _read_settings(run)
    if config is None and not run.config.exists():
        raise FileNotFoundError(run.config)
    values = {
        "id": run.id,
        "state": RunState.QUEUED,
        "said": RunState.QUEUED,
        "created": modified_time(run.config),
        "notes": "[]",
        **settings,
    }
    columns, places = ", ".join(values), ", ".join("?" * len(values))
    with db.transaction() as connection:
        connection.execute(f"INSERT OR IGNORE INTO runs ({columns}) VALUES ({places})", tuple(values.values()))
        connection.execute("INSERT OR IGNORE INTO ingested (run, journal, annotations) VALUES (?, 0, 0)", (run.id,))
        connection.execute("INSERT OR IGNORE INTO configs VALUES (?, ?)", (run.id, config))
        update_problems(connection, run)


def read_run_columns(run: RunDirectory) -> tuple[dict[str, Any], str | None]:
    """Return settings, device and host, and all settings as JSON; they are final when an attempt starts."""
    settings, config = _read_settings(run)
    settings.pop("device", None)  # the requested one; the environment has the one in use
    environment = read_environment(run)
    owner = read_lock_owner(run.lock)
    used = {"host": environment.get("host") or (owner.host if owner else None), "device": environment.get("device")}
    used["hardware"] = "; ".join(hardware_names(environment)) or None
    return settings | {name: value for name, value in used.items() if isinstance(value, str)}, config


def update_problems(connection: sqlite3.Connection, run: RunDirectory) -> None:
    """Store what cannot be read in the run's directory, the first unreadable lines of its journal included."""
    damaged = connection.execute(
        "SELECT message FROM events WHERE run = ? AND event = 'damaged' ORDER BY position LIMIT ?",
        (run.id, MAX_DAMAGED),
    )
    problems = [*map(str, find_problems(run)), *(f"{JOURNAL}: {row[0]}" for row in damaged)]
    encoded = msgspec.json.encode(problems).decode() if problems else None
    connection.execute("UPDATE runs SET problems = ? WHERE id = ?", (encoded, run.id))


def store_missing_configs(db: Database, runs_dir: Path) -> None:
    """Store the settings of runs that were ingested before the history had them."""
    sql = "SELECT id FROM runs WHERE id NOT IN (SELECT run FROM configs)"
    for (run_id,) in db.tuples(sql):
        _, config = _read_settings(RunDirectory(runs_dir, run_id))
        with db.transaction() as connection:
            connection.execute(
                "INSERT OR IGNORE INTO configs SELECT id, ? FROM runs WHERE id = ?",  # it may just have been deleted
                (config, run_id),
            )


def _read_settings(run: RunDirectory) -> tuple[dict[str, Any], str | None]:
    """Return the columns of the run, and all of its settings as JSON."""
    try:
        config = run.read_config()
    except InputError as error:
        return {"error": str(error)}, None
    names = ("method", "task", "seed", "preset", "name", "device")
    columns = {name: getattr(config, name) for name in names} | {"family": family_of(config.method)}
    return columns, msgspec.json.encode(config).decode()


def ingest_annotations(db: Database, run: RunDirectory, start: Position) -> int:
    """Ingest annotations from `start` on, exactly once; return the number of lines."""
    file = open_file(run.annotations)
    if file is None:
        if start.offset:
            raise ReplacedFileError
        return 0
    with file:
        start = check_start(file, start)
        lines = [(end, parse_event(line)) for _, end, line in read_lines(file, start.offset)]
        if not lines:
            return 0
        end = advance(file, start, lines[-1][0])
    with db.transaction() as connection:
        moved = connection.execute(
            "UPDATE ingested SET annotations = ?, annotation_ends = ? WHERE run = ? AND annotations = ?",
            (end.offset, end.ends, run.id, start.offset),
        )
        if moved.rowcount == 0:
            return 0
        for _, fields in lines:
            if fields is not None:
                _write_annotation(connection, run.id, fields)
        if any(fields is None for _, fields in lines):
            update_problems(connection, run)
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
