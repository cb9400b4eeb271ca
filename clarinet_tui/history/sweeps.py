"""Sweeps in the history: a query for one, and the runs that one does not have yet."""

import itertools
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import msgspec

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import count_runs, list_runs
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.history.variants import comparable_settings
from clarinet_tui.queue.sweep import Grid, make_name
from core.config import RunConfig, setting_values


def sweep_query(name: str) -> str:
    return f"sweep:{quote_value(name)}"


def join_sweep(db: Database, grid: Grid, configs: Iterable[RunConfig]) -> tuple[str, list[RunConfig]]:
    """Return the name of the sweep that the runs of a grid belong to, and those of them that it does not have yet.

    It has a run of the same settings and seed, whatever its state. A grid without a name starts a sweep of its own,
    whose name no other sweep has.
    """
    if not grid.name:
        made = make_name(grid)
        numbered = (f"{made}-{number}" for number in itertools.count(2))
        name = next(each for each in itertools.chain([made], numbered) if not count_runs(db, sweep_query(each)))
        return name, [msgspec.structs.replace(config, sweep=name) for config in configs]
    rows = list_runs(db, sweep_query(grid.name), limit=-1)
    existing = {_identity(row.settings) for row in rows if row.settings}
    return grid.name, [config for config in configs if _identity(setting_values(config)) not in existing]


def _identity(settings: Mapping[str, Any]) -> Hashable:
    return settings["seed"], frozenset(comparable_settings(settings).items())
