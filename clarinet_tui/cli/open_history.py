"""The history as commands open it: up to date."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.queries import RunRow


def open_history(runs_dir: Path) -> "Database":
    """The history, with everything that the journals hold by now, and with runs that were lost known as such."""
    from clarinet_tui.history.database import Database
    from clarinet_tui.history.ingest import ingest_all
    from clarinet_tui.history.states import refresh_states

    database = Database.open(runs_dir)
    ingest_all(database, runs_dir)
    refresh_states(database, runs_dir)
    return database


def find_row(database: "Database", runs_dir: Path, prefix: str) -> "RunRow":
    """The run whose id begins so."""
    from clarinet_tui.history.queries import get_run
    from clarinet_tui.runs.directory import find_run

    row = get_run(database, find_run(runs_dir, prefix).id)
    assert row is not None, "every run directory was just read"
    return row
