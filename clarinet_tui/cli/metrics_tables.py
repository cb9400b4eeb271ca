"""A run's numbers in short: its last evaluations, and where each metric of its iterations stands."""

import math
import sys
from typing import TYPE_CHECKING, Any

from clarinet_tui.text import number, printable

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database

LAST = 20
WIDE = 200
"""Columns of a file."""


def print_evaluations(rows: list[dict[str, Any]], names: list[str]) -> None:
    """The last ones."""
    lines = [
        [_shown(row["epoch"]), str(row["iteration"]), row["stage"], *(_shown(row.get(name), name) for name in names)]
        for row in rows[-LAST:]
    ]
    _print(["epoch", "iteration", "stage", *names], lines, "No evaluations yet.")
    if len(rows) > LAST:
        print(f"The last {LAST} of {len(rows)} evaluations; --csv and --json have all.")


def print_summary(database: "Database", run: str, names: list[str], start: int | None, stop: int | None) -> None:
    """A line for each metric."""
    from clarinet_tui.history.metric_summary import RECENT, standing

    lines = []
    for name in names:
        found = standing(database, run, name, start=start, stop=stop)
        if found is not None:
            numbers = (found.last, found.mean, found.least, found.greatest)
            lines.append([name, *map(_shown, numbers), str(found.missing or "")])
    _print(["metric", "last", f"mean of last {RECENT}", "least", "greatest", "not finite"], lines, "No iterations yet.")


def _shown(value: float | None, name: str = "") -> str:
    if value is None:
        return "–"
    if name.endswith("_accuracy") and math.isfinite(value):
        return f"{value:.2f}"
    return str(value) if isinstance(value, int) else number(value)


def _print(titles: list[str], lines: list[list[str]], none: str) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    if not lines:
        console.print(Text(none))
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title in titles:
        words = title in ("metric", "stage")
        table.add_column(Text(printable(title).replace("_", " ")), justify="left" if words else "right")
    for line in lines:
        table.add_row(*(Text(printable(cell), no_wrap=True) for cell in line))
    console.print(table)
