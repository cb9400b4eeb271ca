"""Groups of runs by method, task or both, with the mean and standard deviation of their target accuracies."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from clarinet_tui.history.database import Database
from clarinet_tui.history.query_language import compile_query

GroupField = Literal["method", "task"]


@dataclass(frozen=True)
class RunGroup:
    """Runs with the same values. Mean and std are those of `measured` finished runs; std needs two."""

    values: tuple[str | None, ...]
    runs: int
    running: int
    measured: int
    mean: float | None
    std: float | None
    best: float | None
    presets: tuple[str, ...]


def read_run_groups(
    db: Database, query: str, fields: Sequence[GroupField], *, now: float | None = None
) -> list[RunGroup]:
    """Return the groups of the matching runs, those with the highest mean first."""
    where, parameters = compile_query(query, now)
    columns = ", ".join(fields)
    finished = "CASE WHEN state = 'finished' THEN target_accuracy END"
    sql = f"""SELECT {columns}, count(*) AS runs, sum(state = 'running') AS running,
            json_group_array({finished}) AS accuracies,
            json_group_array(DISTINCT preset) AS presets
        FROM runs WHERE {where} GROUP BY {columns} ORDER BY avg({finished}) DESC NULLS LAST, {columns}"""
    return [_make_group(dict(row), fields) for row in db.rows(sql, parameters)]


def _make_group(row: dict[str, object], fields: Sequence[GroupField]) -> RunGroup:
    accuracies = [float(value) for value in json.loads(str(row["accuracies"])) if value is not None]
    presets = tuple(sorted(str(preset) for preset in json.loads(str(row["presets"])) if preset))
    mean = math.fsum(accuracies) / len(accuracies) if accuracies else None
    spread = math.fsum((value - mean) ** 2 for value in accuracies) if mean is not None else 0.0
    return RunGroup(
        values=tuple(None if row[name] is None else str(row[name]) for name in fields),
        runs=int(str(row["runs"])),
        running=int(str(row["running"])),
        measured=len(accuracies),
        mean=mean,
        std=math.sqrt(spread / (len(accuracies) - 1)) if len(accuracies) > 1 else None,
        best=max(accuracies, default=None),
        presets=presets,
    )
