"""Samples of a run's hardware: rows of the table `samples`, and what `runs` has of them."""

import sqlite3
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.schema import SAMPLE_COLUMNS

INSERT_SAMPLE = f"INSERT OR REPLACE INTO samples VALUES ({', '.join('?' * (5 + len(SAMPLE_COLUMNS)))})"
_SUMMARY = """SELECT max(max(ifnull(gpu_memory, 0), ifnull(gpu_memory_peak, 0))) AS gpu_memory, avg(gpu_use) AS gpu_use,
    max(memory) AS memory, sum(energy) AS energy FROM samples WHERE run = ?"""


def summarize_samples(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """Return the columns of `runs`: peaks of memory, the mean use of the GPU, and its energy over all attempts."""
    row = connection.execute(_SUMMARY, (run,)).fetchone()
    return {**dict(row), "gpu_memory": row["gpu_memory"] or None}


def read_samples(db: Database, run_id: str, *, limit: int = 2**31) -> list[dict[str, Any]]:
    """Return the last `limit` samples in order."""
    names = ", ".join(("time", "iteration", "seconds", *SAMPLE_COLUMNS))
    rows = db.rows(f"SELECT {names} FROM samples WHERE run = ? ORDER BY position DESC LIMIT ?", (run_id, limit))
    return [dict(row) for row in reversed(rows)]
