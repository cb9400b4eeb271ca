"""Reads the board for its view. Belongs to the feed's thread, and never keeps it for long: other views wait there."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.ui.snapshot.board import BoardSeen, BoardWanted
from clarinet_tui.ui.snapshot.state_style import at_rest

if TYPE_CHECKING:
    from clarinet_tui.evidence.board import Board
    from clarinet_tui.evidence.run_records import Archive, Record
    from clarinet_tui.history.database import Database

BUDGET = 0.15
"""Seconds of one look in which runs are read; the others have their turn in the next look."""
LEISURE = 4.0
"""After a look, runs are not listed again for this many times as long as it took."""
FIRST_PRESET = "quick"
"""Where there are no runs: the launch form begins with it, too."""


class BoardReader:
    """Remembers runs that have said nothing new, and the board that was made of them."""

    def __init__(self, runs_dir: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._runs_dir, self._clock = runs_dir, clock
        self._archive: Archive | None = None
        self._records: list[Record] = []
        self._last: BoardSeen | None = None
        self._rests_until = float("-inf")
        self.pending = False
        """Whether another look would tell more, even if nothing changes."""
        self.unread = False
        """Whether runs are still to be read, so that it should come soon."""

    def look(self, db: Database | None, wanted: BoardWanted | None) -> BoardSeen | None:
        self.pending = self.unread = False
        if wanted is None:
            return None
        began, last = self._clock(), self._last
        if last and last.wanted == wanted and last.whole and began < self._rests_until:
            self.pending = True
            return last
        rows = [at_rest(row) for row in list_runs(db, limit=2**31)] if db else []
        records = self._read(db, rows) if db else []
        self._last = self._seen(wanted, rows, records)
        self._rests_until = self._clock() + LEISURE * (self._clock() - began)
        return self._last

    def close(self) -> None:
        self._archive, self._last, self._records = None, None, []
        self.pending = self.unread = False

    def _read(self, db: Database, rows: list[RunRow]) -> list[Record]:
        """As many as there is time for, one new at least; what was read before takes none."""
        from clarinet_tui.evidence.run_records import Archive

        if self._archive is None or self._archive.db is not db:
            self._archive = Archive(db, self._runs_dir)
        records: list[Record] = []
        limit = None
        for row in rows:
            if not self._archive.knows(row):
                if limit is not None and self._clock() > limit:
                    break
                limit = limit or self._clock() + BUDGET
            records.append(self._archive.record(row))
        return records

    def _seen(self, wanted: BoardWanted, rows: list[RunRow], records: list[Record]) -> BoardSeen:
        last = self._last
        presets = Counter(row.preset for row in rows if row.preset)
        self.pending = self.unread = len(records) < len(rows)
        if self.unread:
            board = last.board if last else _make(wanted, [])
        elif last and last.whole and last.wanted == wanted and _same(records, self._records):
            return last
        else:
            board, self._records = _make(wanted, records), records
        return BoardSeen(wanted, board, presets, len(records), len(rows))


def _same(records: list[Record], before: list[Record]) -> bool:
    return len(records) == len(before) and all(one is two for one, two in zip(records, before, strict=True))


def _make(wanted: BoardWanted, records: list[Record]) -> Board:
    from clarinet_tui.evidence.board import board_of, usual_preset

    preset = wanted.preset or usual_preset(records) or FIRST_PRESET
    return board_of(records, rule=wanted.rule, preset=preset, seeds=wanted.seeds)
