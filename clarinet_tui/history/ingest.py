"""Copy journals and annotations into the database, each line exactly once, with any number of processes.

A batch of journal lines is read without a lock; then one transaction moves the stored offset from the start of the
batch to its end and writes its rows. If another process has moved the offset first, nothing is written. A file that
does not begin with what was ingested was replaced: its run is ingested again from the start.

Many new runs are ingested by several processes: each builds databases of some runs, which are then merged.
"""

import os
import selectors
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
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
    read_batch,
)
from clarinet_tui.history.queries import read_open_alarms
from clarinet_tui.history.schema import TABLES
from clarinet_tui.runs.directory import ANNOTATIONS, JOURNAL, RunDirectory, list_run_ids
from clarinet_tui.runs.environment import describe_environment, hardware_names, read_environment
from clarinet_tui.runs.files import UnreadableFileError, file_size, modified_time, open_file
from clarinet_tui.runs.journal import ATTEMPT_STARTS, parse_event, read_lines
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.runs.problems import find_problems
from clarinet_tui.runs.state import FINAL_EVENTS, RunState
from core.errors import InputError
from core.methods import find_method
from core.resolve import available_cores

Progress = Callable[[int, int], None]
"""Called with the runs done and the runs in all; with two zeros while they are not known yet."""
PART_RUNS, PART_BYTES = 50, 16 << 20
"""Runs and bytes of journals in one part: other processes wait while a part is merged."""
MIN_RUNS, MIN_BYTES = 4 * PART_RUNS, 4 << 20
"""Fewer new runs, or less to read, are ingested sooner than processes start."""
MAX_PROCESSES = 4
"""One process merges, so that more would wait for it."""
MAX_DAMAGED = 10
"""Unreadable lines of the journal that are listed with the run; its events have all of them."""
SIZE_COLUMNS = {"source_size": "source_images", "target_size": "target_images", "test_size": "test_images"}
"""Columns for the numbers of images in the first event: settings have the names of its fields."""
COUNTED = frozenset({"events", "evaluations", "samples", "iterations"})
"""Tables with a row for each line of a journal."""


def no_progress(done: int, total: int) -> None:
    """Ignore the progress."""


def ingest_run(db: Database, run: RunDirectory, *, limit_seconds: float | None = None) -> int:
    """Ingest what is new in a run's journal and annotations; return the number of rows.

    A file that cannot be read is named in the run's problems.
    """
    db.reopen_if_replaced()
    deadline = None if limit_seconds is None else time.monotonic() + limit_seconds
    count = 0
    while True:
        try:
            journal, columns, annotations = _read_positions(db, run)
            with suppress(UnreadableFileError):
                count += ingest_annotations(db, run, annotations)
            batch = read_batch(run, journal, columns)
        except ReplacedFileError:
            delete_run(db, run.id)
            continue
        except (OSError, UnreadableFileError):
            with db.transaction() as connection:
                update_problems(connection, run)
            return count
        if batch.end.offset == batch.start.offset:
            _record_time(db, run)
            return count
        if _commit(db, run, batch):
            count += batch.rows
        if deadline is not None and time.monotonic() >= deadline:
            return count


def _read_positions(db: Database, run: RunDirectory) -> tuple[Position, list[str] | None, Position]:
    """Return the journal's position, its columns there, and the annotations' position; insert the run if it is new."""
    while True:
        row = db.row("SELECT * FROM ingested WHERE run = ?", (run.id,))
        if row is not None:
            columns = msgspec.json.decode(row["columns"], type=list[str]) if row["columns"] else None
            journal = Position(row["journal"], row["lines"], row["checksum"], row["ends"])
            return journal, columns, Position(row["annotations"], ends=row["annotation_ends"])
        _insert_run(db, run)


def _commit(db: Database, run: RunDirectory, batch: JournalBatch) -> bool:
    columns = msgspec.json.encode(batch.columns).decode() if batch.columns is not None else None
    run_columns, config = _read_run_columns(run) if batch.attempt_starts else ({}, None)
    run_columns["journal_changed"] = modified_time(run.journal)
    end = batch.end
    with db.transaction() as connection:
        moved = connection.execute(
            """UPDATE ingested SET journal = ?, columns = ?, lines = ?, checksum = ?, ends = ?
            WHERE run = ? AND journal = ?""",
            (end.offset, columns, end.lines, end.checksum, end.ends, run.id, batch.start.offset),
        )
        if moved.rowcount == 0:
            return False
        write_batch(db, run.id, batch, run_columns)
        if config is not None:
            connection.execute("INSERT OR REPLACE INTO configs VALUES (?, ?)", (run.id, config))
        if batch.attempt_starts or batch.has_damage:
            update_problems(connection, run)
    return True


def _record_time(db: Database, run: RunDirectory) -> None:
    """Store when the journal was changed last, so that `ingest_all` need not read it again."""
    changed = modified_time(run.journal)
    condition = "id = ? AND journal_changed IS NOT ? AND journal_state <> 'queued'"
    if db.row(f"SELECT 1 FROM runs WHERE {condition}", (run.id, changed)):
        with db.transaction() as connection:
            connection.execute("UPDATE runs SET journal_changed = ? WHERE id = ?", (changed, run.id))


def delete_run(db: Database, run_id: str) -> None:
    """Delete a run from the history; its directory is not touched."""
    with db.transaction() as connection:
        connection.execute("DELETE FROM runs WHERE id = ?", (run_id,))


def _insert_run(db: Database, run: RunDirectory) -> None:
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


def _read_run_columns(run: RunDirectory) -> tuple[dict[str, Any], str | None]:
    """Return settings, device and host, and all settings as JSON; they are final when an attempt starts."""
    settings, config = _read_settings(run)
    settings.pop("device", None)  # the requested one; the environment has the one in use
    environment = read_environment(run)
    owner = read_lock_owner(run.lock)
    used = {"host": environment.get("host") or (owner.host if owner else None), "device": environment.get("device")}
    used["hardware"] = "; ".join(hardware_names(environment)) or None
    described = describe_environment(environment)
    used |= {"version": dict(described.versions).get("clarinet-tui"), "git_commit": described.short_commit or None}
    return settings | {name: value for name, value in used.items() if isinstance(value, str)}, config


def update_problems(connection: sqlite3.Connection, run: RunDirectory) -> None:
    """Store what cannot be read in the run's directory, the first unreadable lines of its journal included."""
    damaged = connection.execute(
        "SELECT message FROM events WHERE run = ? AND event = 'damaged' ORDER BY position LIMIT ?",
        (run.id, MAX_DAMAGED),
    )
    problems = [
        f"{name}: {problem}" for name, problem in (*find_problems(run), *((JOURNAL, row[0]) for row in damaged))
    ]
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
    metrics = {metric for layout, _ in batch.iterations for metric in layout.metrics}
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
    changed = [row[1] for _, rows in batch.iterations for row in rows] + ([after + 1] if after is not None else [])
    if changed:
        rollups.rebuild(connection, run, min(changed), max(changed), metrics)
    update_run_row(db, run, batch, run_columns)


_PROGRESS = """SELECT (SELECT min(time) FROM events WHERE run = :run AND event = 'started') AS started,
        max(ifnull((SELECT seconds FROM iterations WHERE run = :run ORDER BY iteration DESC LIMIT 1), 0),
            ifnull((SELECT max(seconds) FROM evaluations WHERE run = :run), 0),
            ifnull((SELECT max(seconds) FROM events WHERE run = :run AND NOT superseded), 0)) AS seconds,
        last.iteration AS iteration, last.epoch AS epoch, last.stage AS stage,
        target_accuracy, source_accuracy, ifnull(pseudo_label_accuracy,
            (SELECT fields ->> 'accuracy' FROM events WHERE run = :run AND event = 'pseudo-labels' AND NOT superseded
                AND json_type(fields, '$.accuracy') IN ('real', 'integer') ORDER BY position DESC LIMIT 1)
        ) AS pseudo_label_accuracy
    FROM (SELECT 1)
    LEFT JOIN (SELECT * FROM (SELECT iteration, epoch, stage, 0 AS has_started FROM iterations
                WHERE run = :run ORDER BY iteration DESC LIMIT 1)
            UNION ALL SELECT * FROM (SELECT iteration, fields ->> 'epoch', fields ->> 'stage', 1 FROM events
                WHERE run = :run AND event = 'stage' AND NOT superseded ORDER BY position DESC LIMIT 1)
        ORDER BY iteration DESC, has_started DESC LIMIT 1) AS last
    LEFT JOIN (SELECT target_accuracy, source_accuracy, pseudo_label_accuracy FROM evaluations
        WHERE run = :run ORDER BY iteration DESC, epoch DESC LIMIT 1)"""
"""When a run first started, its training time, and its last iteration, or the stage that started after it.

The accuracies are those of the last evaluation; that of the pseudo-labels may be recorded before it.
"""


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
            types |= dict.fromkeys(("epochs_total", "iterations_total"), int)
            started = {name: event.get(name, type_) for name, type_ in types.items()}
            started |= {column: event.get(name, int) for name, column in SIZE_COLUMNS.items()}
            columns |= {name: value for name, value in started.items() if value is not None}
            notes = [str(note) for note in event.get("notes", list) or []]
            columns["notes"] = msgspec.json.encode(notes).decode()
        if event.name in FINAL_EVENTS:
            error = event.get("message", str) if event.name == RunState.FAILED else None
            columns |= {"journal_state": event.name, "ended": event.get("time", NUMBER), "error": error}
    columns["state"] = columns["journal_state"]
    columns |= dict(connection.execute(_PROGRESS, {"run": run}).fetchone()) | run_columns
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


def ingest_all(db: Database, runs_dir: Path, progress: Progress = no_progress) -> int:
    """Ingest every readable run that has changed, delete runs without a directory, and return the number of rows."""
    db.reopen_if_replaced()
    # Read before the directories are listed: an ingested run that is not listed was deleted, and is not new.
    sql = "SELECT run, journal, annotations, journal_changed FROM ingested JOIN runs ON runs.id = run"
    ingested = {row[0]: row[1:] for row in db.tuples(sql)}
    ids = list_run_ids(runs_dir)
    sizes = {run_id: _read_sizes(f"{runs_dir}/{run_id}") for run_id in ids}
    new = {run_id: size[0] for run_id, size in sizes.items() if run_id not in ingested}
    changed = [run_id for run_id in ids if ingested.pop(run_id, None) != sizes[run_id]]
    total, count = len(changed), 0
    if len(new) >= MIN_RUNS and sum(new.values()) >= MIN_BYTES and process_count() > 1:
        with closing(ingest_parts(db, runs_dir, new)) as parts:
            for merged, rows in parts:
                changed, count = [run_id for run_id in changed if run_id not in merged], count + rows
                progress(total - len(changed), total)
    for done, run_id in enumerate(changed, total - len(changed)):
        progress(done, total)
        count += ingest_run(db, RunDirectory(runs_dir, run_id))
    progress(total, total)
    # If there is no run at all, the disk is probably not mounted.
    for run_id in ingested if ids else ():
        delete_run(db, run_id)
    return count


def _read_sizes(path: str) -> tuple[int, int, float | None]:
    """Return the sizes of journal and annotations, and when the journal was changed."""
    try:
        journal = os.stat(f"{path}/{JOURNAL}")  # noqa: PTH116 - Path.stat is too slow for thousands of runs
    except OSError:
        return 0, file_size(f"{path}/{ANNOTATIONS}"), None
    return journal.st_size, file_size(f"{path}/{ANNOTATIONS}"), journal.st_mtime


class Part(msgspec.Struct):
    """A request to a process: ingest these runs into a new database."""

    path: str
    ids: list[str]


def process_count() -> int:
    return min(available_cores(), MAX_PROCESSES)


def ingest_parts(
    db: Database, runs_dir: Path, sizes: Mapping[str, int]
) -> Generator[tuple[frozenset[str], int], None, None]:
    """Ingest runs that the history does not have; yield the ids of each merged part, and the number of its rows.

    Runs that a process could not build, or was killed over, are not in any part.
    """
    with ExitStack() as stack:
        parts = _split(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clarinet-"))), sizes)
        selector = stack.enter_context(selectors.DefaultSelector())

        def start_next(process: "subprocess.Popen[bytes]") -> None:
            part = next(parts, None)
            if part is not None:
                assert process.stdin is not None
                assert process.stdout is not None
                with suppress(BrokenPipeError):  # then its output ends without a line
                    process.stdin.write(msgspec.json.encode(part) + b"\n")
                selector.register(process.stdout, selectors.EVENT_READ, (process, part))

        for _ in range(process_count()):
            start_next(stack.enter_context(_start_builder(runs_dir)))
        while selector.get_map():
            for key, _ in selector.select():
                process, part = key.data
                selector.unregister(process.stdout)
                if process.stdout.readline():  # otherwise it has failed or was killed
                    start_next(process)
                    rows = merge(db, Path(part.path))
                    Path(part.path).unlink()
                    yield frozenset(part.ids), rows


def _split(folder: Path, sizes: Mapping[str, int]) -> Iterator[Part]:
    """Yield parts with the newest runs first, as in `sizes`, each in the order of the tables."""
    ids: list[str] = []
    size = number = 0
    for run_id, run_size in sizes.items():
        ids.append(run_id)
        size += run_size
        if len(ids) == PART_RUNS or size >= PART_BYTES:
            yield Part(str(folder / f"{number}.db"), sorted(ids))
            ids, size, number = [], 0, number + 1
    if ids:
        yield Part(str(folder / f"{number}.db"), sorted(ids))


@contextmanager
def _start_builder(runs_dir: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process of this module without the terminal's signals; it ends with its input."""
    command = [sys.executable, "-P", "-m", "clarinet_tui.history.ingest", str(runs_dir.absolute())]
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


def merge(db: Database, path: Path) -> int:
    """Copy all runs of a part that the history does not have yet, in one transaction; return the number of rows."""
    connection, count = db.connection, 0
    connection.execute("ATTACH ? AS part", (str(path),))
    # Every row is of a run that is copied as well: checking each would take as long as copying it.
    connection.execute("PRAGMA foreign_keys = off")
    try:
        with db.transaction():
            for table in TABLES:
                copied = connection.execute(
                    f"""INSERT INTO main.{table} SELECT * FROM part.{table}
                    WHERE {"id" if table == "runs" else "run"} NOT IN (SELECT run FROM main.ingested)"""
                )
                count += copied.rowcount if table in COUNTED else 0
    finally:
        connection.execute("PRAGMA foreign_keys = on")
        connection.execute("DETACH part")
    return count


def build_part(runs_dir: Path, part: Part) -> None:
    """Ingest runs in memory, and write the database to a file at once."""
    with closing(Database.in_memory()) as db, closing(sqlite3.connect(part.path)) as file:
        db.connection.execute("PRAGMA foreign_keys = off")
        for run_id in part.ids:
            ingest_run(db, RunDirectory(runs_dir, run_id))
        file.execute("PRAGMA synchronous = off")
        db.connection.backup(file)


def main() -> None:
    """Build a part for each line of the input, and write an empty line when its database is complete."""
    for line in sys.stdin.buffer:
        build_part(Path(sys.argv[1]), msgspec.json.decode(line, type=Part))
        print(flush=True)


if __name__ == "__main__":
    main()
