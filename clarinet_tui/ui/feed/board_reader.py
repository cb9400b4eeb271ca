"""Reads the board in the feed's thread, in short steps: other views use the same thread."""

from __future__ import annotations

import operator
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.ui.snapshot.snapshot import BoardRequest, BoardSnapshot

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board
    from clarinet_tui.analysis.run_records import RunRecord, RunRecords
    from clarinet_tui.history.database import Database

READ_SECONDS = 0.15
"""Maximum time for reading runs in one step; the next step reads more."""
REST_FACTOR = 4.0
"""After a read, runs are not listed again for this many times as long as it took."""
DEFAULT_PRESET = "quick"
"""The preset of a board without runs, and of the launch form."""


class BoardReader:
    """Keeps the records of unchanged runs, and the board made from them."""

    def __init__(self, runs_dir: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._runs_dir, self._clock = runs_dir, clock
        self._run_records: RunRecords | None = None
        self._records: list[RunRecord] = []
        self._last: BoardSnapshot | None = None
        self._rest_until = float("-inf")
        self.has_more = False
        """Whether another read may give more, even if the history does not change."""
        self.is_partial = False
        """Whether runs are still to be read, so that the next read should come soon."""

    def read(self, db: Database | None, request: BoardRequest | None) -> BoardSnapshot | None:
        self.has_more = self.is_partial = False
        if request is None:
            return None
        started, last = self._clock(), self._last
        if last and last.request == request and last.is_complete and started < self._rest_until:
            self.has_more = True
            return last
        rows = [row.without_progress() for row in list_runs(db, limit=2**31)] if db else []
        records = self._read_records(db, rows) if db else []
        self._last = self._make_snapshot(request, rows, records)
        self._rest_until = self._clock() + REST_FACTOR * (self._clock() - started)
        return self._last

    def close(self) -> None:
        self._run_records, self._last, self._records = None, None, []
        self.has_more = self.is_partial = False

    def _read_records(self, db: Database, rows: list[RunRow]) -> list[RunRecord]:
        """Read records until the time is over, at least one new one; cached records are free."""
        from clarinet_tui.analysis.run_records import RunRecords

        if self._run_records is None or self._run_records.db is not db:
            self._run_records = RunRecords(db, self._runs_dir)
        records: list[RunRecord] = []
        deadline = None
        for row in rows:
            if not self._run_records.is_cached(row):
                if deadline is not None and self._clock() > deadline:
                    break
                deadline = deadline or self._clock() + READ_SECONDS
            records.append(self._run_records.record(row))
        return records

    def _make_snapshot(self, request: BoardRequest, rows: list[RunRow], records: list[RunRecord]) -> BoardSnapshot:
        last = self._last
        presets = Counter(row.preset for row in rows if row.preset)
        self.has_more = self.is_partial = len(records) < len(rows)
        if self.is_partial:
            board = last.board if last else _make_board(request, [])
        elif (
            last
            and last.is_complete
            and last.request == request
            and len(records) == len(self._records)
            and all(map(operator.is_, records, self._records))
        ):
            return last
        else:
            board, self._records = _make_board(request, records), records
        return BoardSnapshot(request, board, presets, len(records), len(rows))


def _make_board(request: BoardRequest, records: list[RunRecord]) -> Board:
    from clarinet_tui.analysis.board import board_from_records, most_common_preset

    preset = request.preset or most_common_preset(records) or DEFAULT_PRESET
    return board_from_records(records, rule=request.rule, preset=preset, seeds=request.seeds)
