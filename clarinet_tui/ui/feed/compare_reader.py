"""Reads comparisons on the feed's thread: which runs are meant, their numbers, and their curves.

What has not changed since the last look is not computed again: numbers only when a run has been evaluated or has ended,
curves only of runs that have said something.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.queries import RunRow, get_run, list_runs, list_metrics
from clarinet_tui.history.query_language import QueryError
from clarinet_tui.ui.snapshot.comparison import COMPARED_FAMILIES, MEASURES, ComparisonSnapshot, ComparisonRequest, TaskComparison, split_by_task
from clarinet_tui.ui.snapshot.snapshot import QueryProblem
from core.metrics import level_of

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Points
    from clarinet_tui.evidence.comparison import Comparison
    from clarinet_tui.evidence.run_records import RunRecords
    from clarinet_tui.evidence.side_curves import RunEvaluations, SideCurves
    from clarinet_tui.history.database import Database

COUNTED_STATES = "state:finished,running"
MAX_SEARCHED = 500
"""So many runs are looked through for a task that has been run in one step and in two."""
MAX_RUNS = 400
"""More are not compared: a query that is not finished yet may match everything."""
NO_LIMIT = 2**31
NOTHING = "Nothing to compare yet: no task has runs of both families, finished or running."


@dataclass(frozen=True)
class _Selection:
    """The runs of a look, and how they were chosen."""

    rows: tuple[RunRow, ...] = ()
    sentence: str = ""
    queries: tuple[str, str] | None = None
    matches: tuple[int, ...] = ()
    problems: tuple[QueryProblem | None, ...] = ()
    complete: bool = True
    """Whether there is something on both sides."""


@dataclass
class CompareReader:
    """Belongs to the thread of its reader."""

    runs_dir: Path
    _archive: RunRecords | None = None
    _comparison: tuple[object, Comparison, tuple[TaskComparison, ...]] | None = None
    _costs: dict[str, tuple[RunRow, RunEvaluations]] = field(default_factory=dict)
    _curves: dict[tuple[object, ...], tuple[RunRow, Points]] = field(default_factory=dict)
    _last: tuple[object, ComparisonSnapshot] | None = None

    def read(self, db: Database, wanted: ComparisonRequest) -> ComparisonSnapshot:
        meant = _select(db, wanted)
        seen = tuple(map(_epoch_state, meant.rows)) if level_of(wanted.metric) == "evaluation" else meant.rows
        stamp = (id(db), wanted, replace(meant, rows=seen))
        if self._last is None or self._last[0] != stamp:
            self._last = (stamp, self._read(db, wanted, meant))
        return self._last[1]

    def prepare(self) -> None:
        """The slowest of what is imported is scipy, for the t distribution."""
        import scipy.special  # noqa: F401

        import clarinet_tui.evidence.comparison
        import clarinet_tui.evidence.side_curves
        import clarinet_tui.ui.screens.compare  # noqa: F401

    def close(self) -> None:
        self._archive = self._comparison = self._last = None
        self._costs.clear()
        self._curves.clear()

    def _read(self, db: Database, wanted: ComparisonRequest, meant: _Selection) -> ComparisonSnapshot:
        looked = ComparisonSnapshot(wanted, meant.sentence, meant.queries, meant.matches, meant.problems)
        if not meant.complete:
            return looked
        from core.errors import InputError

        try:
            comparison, parts = self._compare(db, wanted, meant)
        except InputError as error:  # a run was taken away between two looks
            return replace(looked, sentence=str(error))
        looked = replace(looked, comparison=comparison, parts=parts)
        if looked.part is None:
            return looked
        rows = {row.id: row for row in meant.rows}
        known = {name for side in looked.part.sides for name in list_metrics(db, side.runs[0].run)}
        return replace(
            looked,
            curves=self._read_curves(db, wanted, looked.part, rows),
            measures=tuple(name for name in MEASURES if name in known),
        )

    def _compare(self, db: Database, wanted: ComparisonRequest, meant: _Selection) -> tuple[Comparison, tuple[TaskComparison, ...]]:
        from clarinet_tui.evidence.comparison import compare_queries, compare_runs
        from clarinet_tui.evidence.run_records import RunRecords

        if self._archive is None or self._archive.db is not db:
            self._archive = RunRecords(db, self.runs_dir)
        stamp = (id(db), meant.queries or wanted.runs, tuple(map(_epoch_state, meant.rows)))
        if self._comparison is None or self._comparison[0] != stamp:
            if meant.queries:
                comparison = compare_queries(self._archive, *meant.queries)
            else:
                comparison = compare_runs(self._archive, [row.id for row in meant.rows])
            self._comparison = (stamp, comparison, split_by_task(comparison))
        return self._comparison[1:]

    def _read_curves(
        self, db: Database, wanted: ComparisonRequest, part: TaskComparison, rows: dict[str, RunRow]
    ) -> dict[int, SideCurves]:
        from clarinet_tui.evidence.side_curves import make_side_curves

        kept: dict[tuple[object, ...], tuple[RunRow, Points]] = {}
        found = {}
        for number, side in enumerate(part.sides):
            curves = {}
            for row in (rows[fact.run] for fact in side.runs if fact.run in rows):
                key = (row.id, wanted.metric, wanted.axis, wanted.width)
                before = self._curves.get(key)
                seen = _epoch_state(row) if level_of(wanted.metric) == "evaluation" else row
                kept[key] = before if before and before[0] == seen else (seen, self._curve(db, row, wanted))
                curves[row.id] = kept[key][1]
            found[number] = make_side_curves(side, curves, wanted.metric, wanted.axis)
        self._curves = kept
        self._costs = {run: told for run, told in self._costs.items() if run in rows}
        return found

    def _curve(self, db: Database, row: RunRow, wanted: ComparisonRequest) -> Points:
        from clarinet_tui.evidence.side_curves import read_run_evaluations, run_curve

        assert self._archive is not None
        known = self._costs.get(row.id)
        if known is None or known[0] != _epoch_state(row):
            known = self._costs[row.id] = (_epoch_state(row), read_run_evaluations(db, self._archive.record(row)))
        return run_curve(db, row.id, known[1], wanted.metric, wanted.axis, wanted.width)


def _epoch_state(row: RunRow) -> RunRow:
    """The run without what changes with every iteration while it goes on, and without what people say of it."""
    return replace(row.without_progress(), tags=(), note="", alarms=())


def _select(db: Database, wanted: ComparisonRequest) -> _Selection:
    if wanted.queries is not None:
        return _select_by_queries(db, wanted.queries, "")
    if wanted.runs:
        return _select_by_id(db, wanted.runs)
    chosen = _default_queries(db)
    return _select_by_queries(db, *chosen) if chosen else _Selection(sentence=NOTHING, complete=False)


def _select_by_id(db: Database, runs: tuple[str, ...]) -> _Selection:
    rows = tuple(row for run in runs if (row := get_run(db, run)))
    gone = len(runs) - len(rows)
    sentence = f"{len(rows)} runs, chosen by hand" + (f" ({gone} more are not in the history)" if gone else "")
    return _Selection(rows, sentence, complete=bool(rows))


def _select_by_queries(db: Database, queries: tuple[str, str], sentence: str) -> _Selection:
    rows: list[RunRow] = []
    matches: list[int] = []
    problems: list[QueryProblem | None] = []
    for query, family in zip(queries, COMPARED_FAMILIES, strict=True):
        try:
            found = [row for row in list_runs(db, query, limit=NO_LIMIT) if row.family == family]
        except QueryError as error:
            found = []
            problems.append(QueryProblem(error.message, error.position))
        else:
            problems.append(None)
        rows += found
        matches.append(len(found))
    if not sentence:
        sentence = "Chosen by queries"
        lacking = [family for family, count in zip(COMPARED_FAMILIES, matches, strict=True) if not count]
        if any(problems):
            sentence = "A query cannot be understood"
        elif lacking:
            sentence = f"No {' and no '.join(lacking)} run matches its query"
    if len(rows) > MAX_RUNS:
        sentence = f"{len(rows)} runs match, and at most {MAX_RUNS} are compared at once: say more of them"
    complete = all(matches) and len(rows) <= MAX_RUNS
    return _Selection(tuple(rows), sentence, queries, tuple(matches), tuple(problems), complete)


def _default_queries(db: Database) -> tuple[tuple[str, str], str] | None:
    """Without being told: all that count of the newest task and preset that both families have."""
    families: dict[tuple[str, str], set[str]] = {}
    for row in list_runs(db, COUNTED_STATES, limit=MAX_SEARCHED):
        if row.task and row.preset:
            families.setdefault((row.task, row.preset), set()).add(row.family)
    place = next((place for place, known in families.items() if known >= set(COMPARED_FAMILIES)), None)
    if place is None:
        return None
    task, preset = map(_quoted, place)
    query = f"task:{task} preset:{preset} {COUNTED_STATES}"
    return (query, query), "All that are finished or running, of the newest task with both families"


def _quoted(value: str) -> str:
    plain = all(sign not in value for sign in ' \t\n()",\\')
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
