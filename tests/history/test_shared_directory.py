"""Two users of one runs directory: a look at its history never locks the owner out."""

import os
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database, database_path
from clarinet_tui.history.queries import list_runs
from clarinet_tui.history.states import update_history
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.users import ALICE, BOB, run_as, shared_directory


def list_history(runs: Path) -> list[str]:
    """Return the name of the database and the runs in it."""
    with Database.open(runs) as db:
        update_history(db, runs)
        return [database_path(runs).name, *sorted(row.id for row in list_runs(db))]


def record_run(runs: Path, name: str) -> None:
    write_events(make_run(runs, name), [started(), step(1)])


@pytest.mark.parametrize(("mode", "umask"), [(0o2775, 0o002), (0o2775, 0o022), (0o1777, 0o022)])
def test_a_colleague_who_lists_the_runs_does_not_lock_the_owner_out(mode: int, umask: int) -> None:
    with shared_directory(mode) as runs:
        run_as(ALICE, record_run, runs, "alice")
        assert run_as(ALICE, list_history, runs) == ["clarinet.db", "alice"]
        assert run_as(BOB, list_history, runs, umask=umask) == [f"clarinet.{BOB}.db", "alice"]
        run_as(BOB, record_run, runs, "bob", umask=umask)
        assert run_as(BOB, list_history, runs, umask=umask) == [f"clarinet.{BOB}.db", "alice", "bob"]
        assert run_as(ALICE, list_history, runs) == ["clarinet.db", "alice", "bob"]
        owners = {path.name: path.stat().st_uid for path in runs.glob("clarinet*")}
        assert all((uid == BOB) == (str(BOB) in name) for name, uid in owners.items()), owners
        assert os.stat(runs / "clarinet.db").st_uid == ALICE  # noqa: PTH116
