"""Reads ghosts on the feed's thread: after the curves, and again only when other runs have finished."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.queries import RunRow, evaluations, get_run, list_runs
from clarinet_tui.ui.snapshot.references import Ghost, GhostWanted, Seeds

if TYPE_CHECKING:
    from clarinet_tui.evidence.groups import Group
    from clarinet_tui.evidence.run_records import Archive, Record
    from clarinet_tui.history.database import Database
    from clarinet_tui.ui.snapshot.references import Floats

NEWEST = 200
"""Finished runs of a method and task that are looked at."""


@dataclass
class GhostReader:
    """Belongs to the thread of its reader. What is wanted comes with the look after the one that was asked for."""

    runs_dir: Path
    pending: bool = False
    """Whether another look would see more."""
    _archive: Archive | None = None
    _seen: tuple[object, Ghost] | None = None

    def look(self, db: Database, wanted: GhostWanted | None) -> Ghost | None:
        run = get_run(db, wanted.run) if wanted else None
        if wanted is None or run is None:
            self.pending = False
            return None
        finished = _finished(db, run) if wanted.seeds else ()
        stamp = (id(db.connection), wanted, run.method, run.task, run.state, tuple(row.id for row in finished))
        before = self._seen[1] if self._seen and self._seen[1].wanted.run == wanted.run else None
        if self._seen and self._seen[0] == stamp:
            self.pending = False
            return before
        self.pending = not self.pending
        if self.pending:
            return before
        self._seen = (stamp, self._read(db, run, wanted, finished))
        return self._seen[1]

    def close(self) -> None:
        self._archive, self._seen, self.pending = None, None, False

    def _read(self, db: Database, run: RunRow, wanted: GhostWanted, finished: tuple[RunRow, ...]) -> Ghost:
        from clarinet_tui.evidence.published import published

        number = published(run.method, run.task) if run.method and run.task else None
        if not finished:
            return Ghost(wanted, number)
        from clarinet_tui.evidence.groups import grouped, others
        from clarinet_tui.evidence.run_records import Archive

        if self._archive is None or self._archive.db is not db:
            self._archive = Archive(db, self.runs_dir)
        records = [self._archive.record(row) for row in (run, *finished) if row.id != run.id]
        groups = grouped([self._archive.record(run), *records])
        mine = next(group for group in groups if run.id in group.ids)
        apart = others([mine, *(group for group in groups if group is not mine)])
        return Ghost(wanted, number, _seeds(db, mine, run), tuple(apart))


def _finished(db: Database, run: RunRow) -> tuple[RunRow, ...]:
    """Other runs of the method and task."""
    if run.task is None:
        return ()
    found = list_runs(db, f"method:{_quoted(run.method)} state:finished", limit=NEWEST)
    return tuple(row for row in found if (row.method, row.task) == (run.method, run.task) and row.id != run.id)


def _quoted(value: str | None) -> str:
    return '"' + (value or "").replace("\\", "\\\\").replace('"', '\\"') + '"'


def _seeds(db: Database, group: Group, run: RunRow) -> Seeds | None:
    """The newest run of each other seed; not-a-number where fewer than two of several have a value."""
    from clarinet_tui.evidence.bands import bands

    newest: dict[int | None, Record] = {}
    for record in group.records:
        if record.finished and record.row.seed != run.seed:
            newest.setdefault(record.row.seed, record)
    if not newest:
        return None
    seen = bands([_curve(db, record.row.id) for record in newest.values()])
    low, high = (seen.mean, seen.mean) if len(newest) == 1 else (seen.std_low, seen.std_high)
    return Seeds(tuple(sorted(newest, key=lambda seed: seed or 0)), seen.x, low, high)


def _curve(db: Database, run: str) -> tuple[Floats, Floats]:
    import numpy as np

    rows = [row for row in evaluations(db, run) if row["target_accuracy"] is not None]
    return (
        np.array([row["iteration"] for row in rows], dtype=np.float64),
        np.array([row["target_accuracy"] for row in rows], dtype=np.float64),
    )
