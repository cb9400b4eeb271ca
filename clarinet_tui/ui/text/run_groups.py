"""Groups of runs as a table: mean ± std of the target accuracy, and of how many runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from clarinet_tui.tables.table import Cell, Column, Table, make_table
from clarinet_tui.text import format_mean, format_percent, format_task

if TYPE_CHECKING:
    from clarinet_tui.history.queries import GroupField, RunGroup

GROUPINGS: dict[str, tuple[GroupField, ...]] = {
    "method and task": ("method", "task"),
    "method": ("method",),
    "task": ("task",),
}


def group_table(groups: Sequence[RunGroup], fields: Sequence[GroupField]) -> Table:
    """Describe the groups; the number of finished runs is beside their mean: 81.2 ± 1.4 (n=5)."""
    columns = [
        *(Column(name, least=12) for name in fields),
        Column("runs", right=True),
        Column("", name="running"),
        Column("target", right=True),
        Column("best", right=True),
        Column("presets", least=8),
    ]
    rows = []
    for group in groups:
        named = zip(fields, group.values, strict=True)
        names = (format_task(value) if name == "task" else value or "?" for name, value in named)
        mean = format_mean(group.mean, group.std, 1) + (f" (n={group.measured})" if group.measured else "")
        rows.append(
            (
                *(Cell(name, "strong") for name in names),
                Cell(str(group.runs), "muted"),
                Cell(f"▸{group.running}" if group.running else "", "live"),
                Cell(mean),
                Cell(format_percent(group.best), "muted"),
                Cell(", ".join(group.presets), "muted"),
            )
        )
    return make_table(columns, rows)
