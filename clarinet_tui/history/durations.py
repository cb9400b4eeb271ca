"""How long runs took: what a new one of the same kind may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from clarinet_tui.history.database import Database

Kind = tuple[str, str, str]
"""Method, task and preset."""


@dataclass(frozen=True)
class Duration:
    """The median of training seconds, and of how many runs."""

    seconds: float
    runs: int


def durations(db: Database) -> Mapping[Kind, Duration]:
    """Of finished runs, by kind."""
    found: dict[Kind, list[float]] = {}
    sql = """SELECT method, task, preset, seconds FROM runs
        WHERE state = 'finished' AND seconds > 0 AND method <> '' AND task <> '' AND preset <> ''"""
    for method, task, preset, seconds in db.tuples(sql):
        found.setdefault((method, task, preset), []).append(seconds)
    return {kind: Duration(median(known), len(known)) for kind, known in found.items()}
