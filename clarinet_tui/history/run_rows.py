"""Write the rows of one run: from its config, environment and annotations, and from batches of its journal."""

import sqlite3
from operator import lt
from typing import Any

import msgspec

from clarinet_tui.history import rollups
from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import (
    NUMBER,
    JournalBatch,
    Position,
    ReplacedFileError,
    advance,
    check_start,
)
from clarinet_tui.history.queries import read_open_alarms
from clarinet_tui.history.schema import TABLES
from clarinet_tui.runs.directory import JOURNAL, RunDirectory
from clarinet_tui.runs.environment import hardware_names, read_environment
from clarinet_tui.runs.files import modified_time, open_file
from clarinet_tui.runs.journal import ATTEMPT_STARTS, parse_event, read_lines
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from core.errors import InputError
from core.methods import find_method

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
        "journal_state": RunState.QUEUED,
        "created": modified_time(run.config),
        "notes": "[]",
        **settings,
    }
    columns, places = ", ".join(values), ", ".join("?" * len(values))
    with db.transaction() as connection:
        connection.execute(f"INSERT OR IGNORE INTO runs ({columns}) VALUES ({places})", tuple(values.values()))
        connection.execute("INSERT OR IGNORE INTO ingested (run) VALUES (?)", (run.id,))
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


def _read_settings(run: RunDirectory) -> tuple[dict[str, Any], str | None]:
    """Return the columns of the run, and all of its settings as JSON."""
    try:
        config = run.read_config()
    except InputError as error:
        return {"error": str(error)}, None
    try:
        family = find_method(config.method).family
    except InputError:  # of a plug-in that is not installed
        family = "two-step" if "+" in config.method else "one-step"
    names = ("method", "task", "seed", "preset", "name", "device")
    columns = {name: getattr(config, name) for name in names} | {"family": family}
    return columns, msgspec.json.encode(config).decode()


def ingest_annotations(db: Database, run: RunDirectory, start: Position) -> int:
    """Ingest annotations from `start` on, exactly once; return the number of lines."""
    file = open_file(run.annotations)
    if file is None:
        if start.offset:
            raise ReplacedFileError
        return 0
    with file:
        check_start(file, start)
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
            if fields is None:
                continue
            time = fields.get("time") if isinstance(fields.get("time"), float | int) else None
            tag, note = fields.get("tag"), fields.get("note")
            match fields["event"]:
                case "created" if time is not None:
                    connection.execute("UPDATE runs SET created = ? WHERE id = ?", (time, run.id))
                case "tagged" if isinstance(tag, str):
                    connection.execute("INSERT OR IGNORE INTO tags VALUES (?, ?, ?)", (run.id, tag, time))
                case "untagged":
                    connection.execute("DELETE FROM tags WHERE run = ? AND tag = ?", (run.id, str(tag)))
                case "noted" if isinstance(note, str) and note:
                    connection.execute("INSERT OR REPLACE INTO notes VALUES (?, ?, ?)", (run.id, note, time))
                case "noted":
                    connection.execute("DELETE FROM notes WHERE run = ?", (run.id,))
        if any(fields is None for _, fields in lines):
            update_problems(connection, run)
    return len(lines)


def write_batch(db: Database, run: str, batch: JournalBatch, run_columns: dict[str, Any]) -> None:
    """Write a batch inside a transaction, and the columns of `runs` that come from other files of the run."""
    connection = db.connection
    metrics = {metric for layout in batch.layouts.values() for metric in layout.metrics}
    after = batch.superseded_after
    if after is not None:  # a resumed run records these again
        connection.execute("DELETE FROM iterations WHERE run = ? AND iteration > ?", (run, after))
        connection.execute("DELETE FROM evaluations WHERE run = ? AND iteration > ?", (run, after))
        sql = "UPDATE events SET superseded = 1 WHERE run = ? AND (iteration > ? OR ? < 0)"
        connection.execute(sql, (run, after, after))
        metrics |= rollups.delete_after(connection, run, after)
    for position in batch.attempt_starts:  # the line before may have been torn when a worker was killed
        connection.execute(
            """DELETE FROM events WHERE run = ? AND event = 'damaged' AND json_extract(fields, '$.end') = ?
            AND fields ->> 'line' IS fields ->> 'last_line'""",
            (run, position),
        )
    for layout, rows in batch.iterations:
        connection.executemany(layout.insert_sql, rows)
    events = [
        (
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
        for event in batch.events
    ]
    for table, table_rows in (("evaluations", batch.evaluations), ("samples", batch.samples), ("events", events)):
        places = ", ".join("?" * len(TABLES[table].columns))
        connection.executemany(f"INSERT OR REPLACE INTO {table} VALUES ({places})", table_rows)
    changed = [row[1] for _, rows in batch.iterations for row in rows]
    if batch.start.offset == 0 and changed and all(map(lt, changed, changed[1:])):
        rollups.build(connection, run, batch.iterations)
    else:
        changed += [after + 1] if after is not None else []
        if changed:
            rollups.rebuild(connection, run, min(changed), max(changed), metrics)
    update_run_row(db, run, batch, run_columns)


def update_run_row(db: Database, run: str, batch: JournalBatch, run_columns: dict[str, Any]) -> None:
    """Update the row of `runs`; its state is the journal's, because a run that has just written is alive."""
    connection = db.connection
    recorded = connection.execute("SELECT journal_state FROM runs WHERE id = ?", (run,)).fetchone()[0]
    columns: dict[str, Any] = {"journal_state": RunState.RUNNING if recorded == RunState.QUEUED else recorded}
    for event in batch.events:
        if event.name in ATTEMPT_STARTS:
            columns |= {"journal_state": RunState.RUNNING, "ended": None, "error": None}
        if event.name == "started":
            types: dict[str, Any] = {"method": str, "task": str, "seed": int, "device": str, "label_hash": str}
            types |= {"epochs_total": int, "iterations_total": int}
            started = {name: event.get(name, type_) for name, type_ in types.items()}
            columns |= {name: value for name, value in started.items() if value is not None}
            notes = [str(note) for note in event.get("notes", list) or []]
            columns["notes"] = msgspec.json.encode(notes).decode()
        if event.name in FINAL_EVENTS:
            error = event.get("message", str) if event.name == RunState.FAILED else None
            columns |= {"journal_state": event.name, "ended": event.get("time", NUMBER), "error": error}
    columns["state"] = columns["journal_state"]
    columns |= _read_times(connection, run) | _read_progress(connection, run) | _read_accuracies(connection, run)
    columns |= run_columns
    if batch.samples:
        samples = connection.execute(
            """SELECT nullif(max(max(ifnull(gpu_memory, 0), ifnull(gpu_memory_peak, 0))), 0) AS gpu_memory,
            avg(gpu_use) AS gpu_use, max(memory) AS memory, sum(energy) AS energy FROM samples WHERE run = ?""",
            (run,),
        )
        columns |= dict(samples.fetchone())
    if any(event.name in ATTEMPT_STARTS | {"alarm"} for event in batch.events):
        kinds = [alarm.kind for alarm in read_open_alarms(db, run)]
        columns["alarms"] = msgspec.json.encode(kinds).decode() if kinds else None
    assignments = ", ".join(f"{name} = ?" for name in columns)
    connection.execute(f"UPDATE runs SET {assignments} WHERE id = ?", (*columns.values(), run))


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
