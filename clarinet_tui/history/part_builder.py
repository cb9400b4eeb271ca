"""The process that builds parts of the history: `python -m clarinet_tui.history.part_builder RUNS_DIR`.

It reads a `Part` as JSON from each line of its input, and writes an empty line when the part's database is complete.
"""

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import msgspec

from clarinet_tui.history.bulk_ingest import Part
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_run
from clarinet_tui.runs.directory import RunDirectory


def main() -> None:
    runs_dir = Path(sys.argv[1])
    for line in sys.stdin.buffer:
        build_part(runs_dir, msgspec.json.decode(line, type=Part))
        print(flush=True)


def build_part(runs_dir: Path, part: Part) -> None:
    """Ingest runs in memory, and write the database to a file at once."""
    with closing(Database.in_memory()) as db, closing(sqlite3.connect(part.path)) as file:
        db.connection.execute("PRAGMA foreign_keys = off")
        for run_id in part.ids:
            ingest_run(db, RunDirectory(runs_dir, run_id))
        file.execute("PRAGMA synchronous = off")
        db.connection.backup(file)


if __name__ == "__main__":
    main()
