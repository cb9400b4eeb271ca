"""Curves as minimum, maximum and mean of each chart column, in time that does not depend on the run's length."""

from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.rollups import LEVELS, bucket_size
from clarinet_tui.history.schema import EVALUATION_COLUMNS, ITERATION_COLUMNS
from core.metrics import METRICS, level_of

if TYPE_CHECKING:
    from clarinet_tui.chart.curve import Curve, Floats

    Buckets = list[tuple[Floats, ...]]
    """Chunks in order, each of seven arrays: first and last iteration, minimum, maximum, sum, and the counts of the
    finite values and of the others."""


def read_series(
    db: Database, run_id: str, metric: str, *, start: int | None = None, stop: int | None = None, width: int = 200
) -> "Curve":
    """Read the iterations from `start` to before `stop` in at most `width` columns; evaluations one by one.

    The x of a point is the iteration in the middle of its column.
    """
    if level_of(metric) == "evaluation":
        return _read_evaluated(db, run_id, metric, start, stop)
    extent = db.row(
        """SELECT (SELECT iteration FROM iterations WHERE run = :run ORDER BY iteration LIMIT 1),
        (SELECT iteration FROM iterations WHERE run = :run ORDER BY iteration DESC LIMIT 1)""",
        {"run": run_id},
    )
    first, last = extent if extent and extent[0] is not None else (0, -1)
    first, last = max(first, start if start is not None else first), min(last, (stop - 1) if stop is not None else last)
    if last < first:
        return _merge_into_columns([], 0, 1.0)
    span = (last - first + 1) / max(1, width)
    level = max(level for level in range(LEVELS + 1) if bucket_size(level) <= max(1.0, span))
    return _merge_into_columns(_read_buckets(db, run_id, metric, first, last + 1, level), first, max(1.0, span))


def list_metrics(db: Database, run_id: str) -> list[str]:
    """Return the run's metrics: of iterations first, with those of plug-ins last, then of evaluations."""
    rows = db.rows(
        """WITH RECURSIVE names(name) AS (
            SELECT min(metric) FROM rollups WHERE run = :run
            UNION ALL SELECT (SELECT min(metric) FROM rollups WHERE run = :run AND metric > name) FROM names
            WHERE name IS NOT NULL)
        SELECT name FROM names WHERE name IS NOT NULL""",
        {"run": run_id},
    )
    names = {row["name"] for row in rows}
    known = [name for name in ITERATION_COLUMNS if name in names]
    evaluation_metrics = [name for name, metric in METRICS.items() if metric.level == "evaluation"]
    counts = ", ".join(
        f"count({_evaluation_column(name)}) + total(other ->> '{name}' IS NOT NULL)" for name in evaluation_metrics
    )
    row = db.row(f"SELECT {counts} FROM evaluations WHERE run = ?", (run_id,))
    evaluated = [name for name, count in zip(evaluation_metrics, row or (), strict=False) if count]
    return known + sorted(names - set(known)) + evaluated


def other_metrics(db: Database, run_id: str) -> list[str]:
    """Return the run's metrics that the catalogue does not know, those of plug-ins."""
    return [name for name in list_metrics(db, run_id) if name not in METRICS]


def _read_buckets(db: Database, run: str, metric: str, start: int, stop: int, level: int) -> "Buckets":
    """Read the iterations from `start` to before `stop`: whole buckets, and lower levels at both ends."""
    import numpy as np

    if level == 0:
        return _read_raw(db, run, metric, start, stop)
    size = bucket_size(level)
    first, last = -(-start // size), stop // size
    if first >= last:
        return _read_buckets(db, run, metric, start, stop, level - 1)
    rows = db.tuples(
        """SELECT bucket, low, high, total, count, missing FROM rollups
        WHERE run = ? AND metric = ? AND level = ? AND bucket >= ? AND bucket < ?""",
        (run, metric, level, first, last),
    )
    bucket, *numbers = (np.array(column, dtype=float) for column in zip(*rows, strict=True)) if rows else ((),)
    whole = [(np.multiply(bucket, size), np.multiply(bucket, size) + size - 1, *numbers)] if rows else []
    before = _read_buckets(db, run, metric, start, first * size, level - 1) if start < first * size else []
    after = _read_buckets(db, run, metric, last * size, stop, level - 1) if last * size < stop else []
    return before + whole + after


def _read_raw(db: Database, run: str, metric: str, start: int, stop: int) -> "Buckets":
    """Read the iterations themselves; values without a column are in the column `other`."""
    import numpy as np

    column = f'"{metric}"' if metric in ITERATION_COLUMNS else "NULL"
    rows = db.tuples(
        f"""SELECT iteration, {column} AS value, other FROM iterations
        WHERE run = ? AND iteration >= ? AND iteration < ? AND (value IS NOT NULL OR other IS NOT NULL)""",
        (run, start, stop),
    )
    if not rows:
        return []
    iterations, values, others = zip(*rows, strict=True)
    value = np.array(values, dtype=float)
    has_value = np.isfinite(value)
    missing = np.zeros(len(rows))
    for index, other in enumerate(others):
        if other is not None and not has_value[index]:
            stored = msgspec.json.decode(other).get(metric)
            has_value[index] = stored is not None
            missing[index] = isinstance(stored, str)
            value[index] = stored if isinstance(stored, float | int) else np.nan
    iteration, value, missing = np.array(iterations, dtype=float)[has_value], value[has_value], missing[has_value]
    return [(iteration, iteration, value, value, np.where(missing > 0, 0.0, value), 1.0 - missing, missing)]


def _merge_into_columns(buckets: "Buckets", first: int, span: float) -> "Curve":
    """Merge buckets into columns of `span` iterations; empty columns are left out."""
    import numpy as np

    from clarinet_tui.chart.curve import Curve

    starts, ends, low, high, total, count, missing = (
        (np.concatenate(column) for column in zip(*buckets, strict=True)) if buckets else [np.empty(0)] * 7
    )
    if not len(starts):
        return Curve.through([], [])
    edges = np.flatnonzero(np.diff(np.floor((starts - first) / span), prepend=-1.0))
    lasts = np.append(edges[1:], len(starts)) - 1
    finite = np.add.reduceat(count, edges)
    return Curve(
        x=(starts[edges] + ends[lasts]) / 2,
        low=np.fmin.reduceat(low, edges),
        high=np.fmax.reduceat(high, edges),
        mean=np.where(finite > 0, np.add.reduceat(total, edges) / np.maximum(finite, 1), np.nan),
        missing=np.add.reduceat(missing, edges),
    )


def _evaluation_column(metric: str) -> str:
    return f'"{metric}"' if metric in EVALUATION_COLUMNS else "NULL"


def _read_evaluated(db: Database, run: str, metric: str, start: int | None, stop: int | None) -> "Curve":
    """Read a metric of evaluations, one point for each."""
    import numpy as np

    from clarinet_tui.chart.curve import Curve

    rows: list[Any] = db.rows(
        f"""SELECT iteration, {_evaluation_column(metric)} AS value, other ->> '{metric}' AS from_other FROM evaluations
        WHERE run = ? AND iteration >= ? AND iteration < ? AND (value IS NOT NULL OR from_other IS NOT NULL)
        ORDER BY iteration, epoch""",
        (run, start if start is not None else 0, stop if stop is not None else 2**62),
    )
    x = np.array([row["iteration"] for row in rows], dtype=float)
    stored = (row["from_other"] if row["value"] is None else row["value"] for row in rows)
    values = np.array([value if isinstance(value, float | int) else None for value in stored], dtype=float)
    return Curve.through(x, values)
