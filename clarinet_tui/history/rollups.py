"""Rollups: least, greatest, sum and count of each metric over buckets of iterations, in levels.

A bucket is always computed anew from what lies below it, never added to. So it does not matter in which pieces a
journal was read, and a history made anew equals the one that grew, to the last bit of its sums.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import msgspec

from clarinet_tui.history.schema import ITERATION_COLUMNS

BASE = 32
RATIO = 16
LEVELS = 4
"""A chart of w columns reads at most 32 w iterations or 16 w buckets, whatever the range."""
INSERT = "INSERT OR REPLACE INTO rollups (run, metric, level, bucket, low, high, total, count, missing) "
Rollup = tuple[float | None, float | None, float, int, int]


def bucket_size(level: int) -> int:
    """How many iterations a bucket holds; level 0 is the iterations themselves."""
    return BASE * RATIO ** (level - 1) if level else 1


def rebuild(connection: sqlite3.Connection, run: str, first: int, last: int, metrics: Iterable[str]) -> None:
    """Every bucket that holds an iteration from `first` to `last`."""
    names = set(metrics)
    lowest, highest = first // BASE, last // BASE
    connection.executemany(
        INSERT + "VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
        list(_lowest_level(connection, run, lowest * BASE, (highest + 1) * BASE, names)),
    )
    for level in range(2, LEVELS + 1):
        lowest, highest = lowest // RATIO, highest // RATIO
        bounds = (run, level - 1, lowest * RATIO, (highest + 1) * RATIO)
        connection.execute(_from_below(len(names)), (*bounds, *names))


def cut(connection: sqlite3.Connection, run: str, beyond: int) -> set[str]:
    """Remove every bucket that reaches beyond an iteration, and name the metrics that had one: rebuild those."""
    rows = connection.execute("SELECT DISTINCT metric FROM rollups WHERE run = ?", (run,)).fetchall()
    metrics = {row[0] for row in rows}
    for metric in metrics:
        for level in range(1, LEVELS + 1):
            connection.execute(
                "DELETE FROM rollups WHERE run = ? AND metric = ? AND level = ? AND bucket >= ?",
                (run, metric, level, (beyond + 1) // bucket_size(level)),
            )
    return metrics


def _lowest_level(
    connection: sqlite3.Connection, run: str, start: int, stop: int, names: set[str]
) -> Iterator[tuple[Any, ...]]:
    """From the iterations, read once for all metrics."""
    known = [name for name in ITERATION_COLUMNS if name in names]
    columns = "".join(f', "{name}"' for name in known)
    cursor = connection.cursor()
    cursor.row_factory = None
    cursor.execute(
        f"""SELECT iteration / {BASE}, other{columns} FROM iterations
        WHERE run = ? AND iteration >= ? AND iteration < ? ORDER BY iteration""",
        (run, start, stop),
    )
    for bucket, rows in groupby(cursor, key=itemgetter(0)):
        _, others, *values = zip(*rows, strict=True)
        elsewhere = _elsewhere(others) if any(others) else {}
        for metric, column in zip(known, values, strict=True):
            rollup = _rollup(column, elsewhere.pop(metric, ()))
            if rollup:
                yield (run, metric, bucket, *rollup)
        for metric, found in elsewhere.items():
            if rollup := _rollup((), found):
                yield (run, metric, bucket, *rollup)


def _elsewhere(others: Sequence[str | None]) -> dict[str, Sequence[Any]]:
    """Metrics of plug-ins, and known ones that are not finite: those are texts."""
    found: dict[str, list[Any]] = {}
    for other in filter(None, others):
        for name, value in msgspec.json.decode(other).items():
            found.setdefault(name, []).append(value)
    return dict(found)


def _rollup(column: Sequence[Any], elsewhere: Sequence[Any]) -> Rollup | None:
    """One metric of one bucket; None where nothing was measured."""
    finite = [value for value in column if value is not None] if None in column else column
    missing = 0
    if elsewhere:
        missing = sum(isinstance(value, str) for value in elsewhere)
        finite = [*finite, *(value for value in elsewhere if not isinstance(value, str))]
    if finite:
        return min(finite), max(finite), float(sum(finite)), len(finite), missing
    return (None, None, 0.0, 0, missing) if missing else None


def _from_below(metrics: int) -> str:
    return (
        INSERT
        + f"""SELECT run, metric, level + 1, bucket / {RATIO} AS above,
            min(low), max(high), total(total), sum(count), sum(missing) FROM rollups
        WHERE run = ? AND level = ? AND bucket >= ? AND bucket < ? AND metric IN ({", ".join("?" * metrics)})
        GROUP BY metric, above"""
    )
