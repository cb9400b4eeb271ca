"""Rollups: minimum, maximum, sum and count of each metric over buckets of iterations, in levels.

A bucket is always computed from the whole level below it and never added to. So the result does not depend on the
batches in which a journal was read, and a rebuilt history equals an incremental one to the last bit.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
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
    selected = "".join(f', "{name}"' for name in known)
    cursor = connection.cursor()
    cursor.row_factory = None
    cursor.execute(
        f"""SELECT iteration / {BASE}, other{selected} FROM iterations
        WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration""",
        (run, lowest * BASE, (highest + 1) * BASE),
    )
    rollups: list[tuple[Any, ...]] = []
    for bucket, rows in groupby(cursor, key=itemgetter(0)):
        _, others, *values = zip(*rows, strict=True)
        columns = dict(zip(known, values, strict=True))
        rollups += ((run, metric, bucket, *numbers) for metric, *numbers in _summarize(others, columns))
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


def _summarize(others: Sequence[str | None], columns: Mapping[str, Sequence[Any]]) -> Iterator[tuple[Any, ...]]:
    """Yield each metric of some iterations; in the column `other`, values that are not finite are texts."""
    other_values: dict[str, list[Any]] = {}
    for other in filter(None, others):
        for name, value in msgspec.json.decode(other).items():
            other_values.setdefault(name, []).append(value)
    for metric in {**columns, **other_values}:
        column, missing = columns.get(metric, ()), 0
        finite = [value for value in column if value is not None] if None in column else column
        if metric in other_values:
            missing = sum(isinstance(value, str) for value in other_values[metric])
            finite = [*finite, *(value for value in other_values[metric] if not isinstance(value, str))]
        if finite:
            yield metric, min(finite), max(finite), float(sum(finite)), len(finite), missing
        elif missing:
            yield metric, None, None, 0.0, 0, missing
