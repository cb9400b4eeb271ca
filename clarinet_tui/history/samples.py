"""Samples of a run's hardware: rows of the table `samples`, and what `runs` has of them."""

import sqlite3
from typing import Any

from clarinet_tui.history.curves import Series
from clarinet_tui.history.database import Database
from clarinet_tui.history.schema import SAMPLE_COLUMNS

INSERT_SAMPLE = f"INSERT OR REPLACE INTO samples VALUES ({', '.join('?' * (5 + len(SAMPLE_COLUMNS)))})"
_SUMMARY = """SELECT max(max(ifnull(gpu_memory, 0), ifnull(gpu_memory_peak, 0))) AS gpu_memory, avg(gpu_use) AS gpu_use,
    max(memory) AS memory, sum(energy) AS energy FROM samples WHERE run = ?"""
MAX_PAUSE = 60.0
"""Seconds between two samples that a chart shows at most: the pause between two attempts may last for days."""


def summarize_samples(connection: sqlite3.Connection, run: str) -> dict[str, Any]:
    """Return the columns of `runs`: peaks of memory, the mean use of the GPU, and its energy over all attempts."""
    row = connection.execute(_SUMMARY, (run,)).fetchone()
    return {**dict(row), "gpu_memory": row["gpu_memory"] or None}


def read_last_position(db: Database, run_id: str) -> int | None:
    """Return the place of the last sample in the journal: it changes with every new one."""
    position: int | None = db.tuples("SELECT max(position) FROM samples WHERE run = ?", (run_id,))[0][0]
    return position


def read_sample_series(db: Database, run_id: str, *, width: int = 2000) -> dict[str, Series]:
    """Return each sampled quantity over the seconds since the first sample, in at most `width` columns.

    The last column is the last sample alone. Pauses between attempts count as `MAX_PAUSE` at most.
    """
    import numpy as np

    names = ", ".join(("time", *SAMPLE_COLUMNS))
    rows = db.tuples(f"SELECT {names} FROM samples WHERE run = ? ORDER BY position", (run_id,))
    if not rows:
        return {}
    time, *columns = np.array(rows, dtype=float).T
    x = np.cumsum(np.clip(np.nan_to_num(np.diff(time, prepend=time[0])), 0.0, MAX_PAUSE))
    edges = np.unique(np.r_[np.arange(width - 1) * (len(x) - 1) // max(width - 1, 1), len(x) - 1])
    middle = (x[edges] + x[np.r_[edges[1:], len(x)] - 1]) / 2
    series = {}
    for name, values in zip(SAMPLE_COLUMNS, columns, strict=True):
        known = np.add.reduceat(np.isfinite(values), edges, dtype=float)
        if known.any():
            low, high = (merge.reduceat(values, edges) for merge in (np.fmin, np.fmax))
            mean = np.add.reduceat(np.nan_to_num(values), edges) / np.where(known > 0, known, np.nan)
            series[name] = Series(middle, low, high, mean, np.zeros(len(edges), np.int64))
    return series
