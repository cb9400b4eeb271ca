"""Tables in the app, and the table of groups of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.tables.table import Cell, Column, Table, fit_columns, make_table
from clarinet_tui.text import format_mean, format_percent, format_task
from clarinet_tui.ui.text.styled import Spans, fit_spans, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import GroupField, RunGroup


def format_table(table: Table, width: int, gap: int = 2) -> list[Content]:
    """Return the headings and the rows, each on a line; some columns are cut or dropped as they declare."""
    table = table.visible()
    widths = fit_columns(table.columns, list(map(table.width_of, range(len(table.columns)))), width, gap)
    rows: list[list[Spans]] = [[((column.title, "muted"),) for column in table.columns]]
    rows += [[cell.parts or ((cell.text, cell.emphasis),) for cell in row.cells] for row in table.rows]
    lines = []
    for row in rows:
        fitted = (fit_spans(row[at], size, right=table.columns[at].right) for at, size in widths.items())
        lines.append(styled(*(span for spans in fitted for span in (*spans, (" " * gap, "")))))
    return lines


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
