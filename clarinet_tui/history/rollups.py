"""Rollups: least, greatest, sum and count of each metric over buckets of iterations, in levels.

A bucket is always computed anew from what lies below it, never added to. So it does not matter in which pieces a
journal was read, and a history made anew equals the one that grew.
"""

import sqlite3
from collections.abc import Iterable

from clarinet_tui.history.schema import ITERATION_METRICS

BASE = 64
RATIO = 16
LEVELS = 4
INSERT = "INSERT OR REPLACE INTO rollups (run, metric, level, bucket, low, high, total, count, missing) "


def size_of(level: int) -> int:
    """How many iterations a bucket holds; level 0 is the iterations themselves."""
    return BASE * RATIO ** (level - 1) if level else 1


def rebuild(connection: sqlite3.Connection, run: str, first: int, last: int, metrics: Iterable[str]) -> None:
    """Every bucket that holds an iteration from `first` to `last`."""
    names = set(metrics)
    lowest, highest = first // BASE, last // BASE
    bounds = (run, lowest * BASE, (highest + 1) * BASE)
    for metric in names & set(ITERATION_METRICS):
        connection.execute(_from_iterations(metric), bounds)
    if names - set(ITERATION_METRICS):
        connection.execute(_FROM_OTHER, bounds)
    for level in range(2, LEVELS + 1):
        lowest, highest = lowest // RATIO, highest // RATIO
        for metric in names:
            connection.execute(_FROM_BELOW, (run, metric, level - 1, lowest * RATIO, (highest + 1) * RATIO))


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


def _from_iterations(metric: str) -> str:
    return (
        INSERT
        + f"""SELECT run, '{metric}', 1, iteration / {BASE} AS bucket,
            min("{metric}"), max("{metric}"), total("{metric}"), count("{metric}") AS finite,
            total("{metric}" IS NULL AND other IS NOT NULL AND json_type(other, '$.{metric}') IS NOT NULL) AS missed
        FROM iterations WHERE run = ? AND iteration >= ? AND iteration < ?
        GROUP BY bucket HAVING finite > 0 OR missed > 0"""
    )


_KNOWN = ", ".join(f"'{name}'" for name in ITERATION_METRICS)
_FROM_OTHER = (
    INSERT
    + f"""SELECT run, key, 1, iteration / {BASE} AS bucket,
        min(value) FILTER (WHERE type <> 'text'), max(value) FILTER (WHERE type <> 'text'),
        total(value) FILTER (WHERE type <> 'text'), count(*) FILTER (WHERE type <> 'text'),
        count(*) FILTER (WHERE type = 'text')
    FROM iterations, json_each(iterations.other)
    WHERE run = ? AND iteration >= ? AND iteration < ? AND other IS NOT NULL AND key NOT IN ({_KNOWN})
    GROUP BY key, bucket"""
)
_FROM_BELOW = (
    INSERT
    + f"""SELECT run, metric, level + 1, bucket / {RATIO} AS above,
        min(low), max(high), total(total), sum(count), sum(missing)
    FROM rollups WHERE run = ? AND metric = ? AND level = ? AND bucket >= ? AND bucket < ?
    GROUP BY above"""
)
