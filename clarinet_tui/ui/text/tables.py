"""Tables in the app, and the table of groups of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.tables.table import Cell, Column, Table, fit_columns, make_table
from clarinet_tui.text import format_mean, format_percent, format_task
from clarinet_tui.ui.text.styled import Spans, fit_spans, styled

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.snapshot import RunGroup


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


def group_table(groups: Sequence[RunGroup]) -> Table:
    """Describe the groups; the number of seeds is beside their mean: 81.2 ± 1.4 (n=5)."""
    columns = [
        Column("method and settings", least=24),
        Column("task", least=5),
        Column("runs", right=True),
        Column("", name="running"),
        Column("target", right=True),
        Column("best", right=True, drop=1),
    ]
    rows = []
    for group in groups:
        mean = format_mean(group.mean, group.std, 1) + (f" (n={group.measured})" if group.measured else "")
        rows.append(
            (
                Cell(group.name, "strong"),
                Cell(format_task(group.task)),
                Cell(str(group.runs), "muted"),
                Cell(f"▸{group.running}" if group.running else "", "live"),
                Cell(mean),
                Cell(format_percent(group.best), "muted"),
            )
        )
    return make_table(columns, rows)
