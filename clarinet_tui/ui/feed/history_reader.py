"""Reads the history for the current view: a snapshot for each request, and none if nothing has changed."""

from __future__ import annotations

import itertools
import operator
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from clarinet_tui.history.axes import make_axis_map
from clarinet_tui.history.curves import other_metrics, read_series
from clarinet_tui.history.database import Database, database_path
from clarinet_tui.history.queries import (
    RunRow,
    count_runs,
    get_run,
    is_sortable,
    list_matching_ids,
    list_runs,
    read_evaluations,
    read_events,
    read_open_alarms,
    varied_settings,
)
from clarinet_tui.history.query_language import QueryError, QueryProblem, quote_value
from clarinet_tui.runs.state import RunState
from clarinet_tui.ui.feed.detail_reader import DetailReader
from clarinet_tui.ui.snapshot.references import References
from clarinet_tui.ui.snapshot.snapshot import (
    BoardRequest,
    BoardSnapshot,
    CurvesRequest,
    HistorySnapshot,
    Listing,
    RunCurves,
    RunGroup,
    ViewRequest,
)

if TYPE_CHECKING:
    from clarinet_tui.analysis.board import Board
    from clarinet_tui.analysis.run_records import RunRecord, RunRecords
    from clarinet_tui.chart.curve import Curve
    from clarinet_tui.history.variants import Variant
    from clarinet_tui.ui.feed.compare_reader import CompareReader
    from clarinet_tui.ui.feed.sweep_reader import SweepReader
    from clarinet_tui.ui.snapshot.comparison import ComparisonRequest, ComparisonSnapshot
    from clarinet_tui.ui.snapshot.references import ReferenceRequest
    from clarinet_tui.ui.snapshot.sweep import SweepSnapshot

ENDED = "state:finished,failed,stopped"
MAX_TRENDS = 24
"""Maximum number of running runs with a sparkline."""
QUERY_COLUMNS = ("method", "task", "preset", "device", "host", "stage", "name")
MAX_VALUES = 200
"""Maximum number of values of one field that completion offers."""
SELECT_ALARMS = f"SELECT DISTINCT value FROM runs, json_each(ifnull(runs.alarms, '[]')) ORDER BY 1 LIMIT {MAX_VALUES}"
SELECT_SWEEPS = f"""SELECT DISTINCT config ->> '$.sweep' AS sweep FROM configs
    WHERE sweep <> '' ORDER BY 1 LIMIT {MAX_VALUES}"""
READ_SECONDS = 0.15
"""Maximum time for reading runs in one step; the next step reads more."""
REST_FACTOR = 4.0
"""After a read, runs are not listed again for this many times as long as it took."""
DEFAULT_PRESET = "quick"
"""The preset of a board without runs, and of the launch form."""
MAX_SEARCHED = 200
"""Maximum number of finished runs of a method that are searched for other seeds."""


@dataclass
class HistoryReader:
    """Used by one thread. Opens the database when it exists, and again after it was replaced."""

    runs_dir: Path
    database: Path | None = None
    _db: Database | None = None
    _last_key: tuple[object, ...] | None = None
    _curves: dict[str, RunCurves] = field(default_factory=dict)
    _comparisons: CompareReader | None = None
    """Created on first use: its imports take too long for the list of runs."""
    _sweeps: SweepReader | None = None

    def __post_init__(self) -> None:
        self._details = DetailReader(self.runs_dir)
        self._board, self._references = BoardReader(self.runs_dir), ReferenceReader(self.runs_dir)

    def read(self, request: ViewRequest, *, is_ingested: bool = True, problem: str = "") -> HistorySnapshot | None:
        """Return a snapshot, or None if it would equal the last one."""
        db = self._open()
        version = db.rows("PRAGMA data_version")[0][0] if db else None
        files = self._details.read_files(request.detail) if db else ()
        key = (request, version, id(db.connection) if db else None, is_ingested, problem, files)
        if key == self._last_key and not (self._board.has_more or self.has_more):
            return None
        board = self._board.read(db, request.board)
        snapshot = HistorySnapshot(problem=problem, is_ingested=is_ingested, board=board)
        if db:
            detail, run = request.detail, get_run(db, request.detail.run) if request.detail else None
            self._curves = self._read_all_curves(db, request)
            snapshot = replace(
                snapshot,
                listing=_read_listing(db, request),
                curves=self._curves,
                detail=self._details.read(db, run, detail, files) if detail and run else None,
                comparison=self._read_comparison(db, request.comparison) if request.comparison else None,
                query_values=read_query_values(db) if request.query_values else {},
                references=self._references.read(db, request.references),
                sweep=self._read_sweep(db, request.sweep) if request.sweep else None,
            )
        self._last_key = key
        return snapshot

    @property
    def is_partial(self) -> bool:
        """Whether the last snapshot holds only a part of what was requested."""
        return self._board.is_partial

    @property
    def has_more(self) -> bool:
        """Whether another read gives more, even if no run writes anything."""
        return self.is_partial or self._references.has_more

    def close(self) -> None:
        if self._db:
            self._db.close()
        self._db = self._last_key = self._comparisons = self._sweeps = None
        self._curves = {}
        self._details.close()
        self._board, self._references = BoardReader(self.runs_dir), ReferenceReader(self.runs_dir)

    def _open(self) -> Database | None:
        path = self.database or database_path(self.runs_dir)
        if not path.exists():
            if self._db:
                self.close()
        elif self._db is None:
            self._db = Database.open_read_only(self.runs_dir, path)
        else:
            self._db.reopen_if_replaced()
        return self._db

    def _read_all_curves(self, db: Database, request: ViewRequest) -> dict[str, RunCurves]:
        """Read the curves of runs that have changed; keep the others."""
        curves = {}
        for wanted in request.curves:
            if run := get_run(db, wanted.run):
                last = self._curves.get(run.id)
                is_same = last and (last.run, last.request) == (run, wanted)
                curves[run.id] = last if last and is_same else _read_curves(db, run, wanted)
        return curves

    def _read_comparison(self, db: Database, request: ComparisonRequest) -> ComparisonSnapshot:
        from clarinet_tui.ui.feed.compare_reader import CompareReader

        self._comparisons = self._comparisons or CompareReader(db, self.runs_dir)
        return self._comparisons.read(request)

    def _read_sweep(self, db: Database, name: str) -> SweepSnapshot:
        from clarinet_tui.ui.feed.sweep_reader import SweepReader

        self._sweeps = self._sweeps or SweepReader(db, self.runs_dir)
        return self._sweeps.read(name)


def _read_listing(db: Database, request: ViewRequest) -> Listing:
    """Read one page of runs; among the newest, live runs come first."""
    all_runs, running = count_runs(db), count_runs(db, "state:running")
    sort = request.sort if is_sortable(request.sort) else "created"  # preferences may have a sort of a newer version
    order: dict[str, Any] = {"sort": sort, "descending": request.descending}
    try:
        rows = list_runs(db, request.query, **order, limit=request.limit, offset=request.offset)
        ids = list_matching_ids(db, request.query, **order) if request.ids else []
        total = count_runs(db, request.query) if request.query else all_runs
    except QueryError as error:
        problem = QueryProblem(error.message, error.position)
        return Listing(all_runs=all_runs, running=running, query=request.query, problem=problem)
    if request.offset == 0 and sort == "created":
        rows.sort(key=lambda run: not run.state.is_live)
        ids[: len(rows)] = [run.id for run in rows if request.ids]
    groups = _read_groups(db, request.query) if request.groups else ()
    last = list_runs(db, ENDED, sort="ended", limit=request.ended) if request.ended else []
    ended = tuple(run for run in last if run.ended is not None)  # a run may be cancelled before it starts
    live = [run.id for run in rows if run.state.is_live][:MAX_TRENDS] if request.trends else []
    trends = {run: tuple(read_series(db, run, "target_accuracy").mean.tolist()) for run in live}
    return Listing(
        rows=tuple(rows),
        offset=request.offset,
        total=total,
        all_runs=all_runs,
        running=running,
        query=request.query,
        trends=trends,
        groups=groups,
        ended=ended,
        varied=tuple(varied_settings(rows)),
        ids=tuple(ids),
    )


def _read_groups(db: Database, query: str) -> tuple[RunGroup, ...]:
    """Read the variants of the matching runs, those with the highest mean first."""
    from statistics import fmean, stdev

    from clarinet_tui.history.variants import differing_settings, name_variants, read_variants, variant_query

    variants = read_variants(db, query)
    differing = differing_settings(variants)
    groups = []
    for variant, name in zip(variants, name_variants(variants), strict=True):
        accuracies, names = variant.accuracies, differing[variant.method, variant.preset]
        groups.append(
            RunGroup(
                name=name,
                task=variant.task,
                query=variant_query(variant, names),
                settings={key: (variant.settings or {}).get(key) for key in names},
                runs=len(variant.rows),
                running=sum(row.state is RunState.RUNNING for row in variant.rows),
                measured=len(accuracies),
                mean=fmean(accuracies) if accuracies else None,
                std=stdev(accuracies) if len(accuracies) > 1 else None,
                best=max(accuracies, default=None),
                sweep=next((sweep for row in variant.rows if (sweep := row.settings.get("sweep"))), ""),
            )
        )
    return tuple(sorted(groups, key=lambda group: (group.mean is None, -(group.mean or 0.0), group.name, group.task)))


def _read_curves(db: Database, run: RunRow, request: CurvesRequest) -> RunCurves:
    curves: dict[str, Curve] = {}
    for metric in (*request.metrics, *(other_metrics(db, run.id) if request.others else ())):
        curves[metric] = read_series(db, run.id, metric, width=request.width)
        if request.window and len(curves[metric].x):
            start, stop = int(request.window[0]), int(request.window[1]) + 2
            detail = read_series(db, run.id, metric, start=max(start, 0), stop=max(stop, 1), width=request.width)
            curves[metric] = curves[metric].with_detail(detail)
    evaluations = read_evaluations(db, run.id)
    axis_map = make_axis_map(evaluations, read_events(db, run.id))
    alarms = tuple(read_open_alarms(db, run.id)) if run.alarms else ()
    return RunCurves(run, curves, axis_map, _find_stages(evaluations), request, alarms)


def _find_stages(evaluations: list[dict[str, Any]]) -> tuple[tuple[int, str], ...]:
    """Return where each later stage, or adaptation after a warm-up, begins: at the last evaluation before it."""
    stages = []
    for before, after in itertools.pairwise(evaluations):
        if before["stage"] != after["stage"]:
            stages.append((before["iteration"], after["stage"]))
        elif before["adaptation_epoch"] is None and after["adaptation_epoch"] is not None:
            stages.append((before["iteration"], "adaptation"))
    return tuple(stages)


def read_query_values(db: Database) -> dict[str, tuple[str, ...]]:
    """Return for each field of a query its known values, and those of the runs."""
    from core.methods import methods
    from core.presets import PRESETS
    from core.tasks import OFFLINE_TASK, PAPER_TASKS

    values = {"task": (*PAPER_TASKS, OFFLINE_TASK), "preset": tuple(PRESETS)}
    values["method"] = tuple(methods())
    for column in QUERY_COLUMNS:
        rows = db.tuples(f"SELECT DISTINCT {column} FROM runs WHERE {column} <> '' ORDER BY 1 LIMIT {MAX_VALUES}")
        values[column] = tuple(dict.fromkeys([*values.get(column, ()), *(row[0] for row in rows)]))
    values["alarm"] = tuple(row[0] for row in db.tuples(SELECT_ALARMS))
    values["sweep"] = tuple(row[0] for row in db.tuples(SELECT_SWEEPS))
    values["tag"] = tuple(row[0] for row in db.tuples(f"SELECT DISTINCT tag FROM tags ORDER BY 1 LIMIT {MAX_VALUES}"))
    return values


class BoardReader:
    """Reads the board in short steps, because all views use this thread; keeps the records of unchanged runs."""

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
        self.has_more = self.is_partial = len(records) < len(rows)
        is_unchanged = (
            last is not None
            and last.is_complete
            and last.request == request
            and len(records) == len(self._records)
            and all(map(operator.is_, records, self._records))
        )
        if self.is_partial or not is_unchanged:
            if self.is_partial:
                board = last.board if last else _make_board(request, [])
            else:
                board, self._records = _make_board(request, records), records
            presets = Counter(row.preset for row in rows if row.preset)
            self._last = BoardSnapshot(request, board, presets, len(records), len(rows))
        self._rest_until = self._clock() + REST_FACTOR * (self._clock() - started)
        return self._last

    def _read_records(self, db: Database, rows: list[RunRow]) -> list[RunRecord]:
        """Read records until the time is over, at least one new one; cached records are free."""
        from clarinet_tui.analysis.run_records import RunRecords

        self._run_records = self._run_records or RunRecords(db, self._runs_dir)
        records: list[RunRecord] = []
        deadline = None
        for row in rows:
            if not self._run_records.is_cached(row):
                if deadline is not None and self._clock() > deadline:
                    break
                deadline = deadline or self._clock() + READ_SECONDS
            records.append(self._run_records.record(row))
        return records


def _make_board(request: BoardRequest, records: list[RunRecord]) -> Board:
    from clarinet_tui.analysis.board import board_from_records, most_common_preset

    preset = request.preset or most_common_preset(records) or DEFAULT_PRESET
    return board_from_records(records, rule=request.rule, preset=preset, seeds=request.seeds)


@dataclass
class ReferenceReader:
    """Used by one thread. The first read returns the last references, the second the new ones: curves come first."""

    runs_dir: Path
    has_more: bool = False
    """Whether another read gives more."""
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

    def _read(self, db: Database, run: RunRow, request: ReferenceRequest, finished: tuple[RunRow, ...]) -> References:
        from clarinet_tui.analysis.published import PUBLISHED

        published = PUBLISHED.get((run.method or "", run.task or ""))
        if not finished:
            return References(request, published)
        from clarinet_tui.history.variants import exclude_other_variants, group_runs

        variants = group_runs([run, *finished])
        own = next(variant for variant in variants if run.id in variant.ids)
        excluded = exclude_other_variants([own, *(variant for variant in variants if variant is not own)])
        return References(request, published, *_read_seed_curve(db, own, run), tuple(excluded))


def _read_seed_curve(db: Database, variant: Variant, run: RunRow) -> tuple[tuple[int | None, ...], Curve | None]:
    """Average the newest run of each other seed; NaN where fewer than two of several have a value."""
    from clarinet_tui.analysis.seed_curves import make_seed_band
    from clarinet_tui.chart.curve import Curve

    newest: dict[int | None, RunRow] = {}
    for row in variant.rows:
        if row.state is RunState.FINISHED and row.seed != run.seed:
            newest.setdefault(row.seed, row)
    seeds = tuple(sorted(newest, key=lambda seed: seed or 0))
    if not seeds:
        return (), None
    band = make_seed_band([read_series(db, row.id, "target_accuracy") for row in newest.values()])
    if len(seeds) == 1:
        return seeds, Curve.through(band.x, band.mean, name=f"seed {seeds[0]}")
    name = f"{len(seeds)} other seeds ± std"
    return seeds, Curve.through(band.x, band.mean, *band.edges["std"], name=name, filled=True)
