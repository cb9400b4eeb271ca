"""Reads comparisons in the feed's thread: selects the runs, and computes their numbers and curves.

Only changes are computed again: numbers when a run was evaluated or has ended, curves of runs that have new values.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clarinet_tui.analysis import comparison
from clarinet_tui.analysis.choices import COMPARED_FAMILIES
from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.analysis.seed_curves import SeedBand, average_runs, read_run_evaluations, run_curve
from clarinet_tui.chart.curve import Curve
from clarinet_tui.history.curves import list_metrics
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, get_run, list_runs
from clarinet_tui.history.query_language import QueryError, QueryProblem
from clarinet_tui.ui.snapshot.comparison import (
    COMPARED_METRICS,
    ComparisonRequest,
    ComparisonSnapshot,
    TaskComparison,
    split_by_task,
)
from core.errors import InputError
from core.metrics import METRICS, level_of

MAX_RUNS = 400
"""Maximum number of compared runs: a query that is still being typed may match everything."""
NO_LIMIT = 2**31


class CompareReader:
    """Used by one thread."""

    def __init__(self, db: Database, runs_dir: Path) -> None:
        self._db, self._records = db, RunRecords(db, runs_dir)
        self._compared: tuple[object, comparison.Comparison, tuple[TaskComparison, ...]] | None = None
        self._curves: dict[tuple[object, ...], tuple[RunRow, Curve]] = {}
        self._last: tuple[object, ComparisonSnapshot] | None = None

    def read(self, request: ComparisonRequest) -> ComparisonSnapshot:
        rows, selected = _select(self._db, request)
        states = [_metric_state(row, request.metric) for row in rows]
        key = (request, states, selected.description, selected.queries, selected.matches, selected.problems)
        if self._last is None or self._last[0] != key:
            self._last = (key, self._compare(rows, selected) if rows else selected)
        return self._last[1]

    def _compare(self, rows: Sequence[RunRow], selected: ComparisonSnapshot) -> ComparisonSnapshot:
        key = (selected.queries or selected.request.runs, [_epoch_state(row) for row in rows])
        if self._compared is None or self._compared[0] != key:
            try:
                if selected.queries:
                    compared = comparison.compare_queries(self._records, *selected.queries)
                else:
                    compared = comparison.compare_runs(self._records, [row.id for row in rows])
            except InputError as error:  # a run was deleted since it was selected
                return replace(selected, description=str(error))
            self._compared = (key, compared, split_by_task(compared))
        snapshot = replace(selected, comparison=self._compared[1], parts=self._compared[2])
        if snapshot.part is None:
            return snapshot
        available = {name for side in snapshot.part.sides for name in list_metrics(self._db, side.runs[0].run)}
        return replace(
            snapshot,
            curves=self._read_curves(snapshot.request, snapshot.part, {row.id: row for row in rows}),
            metrics=(*(name for name in COMPARED_METRICS if name in available), *sorted(available - METRICS.keys())),
        )

    def _read_curves(
        self, request: ComparisonRequest, part: TaskComparison, rows: dict[str, RunRow]
    ) -> dict[int, SeedBand]:
        kept: dict[tuple[object, ...], tuple[RunRow, Curve]] = {}
        bands = {}
        exact = request.axis != "time" and level_of(request.metric) == "evaluation"
        for number, side in enumerate(part.sides):
            curves = {}
            for row in (rows[member.run] for member in side.runs if member.run in rows):
                key = (row.id, request.metric, request.axis, request.width)
                last = self._curves.get(key)
                state = _metric_state(row, request.metric)
                if last is None or last[0] != state:
                    evaluations = read_run_evaluations(self._db, self._records.record(row))
                    last = state, run_curve(self._db, row.id, evaluations, request.metric, request.axis, request.width)
                kept[key], curves[row.id] = last, last[1]
            bands[number] = average_runs(side, curves, exact=exact)
        self._curves = kept
        return bands


def _epoch_state(row: RunRow) -> RunRow:
    """Return the run without what changes every iteration, and without annotations and alarms."""
    return replace(row.without_progress(), tags=(), note="", alarms=())


def _metric_state(row: RunRow, metric: str) -> RunRow:
    """Return what the metric's curve depends on."""
    return _epoch_state(row) if level_of(metric) == "evaluation" else row


def _select(db: Database, request: ComparisonRequest) -> tuple[Sequence[RunRow], ComparisonSnapshot]:
    """Return the runs to compare, and how they were selected; no runs if one of the sides would be empty."""
    if request.queries is not None:
        return _select_by_queries(db, request, request.queries, "")
    if request.runs:
        rows = [row for run in request.runs if (row := get_run(db, run))]
        missing = len(request.runs) - len(rows)
        more = f" ({missing} more are not in the history)" if missing else ""
        return rows, ComparisonSnapshot(request, f"{len(rows)} runs, selected by id{more}")
    if queries := comparison.default_queries(db):
        return _select_by_queries(db, request, queries, comparison.DEFAULT_DESCRIPTION)
    return (), ComparisonSnapshot(request, comparison.NOTHING)


def _select_by_queries(
    db: Database, request: ComparisonRequest, queries: tuple[str, str], sentence: str
) -> tuple[Sequence[RunRow], ComparisonSnapshot]:
    rows: list[RunRow] = []
    matches: list[int] = []
    problems: list[QueryProblem | None] = []
    for query, family in zip(queries, COMPARED_FAMILIES, strict=True):
        try:
            matching = [row for row in list_runs(db, query, limit=NO_LIMIT) if row.family == family]
            problems.append(None)
        except QueryError as error:
            matching = []
            problems.append(QueryProblem(error.message, error.position))
        rows += matching
        matches.append(len(matching))
    empty = [family for family, count in zip(COMPARED_FAMILIES, matches, strict=True) if not count]
    if len(rows) > MAX_RUNS:
        sentence = f"{len(rows)} runs match, at most {MAX_RUNS} can be compared: narrow the queries"
    elif not sentence and any(problems):
        sentence = "A query is invalid"
    elif not sentence and empty:
        sentence = f"No {' and no '.join(empty)} run matches its query"
    selected = ComparisonSnapshot(request, sentence or "Selected by queries", queries, tuple(matches), tuple(problems))
    return (() if empty or len(rows) > MAX_RUNS else rows), selected
