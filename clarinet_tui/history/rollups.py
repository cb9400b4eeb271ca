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

from clarinet_tui.history.journal_batches import IterationRow, RowLayout
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
Columns = Mapping[str, Sequence[Any]]
Bucket = tuple[int, Sequence[str | None], Columns]
"""A bucket of iterations on level 1: its number, their column `other`, and their metrics with a column."""


def bucket_size(level: int) -> int:
    """Return the iterations of a bucket; level 0 is the iterations themselves."""
    return BASE * RATIO ** (level - 1) if level else 1


def rebuild(connection: sqlite3.Connection, run: str, first: int, last: int, metrics: Iterable[str]) -> None:
    """Recompute every bucket with an iteration from `first` to `last`."""
    names = set(metrics)
    start, stop = first // BASE * BASE, (last // BASE + 1) * BASE
    _write_levels(connection, run, first, last, names, _read_buckets(connection, run, start, stop, names))


def build(connection: sqlite3.Connection, run: str, groups: Sequence[tuple[RowLayout, list[IterationRow]]]) -> None:
    """Compute the buckets of a run that has no other iterations than these, in ascending order."""
    names = {metric for layout, rows in groups if rows for metric in layout.metrics}
    iterations = [row[1] for _, rows in groups for row in rows]
    _write_levels(connection, run, iterations[0], iterations[-1], names, _split_buckets(groups))


def _write_levels(
    connection: sqlite3.Connection, run: str, first: int, last: int, names: set[str], buckets: Iterable[Bucket]
) -> None:
    lowest, highest = first // BASE, last // BASE
    connection.executemany(
        INSERT + "VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
        [(run, *values) for bucket in buckets for values in _lowest_level(*bucket)],
    )
    for level in range(2, LEVELS + 1):
        lowest, highest = lowest // RATIO, highest // RATIO
        bounds = (run, level - 1, lowest * RATIO, (highest + 1) * RATIO)
        connection.executemany(SELECT_UPPER_LEVEL, [(*bounds, name) for name in names])


def delete_after(connection: sqlite3.Connection, run: str, iteration: int) -> set[str]:
    """Delete every bucket that reaches beyond an iteration; return the metrics to rebuild."""
    rows = connection.execute("SELECT DISTINCT metric FROM rollups WHERE run = ?", (run,)).fetchall()
    metrics = {row[0] for row in rows}
    for metric in metrics:
        for level in range(1, LEVELS + 1):
            connection.execute(
                "DELETE FROM rollups WHERE run = ? AND metric = ? AND level = ? AND bucket >= ?",
                (run, metric, level, (iteration + 1) // bucket_size(level)),
            )
    return metrics


def _read_buckets(connection: sqlite3.Connection, run: str, start: int, stop: int, names: set[str]) -> Iterator[Bucket]:
    """Yield the buckets of the stored iterations, read once for all metrics."""
    known = [name for name in ITERATION_COLUMNS if name in names]
    selected = "".join(f', "{name}"' for name in known)
    cursor = connection.cursor()
    cursor.row_factory = None
    cursor.execute(
        f"""SELECT iteration / {BASE}, other{selected} FROM iterations
        WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration""",
        (run, start, stop),
    )
    for bucket, rows in groupby(cursor, key=itemgetter(0)):
        _, others, *values = zip(*rows, strict=True)
        yield bucket, others, dict(zip(known, values, strict=True))


def _split_buckets(groups: Sequence[tuple[RowLayout, list[IterationRow]]]) -> Iterator[Bucket]:
    """Yield the buckets of iterations in memory, which need not be read again."""
    pieces = (
        (number, layout, rows)
        for layout, all_rows in groups
        for number, rows in groupby(all_rows, key=lambda row: row[1] // BASE)
    )
    for bucket, same in groupby(pieces, key=itemgetter(0)):
        others: list[str | None] = []
        columns: dict[str, list[Any]] = {}
        for _, layout, rows in same:
            values = list(zip(*rows, strict=True))
            others += values[-1]
            for name, column in zip(layout.column_metrics, values[6:-1], strict=True):
                columns.setdefault(name, []).extend(column)
        yield bucket, others, columns


def _lowest_level(bucket: int, others: Sequence[str | None], columns: Columns) -> Iterator[tuple[Any, ...]]:
    """Yield the metrics of a bucket on level 1; in the column `other`, values that are not finite are texts."""
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
            yield metric, bucket, min(finite), max(finite), float(sum(finite)), len(finite), missing
        elif missing:
            yield metric, bucket, None, None, 0.0, 0, missing
