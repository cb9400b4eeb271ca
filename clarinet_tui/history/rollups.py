"""Rollups: minimum, maximum, sum and count of each metric over buckets of iterations, in levels.

A bucket is always computed from the whole level below it and never added to. So the result does not depend on the
batches in which a journal was read, and a rebuilt history equals an incremental one to the last bit.
"""

import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from clarinet_tui.history.schema import ITERATION_COLUMNS

BASE, RATIO, LEVELS = 32, 16, 4
"""Iterations of a bucket on level 1, buckets of one level in a bucket of the next, and the number of levels.

A chart of w columns reads at most 32 w iterations or 16 w buckets of any range.
"""
INSERT = "INSERT OR REPLACE INTO rollups (run, metric, level, bucket, low, high, total, count, missing) "
SELECT_UPPER_LEVEL = (
    INSERT
    + f"""SELECT run, metric, level + 1, bucket / {RATIO} AS upper_bucket,
        min(low), max(high), total(total), sum(count), sum(missing) FROM rollups
    WHERE run = ? AND level = ? AND bucket >= ? AND bucket < ? AND metric = ? GROUP BY upper_bucket"""
)


def bucket_size(level: int) -> int:
    """Return the iterations of a bucket; level 0 is the iterations themselves."""
    return BASE * RATIO ** (level - 1) if level else 1


def rebuild(connection: sqlite3.Connection, run: str, first: int, last: int, metrics: Iterable[str]) -> None:
    """Recompute every bucket with an iteration from `first` to `last`."""
    names = set(metrics)
    lowest, highest = first // BASE, last // BASE
    known = [name for name in ITERATION_COLUMNS if name in names]
    aggregates = "".join(f', min("{name}"), max("{name}"), total("{name}"), count("{name}")' for name in known)
    cursor = connection.cursor()
    cursor.row_factory = None
    cursor.execute(
        f"""SELECT iteration / {BASE} AS bucket, group_concat(other, char(10)){aggregates} FROM iterations
        WHERE run = ? AND iteration >= ? AND iteration < ? GROUP BY bucket""",
        (run, lowest * BASE, (highest + 1) * BASE),
    )
    rollups: list[tuple[Any, ...]] = []
    for bucket, others, *numbers in cursor:
        summaries = {name: (*numbers[4 * at : 4 * at + 4], 0) for at, name in enumerate(known)}
        if others:
            _add_others(summaries, msgspec.json.Decoder().decode_lines(others))
        rollups += ((run, metric, bucket, *summary) for metric, summary in summaries.items() if any(summary[3:]))
    connection.executemany(INSERT + "VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)", rollups)
    for level in range(2, LEVELS + 1):
        lowest, highest = lowest // RATIO, highest // RATIO
        bounds = (run, level - 1, lowest * RATIO, (highest + 1) * RATIO)
        connection.executemany(SELECT_UPPER_LEVEL, [(*bounds, name) for name in names])


def delete_after(connection: sqlite3.Connection, run: str, iteration: int) -> set[str]:
    """Delete every bucket that reaches beyond an iteration; return the metrics to rebuild."""
    metrics = {row[0] for row in connection.execute("SELECT DISTINCT metric FROM rollups WHERE run = ?", (run,))}
    for level in range(1, LEVELS + 1):
        first = (iteration + 1) // bucket_size(level)
        connection.execute("DELETE FROM rollups WHERE run = ? AND level = ? AND bucket >= ?", (run, level, first))
    return metrics


def _add_others(summaries: dict[str, tuple[Any, ...]], others: Iterable[Mapping[str, Any]]) -> None:
    """Add the metrics of the column `other`, in which values that are not finite are texts."""
    values: dict[str, list[Any]] = {}
    for other in others:
        for name, value in other.items():
            values.setdefault(name, []).append(value)
    for name, found in values.items():
        low, high, total, count, _ = summaries.get(name, (None, None, 0.0, 0, 0))
        finite = [value for value in found if not isinstance(value, str)]
        extremes = [*finite, *(value for value in (low, high) if value is not None)]
        summaries[name] = (
            min(extremes, default=None),
            max(extremes, default=None),
            total + float(sum(finite)),
            count + len(finite),
            len(found) - len(finite),
        )
