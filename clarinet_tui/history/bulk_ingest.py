"""Ingest many new runs with several processes: each builds databases of some runs, which are then merged."""

import selectors
import subprocess
import sys
import tempfile
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from clarinet_tui.history.database import Database
from core.resolve import available_cores

PART_RUNS, PART_BYTES = 50, 16 << 20
"""Runs and bytes of journals in one part: other processes wait while a part is merged."""
MIN_RUNS, MIN_BYTES = 4 * PART_RUNS, 4 << 20
"""Fewer new runs, or less to read, are ingested sooner than processes start."""
MAX_PROCESSES = 4
"""One process merges, so that more would wait for it."""
TABLES = {
    "runs": "id",
    **dict.fromkeys(("configs", "tags", "notes", "events", "evaluations", "samples", "iterations"), "run"),
    **dict.fromkeys(("rollups", "ingested"), "run"),
}
"""Every table with its column of run ids; `ingested` is the last, because it decides which runs are new."""
COUNTED = frozenset({"events", "evaluations", "samples", "iterations"})
"""Tables with a row for each line of a journal."""


class Part(msgspec.Struct):
    """A request to a process of `part_builder`: ingest these runs into a new database."""

    path: str
    ids: list[str]


def is_worthwhile(sizes: Mapping[str, int]) -> bool:
    """Return whether new runs with journals of these sizes are ingested faster by several processes."""
    return len(sizes) >= MIN_RUNS and sum(sizes.values()) >= MIN_BYTES and _process_count() > 1


def ingest_parts(
    db: Database, runs_dir: Path, sizes: Mapping[str, int]
) -> Generator[tuple[frozenset[str], int], None, None]:
    """Ingest runs that the history does not have; yield the ids of each merged part, and the number of its rows.

    Runs that a process could not build, or was killed over, are not in any part.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="clarinet-")))
        parts = _split(folder, sizes)
        builders = [stack.enter_context(_Builder.running(runs_dir)) for _ in range(_process_count())]
        selector = stack.enter_context(selectors.DefaultSelector())
        for builder in builders:
            builder.start_next(parts, selector)
        while selector.get_map():
            for key, _ in selector.select():
                builder = key.data
                part = builder.finish(selector)
                if part is not None:
                    builder.start_next(parts, selector)
                    rows = merge(db, Path(part.path))
                    Path(part.path).unlink()
                    yield frozenset(part.ids), rows


def _process_count() -> int:
    return min(available_cores(), MAX_PROCESSES)


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


class _Builder:
    """A process of `part_builder` with at most one part."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process, self._part = process, Part("", [])

    @classmethod
    @contextmanager
    def running(cls, runs_dir: Path) -> Iterator["_Builder"]:
        """Start a process without the terminal's signals; it ends with its input."""
        command = [sys.executable, "-P", "-m", "clarinet_tui.history.part_builder", str(runs_dir.absolute())]
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        with subprocess.Popen(
            command, bufsize=0, stdin=pipe, stdout=pipe, stderr=null, start_new_session=True
        ) as process:
            try:
                yield cls(process)
            finally:
                process.kill()

    def start_next(self, parts: Iterator[Part], selector: selectors.BaseSelector) -> None:
        """Hand the next part to the process, if there is one."""
        part = next(parts, None)
        if part is None:
            return
        self._part = part
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(BrokenPipeError):  # `finish` finds that the process has ended
            self._process.stdin.write(msgspec.json.encode(part) + b"\n")
        selector.register(self._process.stdout, selectors.EVENT_READ, self)

    def finish(self, selector: selectors.BaseSelector) -> Part | None:
        """Return the part if it was built; None if the process has failed or was killed."""
        assert self._process.stdout is not None
        selector.unregister(self._process.stdout)
        return self._part if self._process.stdout.readline() else None


def merge(db: Database, path: Path) -> int:
    """Copy all runs of a part that the history does not have yet, in one transaction; return the number of rows."""
    connection, count = db.connection, 0
    connection.execute("ATTACH ? AS part", (str(path),))
    # Every row is of a run that is copied as well: checking each would take as long as copying it.
    connection.execute("PRAGMA foreign_keys = off")
    try:
        with db.transaction():
            for table, column in TABLES.items():
                copied = connection.execute(
                    f"""INSERT INTO main.{table} SELECT * FROM part.{table}
                    WHERE {column} NOT IN (SELECT run FROM main.ingested)"""
                )
                count += copied.rowcount if table in COUNTED else 0
    finally:
        connection.execute("PRAGMA foreign_keys = on")
        connection.execute("DETACH part")
    return count
