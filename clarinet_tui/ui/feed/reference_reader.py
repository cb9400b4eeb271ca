"""Reads the references of a run in the feed's thread: after its curves, and again only when other runs finish."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.curves import read_series
from clarinet_tui.history.queries import RunRow, get_run, list_runs
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.ui.snapshot.references import ReferenceRequest, References

if TYPE_CHECKING:
    from clarinet_tui.analysis.run_records import ComparableRuns, RunRecord, RunRecords
    from clarinet_tui.chart.curve import Curve
    from clarinet_tui.history.database import Database

MAX_SEARCHED = 200
"""Maximum number of finished runs of a method that are searched for other seeds."""


@dataclass
class ReferenceReader:
    """Used by one thread. The first read returns the last references, the second the new ones: curves come first."""

    runs_dir: Path
    has_more: bool = False
    """Whether another read gives more."""
    _records: RunRecords | None = None
    _last: tuple[object, References] | None = None

    def read(self, db: Database, request: ReferenceRequest | None) -> References | None:
        run = get_run(db, request.run) if request else None
        if request is None or run is None:
            self.has_more = False
            return None
        finished: tuple[RunRow, ...] = ()
        if request.seeds and run.task is not None:
            same_method = f"method:{quote_value(run.method or '')} state:finished"
            rows = list_runs(db, same_method, limit=MAX_SEARCHED)
            finished = tuple(
                row for row in rows if (row.method, row.task) == (run.method, run.task) and row.id != run.id
            )
        key = (id(db.connection), request, run.method, run.task, run.state, tuple(row.id for row in finished))
        last = self._last[1] if self._last and self._last[1].request.run == request.run else None
        if self._last and self._last[0] == key:
            self.has_more = False
            return last
        self.has_more = not self.has_more
        if self.has_more:
            return last
        self._last = (key, self._read(db, run, request, finished))
        return self._last[1]

    def close(self) -> None:
        self._records, self._last, self.has_more = None, None, False

    def _read(self, db: Database, run: RunRow, request: ReferenceRequest, finished: tuple[RunRow, ...]) -> References:
        from clarinet_tui.analysis.published import find_published

        published = find_published(run.method, run.task) if run.method and run.task else None
        if not finished:
            return References(request, published)
        from clarinet_tui.analysis.run_records import RunRecords, exclude_other_groups, group_runs

        if self._records is None or self._records.db is not db:
            self._records = RunRecords(db, self.runs_dir)
        groups = group_runs([self._records.record(row) for row in (run, *finished)])
        own_group = next(group for group in groups if run.id in group.ids)
        excluded = exclude_other_groups([own_group, *(group for group in groups if group is not own_group)])
        return References(request, published, *_read_seed_curve(db, own_group, run), tuple(excluded))


def _read_seed_curve(db: Database, group: ComparableRuns, run: RunRow) -> tuple[tuple[int | None, ...], Curve | None]:
    """Average the newest run of each other seed; NaN where fewer than two of several have a value."""
    from clarinet_tui.analysis.seed_curves import make_seed_band
    from clarinet_tui.chart.curve import Curve

    newest: dict[int | None, RunRecord] = {}
    for record in group.records:
        if record.is_finished and record.row.seed != run.seed:
            newest.setdefault(record.row.seed, record)
    seeds = tuple(sorted(newest, key=lambda seed: seed or 0))
    if not seeds:
        return (), None
    band = make_seed_band([read_series(db, record.row.id, "target_accuracy") for record in newest.values()])
    if len(seeds) == 1:
        return seeds, Curve.through(band.x, band.mean, name=f"seed {seeds[0]}")
    name = f"{len(seeds)} other seeds ± std"
    return seeds, Curve.through(band.x, band.mean, *band.edges("std"), name=name, filled=True)
