"""How long a run that goes on still takes: an iteration of adaptation costs several of warm-up, so others are asked."""

from collections.abc import Mapping
from typing import Any

from clarinet_tui.history.database import Database

_ALIKE = """SELECT other.seconds,
        (SELECT seconds FROM iterations WHERE run = other.id AND iteration = :iteration) AS then_,
        ifnull((SELECT seconds FROM iterations WHERE run = other.id AND iteration = :given), 0) AS begun
    FROM (SELECT id, seconds, ended FROM runs
        WHERE state = 'finished' AND method = :method AND task = :task AND preset = :preset
            AND iterations_total = :total
        ORDER BY ended DESC LIMIT 5) AS other
    WHERE then_ > begun AND other.seconds >= then_
        AND (SELECT min(iteration) - 1 FROM iterations WHERE run = other.id) IN (0, :given)
    ORDER BY other.ended DESC LIMIT 1"""
"""The newest finished run of the same kind and length: its time when it stood where this one stands, and in all.

A stage 1 that this run was given does not count in the other either, which may have made its own.
"""


def time_left(db: Database, run: Mapping[str, Any]) -> float | None:
    """Seconds: as the run alike went on from here, at this run's own speed; where there is none, as it did itself."""
    if run["state"] != "running":
        return None
    names = ("iterations_total", "iteration", "iterations_given", "seconds")
    total, iteration, given, seconds = (run[name] or 0 for name in names)
    if iteration <= given or not total or not seconds:
        return None
    kind = {name: run[name] for name in ("method", "task", "preset")}
    alike = db.row(_ALIKE, kind | {"total": total, "iteration": iteration, "given": given})
    if alike:
        whole, then, begun = alike
        return float((whole - then) * seconds / (then - begun))
    return float(max(total - iteration, 0) * seconds / (iteration - given))
