"""A run's row from its directory: settings, surroundings, and what people said about it."""

import sqlite3
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.runs.atomic_files import modified
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal_reader import parse, whole_lines
from clarinet_tui.runs.lock import read_holder
from core.errors import InputError
from core.methods import find_method


def register(db: Database, run: RunDirectory) -> None:
    """Make the run known, once."""
    settings = _settings(run)
    created = modified(run.config)
    facts = {"id": run.id, "state": "queued", "said": "queued", "created": created, "notes": "[]", **settings}
    columns, places = ", ".join(facts), ", ".join("?" * len(facts))
    with db.transaction() as connection:
        connection.execute(f"INSERT OR IGNORE INTO runs ({columns}) VALUES ({places})", tuple(facts.values()))
        connection.execute("INSERT OR IGNORE INTO ingested VALUES (?, 0, NULL, 0, NULL)", (run.id,))


def surroundings(run: RunDirectory) -> dict[str, Any]:
    """Settings, device and host as they are when a sitting begins: only then are they final."""
    settings = _settings(run)
    settings.pop("device", None)  # what was asked for; the journal and the environment tell what it became
    environment = read_environment(run)
    holder = read_holder(run.lock)
    found = {"host": environment.get("host") or (holder.host if holder else None), "device": environment.get("device")}
    return settings | {name: value for name, value in found.items() if isinstance(value, str)}


def _settings(run: RunDirectory) -> dict[str, Any]:
    try:
        config = run.read_config()
    except InputError as error:
        return {"error": str(error)}
    names = ("method", "task", "seed", "preset", "name", "device")
    return {name: getattr(config, name) for name in names} | {"family": _family(config.method)}


def _family(method: str) -> str:
    """A method has one step or two; of a plug-in that is not installed here we know only its name."""
    try:
        return "two-step" if len(find_method(method).stages) > 1 else "one-step"
    except InputError:
        return "two-step" if "+" in method else "one-step"


def ingest_annotations(db: Database, run: RunDirectory, offset: int) -> int:
    """What people said since `offset`, exactly once; the number of lines."""
    try:
        file = run.annotations.open("rb")
    except FileNotFoundError:
        return 0
    with file:
        lines = [(end, parse(line, None)) for _, end, line in whole_lines(file, offset)]
    if not lines:
        return 0
    with db.transaction() as connection:
        done = connection.execute(
            "UPDATE ingested SET annotations = ? WHERE run = ? AND annotations = ?", (lines[-1][0], run.id, offset)
        )
        if done.rowcount == 0:
            return 0
        for _, said in lines:
            if said is not None:
                _record(connection, run.id, said)
    return len(lines)


def _record(connection: sqlite3.Connection, run: str, said: dict[str, Any]) -> None:
    when = said.get("time") if isinstance(said.get("time"), float | int) else None
    tag, note = said.get("tag"), said.get("note")
    match said["event"]:
        case "created" if when is not None:
            connection.execute("UPDATE runs SET created = ? WHERE id = ?", (when, run))
        case "tagged" if isinstance(tag, str):
            connection.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (run, tag, when))
        case "untagged":
            connection.execute("DELETE FROM tags WHERE run = ? AND tag = ?", (run, str(tag)))
        case "noted" if isinstance(note, str) and note:
            connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (run, note, when))
        case "noted":
            connection.execute("DELETE FROM notes WHERE run = ?", (run,))
