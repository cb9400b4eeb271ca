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

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.journal_batches import JournalBatch, Position, ReplacedFileError, read_batch
from clarinet_tui.history.run_rows import (
    ingest_annotations,
    insert_run,
    read_run_columns,
    update_problems,
    write_batch,
)
from clarinet_tui.history.schema import TABLES
from clarinet_tui.runs.directory import ANNOTATIONS, JOURNAL, RunDirectory, list_run_ids
from clarinet_tui.runs.files import UnreadableFileError, file_size, modified_time
from core.resolve import available_cores

Progress = Callable[[int, int], None]
"""Called with the runs done and the runs in all; with two zeros while they are not known yet."""
PART_RUNS, PART_BYTES = 50, 16 << 20
"""Runs and bytes of journals in one part: other processes wait while a part is merged."""
MIN_RUNS, MIN_BYTES = 4 * PART_RUNS, 4 << 20
"""Fewer new runs, or less to read, are ingested sooner than processes start."""
MAX_PROCESSES = 4
"""One process merges, so that more would wait for it."""
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
        insert_run(db, run)


def _commit(db: Database, run: RunDirectory, batch: JournalBatch) -> bool:
    columns = msgspec.json.encode(batch.columns).decode() if batch.columns is not None else None
    run_columns, config = read_run_columns(run) if batch.attempt_starts else ({}, None)
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
    """Yield parts with the newest runs first, each in the order of the tables."""
    ids: list[str] = []
    size = number = 0
    for run_id in sorted(sizes, reverse=True):
        ids.append(run_id)
        size += sizes[run_id]
        if len(ids) == PART_RUNS or size >= PART_BYTES:
            yield Part(str(folder / f"{number}.db"), ids[::-1])
            ids, size, number = [], 0, number + 1
    if ids:
        yield Part(str(folder / f"{number}.db"), ids[::-1])


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
