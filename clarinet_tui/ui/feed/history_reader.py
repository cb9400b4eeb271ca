"""One thread's eyes on the history: reads what is wanted, and says nothing when nothing has changed."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clarinet_tui.history.database import NAME, Database
from clarinet_tui.history.queries import RunRow, count_runs, evaluations, events, get_run, list_runs, series
from clarinet_tui.history.query_language import QueryError
from clarinet_tui.ui.feed.board_reader import BoardReader
from clarinet_tui.ui.feed.compare_reader import CompareReader
from clarinet_tui.ui.feed.detail_reader import DetailReader
from clarinet_tui.ui.feed.query_values import words_of
from clarinet_tui.ui.feed.reference_reader import GhostReader
from clarinet_tui.ui.snapshot.comparison import FAMILIES
from clarinet_tui.ui.snapshot.snapshot import Curves, CurvesWanted, Listing, QueryProblem, Snapshot, Wanted
from clarinet_tui.ui.snapshot.state_style import LIVE

if TYPE_CHECKING:
    from clarinet_tui.history.queries import Series
    from clarinet_tui.ui.snapshot.run_detail import Detail, DetailWanted

MOST_TRENDS = 24
"""Running runs of a page that get a sparkline."""


@dataclass
class Reader:
    """Belongs to one thread. `look` opens the database when it is there, and anew when it was exchanged."""

    runs_dir: Path
    database: Path | None = None
    _db: Database | None = None
    _seen: tuple[object, ...] | None = None
    _curves: dict[CurvesWanted, tuple[RunRow, Curves]] = field(default_factory=dict)

    _families: set[str] = field(default_factory=set)
    """Those of all runs that were listed."""

    def __post_init__(self) -> None:
        self._papers = DetailReader(self.runs_dir)
        self._board = BoardReader(self.runs_dir)
        self._comparer = CompareReader(self.runs_dir)
        self._ghosts = GhostReader(self.runs_dir)

    def look(self, wanted: Wanted, *, settled: bool = True, trouble: str = "") -> Snapshot | None:
        """A snapshot, or None if it would be the same as the last one."""
        db = self._open()
        version = db.rows("PRAGMA data_version")[0][0] if db else None
        glance = self._papers.glance(wanted.detail) if db else ()
        seen = (wanted, version, id(db.connection) if db else None, settled, trouble, glance)
        if seen == self._seen and not (self._board.pending or self._ghosts.pending):
            return None
        board = self._board.look(db, wanted.board)
        snapshot = Snapshot(problem=trouble, settled=settled, board=board)
        if db:
            listing = _listing(db, wanted)
            self._families |= {run.family for run in listing.rows}
            snapshot = Snapshot(
                listing,
                self._all_curves(db, wanted),
                self._detail(db, wanted.detail, glance),
                self._comparer.read(db, wanted.comparison) if wanted.comparison else None,
                words_of(db) if wanted.words else {},
                trouble,
                settled,
                board,
                ghost=self._ghosts.look(db, wanted.ghost),
            )
        self._seen = seen
        return snapshot

    @property
    def cut_short(self) -> bool:
        """Whether the last look has only a part of what is wanted."""
        return self._board.unread

    @property
    def busy(self) -> bool:
        """Whether the next look should come soon: there is more to read, even if no run says anything."""
        return self.cut_short or self._ghosts.pending

    def prepare(self) -> None:
        """Loads what a comparison needs, if the newest runs are something to compare: its view then opens at once."""
        if self._families >= set(FAMILIES):
            self._comparer.prepare()

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = self._seen = None
        self._curves.clear()
        self._papers.close()
        self._board.close()
        self._comparer.close()
        self._ghosts.close()

    def _open(self) -> Database | None:
        path = self.database or self.runs_dir / NAME
        if not path.exists():
            if self._db:
                self.close()
        elif self._db is None:
            self._db = Database.open_read_only(self.runs_dir, path)
        else:
            self._db.renew()
        return self._db

    def _all_curves(self, db: Database, wanted: Wanted) -> dict[str, Curves]:
        """Curves of runs that have said nothing new are not read again."""
        kept: dict[CurvesWanted, tuple[RunRow, Curves]] = {}
        for one in wanted.curves:
            run = get_run(db, one.run)
            if run is None:
                continue
            before = self._curves.get(one)
            kept[one] = before if before and before[0] == run else (run, _read_curves(db, run, one))
        self._curves = kept
        return {one.run: curves for one, (_, curves) in kept.items()}

    def _detail(self, db: Database, wanted: DetailWanted | None, glance: tuple[Any, ...]) -> Detail | None:
        run = get_run(db, wanted.run) if wanted else None
        return self._papers.read(db, run, wanted, glance) if wanted and run else None


def _listing(db: Database, wanted: Wanted) -> Listing:
    """The page that is wanted; live runs come first."""
    everything, running = count_runs(db), count_runs(db, "state:running")
    try:
        rows = list_runs(
            db,
            wanted.query,
            sort=wanted.sort,
            descending=wanted.descending,
            limit=wanted.limit,
            offset=wanted.offset,
        )
        total = count_runs(db, wanted.query) if wanted.query else everything
    except QueryError as error:
        problem = QueryProblem(error.message, error.position)
        return Listing(all_runs=everything, running=running, query=wanted.query, problem=problem)
    if wanted.offset == 0:
        rows.sort(key=lambda run: run.state not in LIVE)
    listing = Listing(tuple(rows), wanted.offset, total, everything, running, wanted.query)
    return replace(listing, trends=_trends(db, rows)) if wanted.trends else listing


def _trends(db: Database, rows: list[RunRow]) -> dict[str, tuple[float, ...]]:
    live = [run.id for run in rows if run.state in LIVE][:MOST_TRENDS]
    return {run: tuple(series(db, run, "target_accuracy").mean.tolist()) for run in live}


def _read_curves(db: Database, run: RunRow, wanted: CurvesWanted) -> Curves:
    from clarinet_tui.ui.snapshot.curves import detailed
    from clarinet_tui.ui.snapshot.x_axes import pace_of

    read: dict[str, Series] = {}
    for metric in wanted.metrics:
        read[metric] = series(db, run.id, metric, width=wanted.width)
        if wanted.window and len(read[metric].x):
            start, stop = int(wanted.window[0]), int(wanted.window[1]) + 2
            part = series(db, run.id, metric, start=max(start, 0), stop=max(stop, 1), width=wanted.width)
            read[metric] = detailed(read[metric], part)
    evaluated = evaluations(db, run.id)
    return Curves(run, read, pace_of(evaluated, events(db, run.id)), _stages(evaluated), wanted)


def _stages(evaluated: list[dict[str, Any]]) -> tuple[tuple[int, str], ...]:
    """Where a later stage, or adaptation after the warm-up, begins: at the last evaluation before it."""
    found = []
    for before, after in itertools.pairwise(evaluated):
        if before["stage"] != after["stage"]:
            found.append((before["iteration"], after["stage"]))
        elif before["adaptation_epoch"] is None and after["adaptation_epoch"] is not None:
            found.append((before["iteration"], "adaptation"))
    return tuple(found)
