"""`clarinet ls`, `show` and `compare`: what was recorded."""

import json as json_
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from clarinet_tui.cli.options import RUNS, Json, RunsDir
from clarinet_tui.text import duration, printable

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.queries import RunRow

COLUMNS = ("id", "state", "method", "task", "seed", "preset", "epoch", "target", "source", "pseudo", "time")
ROOMY, WIDE = 90, 200
"""Columns of a terminal that has room for the preset, and of a file."""


def list_(
    query: Annotated[str, typer.Argument(help="Such as: method:clarinet acc>80 state:finished")] = "",
    limit: Annotated[int, typer.Option(min=1, help="At most so many runs.")] = 50,
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """List runs, newest first.

    Example: clarinet ls "method:clarinet task:M->U"
    """
    from clarinet_tui.history.queries import list_runs

    rows = list_runs(_history(runs_dir), query, limit=limit)
    if json:
        print(json_.dumps([_object(row) for row in rows], ensure_ascii=False, indent=2))
        return
    _table(rows)


def show(
    id: Annotated[str, typer.Argument(help="A run's id, or its beginning.")],  # noqa: A002
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Show one run: its state, results and settings.

    Example: clarinet show 6e3
    """
    row = _find(_history(runs_dir), runs_dir, id)
    if json:
        print(json_.dumps(_object(row), ensure_ascii=False, indent=2))
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False)
    for name, value in _object(row).items():
        if value not in (None, "", [], ()):
            console.print(Text.assemble((f"{name:<22}", "dim"), _shown(value)))


def compare(
    ids: Annotated[list[str], typer.Argument(help="Two runs or more.")],
    json: Json = False,
    runs_dir: RunsDir = RUNS,
) -> None:
    """Compare runs side by side.

    Example: clarinet compare 6e3 6e4
    """
    database = _history(runs_dir)
    rows = [_find(database, runs_dir, prefix) for prefix in ids]
    if json:
        print(json_.dumps([_object(row) for row in rows], ensure_ascii=False, indent=2))
        return
    _table(rows)


def reindex(runs_dir: RunsDir = RUNS) -> None:
    """Make the history anew from the runs' journals, which are the truth.

    Example: clarinet reindex
    """
    from rich.progress import Progress

    from clarinet_tui.history.ingest import reindex as make_anew

    with Progress() as bar:
        task = bar.add_task("Reading journals", total=None)
        make_anew(runs_dir, lambda done, total, _: bar.update(task, completed=done, total=total))


def _history(runs_dir: Path) -> "Database":
    """The history, with everything that the journals hold by now."""
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.ingest import ingest_all

    database = Database.open(runs_dir)
    ingest_all(database, runs_dir)
    return database


def _find(database: "Database", runs_dir: Path, prefix: str) -> "RunRow":
    from clarinet_tui.history.queries import get_run
    from clarinet_tui.journal.directory import find_run

    row = get_run(database, find_run(runs_dir, prefix).id)
    assert row is not None, "every run directory was just read"
    return row


def _object(row: "RunRow") -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(row)


def _table(rows: "list[RunRow]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDE)
    if not rows:
        console.print(Text("No runs. The first one: clarinet run --headless"))
        return
    columns = [name for name in COLUMNS if name != "preset" or console.width >= ROOMY]
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in columns:
        right = name in ("epoch", "target", "source", "pseudo", "time")
        table.add_column(name, justify="right" if right else "left", no_wrap=True, overflow="ellipsis")
    for row in rows:
        cells = dict(zip(COLUMNS, _cells(row), strict=True))
        table.add_row(*(Text(printable(cells[name])) for name in columns))
    console.print(table)


def _cells(row: "RunRow") -> tuple[str, ...]:
    return (
        row.id,
        row.state,
        row.method or "?",
        row.task or "?",
        "?" if row.seed is None else str(row.seed),
        row.preset or "?",
        f"{row.epoch or 0}/{row.epochs_total or '?'}",
        _percent(row.target_accuracy),
        _percent(row.source_accuracy),
        _percent(row.pseudo_label_accuracy),
        "" if row.seconds is None else duration(row.seconds),
    )


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _shown(value: Any) -> str:
    return printable(", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value))
