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

from clarinet_tui.history.schema import ITERATION_METRICS

BASE = 32
RATIO = 16
LEVELS = 4
"""A chart of w columns reads at most 32 w iterations or 16 w buckets, whatever the range."""
INSERT = "INSERT OR REPLACE INTO rollups (run, metric, level, bucket, low, high, total, count, missing) "
Rollup = tuple[float | None, float | None, float, int, int]


def size_of(level: int) -> int:
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
                (run, metric, level, (beyond + 1) // size_of(level)),
            )
    return metrics


def _lowest_level(
    connection: sqlite3.Connection, run: str, start: int, stop: int, names: set[str]
) -> Iterator[tuple[Any, ...]]:
    """From the iterations, read once for all metrics."""
    known = [name for name in ITERATION_METRICS if name in names]
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
        for metric, rollup in _bucket(dict(zip(known, values, strict=True)), others):
            yield (run, metric, bucket, *rollup)


def _bucket(values: dict[str, Sequence[Any]], others: Sequence[str | None]) -> Iterator[tuple[str, Rollup]]:
    """One bucket's metrics. Those in `others` are plug-ins', or known ones that are not finite."""
    elsewhere: dict[str, list[Any]] = {}
    for other in filter(None, others):
        for name, value in msgspec.json.decode(other).items():
            elsewhere.setdefault(name, []).append(value)
    for name in values.keys() | elsewhere.keys():
        finite = [value for value in values.get(name, ()) if value is not None]
        missing = 0
        for value in elsewhere.get(name, ()):
            if isinstance(value, str):
                missing += 1
            else:
                finite.append(value)
        if finite:
            yield name, (min(finite), max(finite), float(sum(finite)), len(finite), missing)
        elif missing:
            yield name, (None, None, 0.0, 0, missing)


def _from_below(metrics: int) -> str:
    return (
        INSERT
        + f"""SELECT run, metric, level + 1, bucket / {RATIO} AS above,
            min(low), max(high), total(total), sum(count), sum(missing) FROM rollups
        WHERE run = ? AND level = ? AND bucket >= ? AND bucket < ? AND metric IN ({", ".join("?" * metrics)})
        GROUP BY metric, above"""
    )
