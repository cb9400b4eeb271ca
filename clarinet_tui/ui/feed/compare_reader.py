"""Reads comparisons on the feed's thread: which runs are meant, their numbers, and their curves.

What has not changed since the last look is not computed again: numbers only when a run has been evaluated or has ended,
curves only of runs that have said something.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.history.queries import RunRow, get_run, list_runs, metrics_of
from clarinet_tui.history.query_language import QueryError
from clarinet_tui.history.schema import EVALUATION_METRICS
from clarinet_tui.ui.snapshot.comparison import FAMILIES, MEASURES, Compared, ComparisonWanted, Part, parts_of
from clarinet_tui.ui.snapshot.snapshot import QueryProblem
from clarinet_tui.ui.snapshot.state_style import at_rest

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Curve
    from clarinet_tui.evidence.comparison import Comparison
    from clarinet_tui.evidence.run_records import Archive
    from clarinet_tui.evidence.side_curves import SideCurves, Told
    from clarinet_tui.history.database import Database

COUNTED = "state:finished,running"
NEWEST = 500
"""So many runs are looked through for a task that has been run in one step and in two."""
MOST_RUNS = 400
"""More are not compared: a query that is not finished yet may match everything."""
MOST = 2**31
NOTHING = "Nothing to compare yet: no task has runs of both families, finished or running."


@dataclass(frozen=True)
class _Meant:
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
    _archive: Archive | None = None
    _numbers: tuple[object, Comparison, tuple[Part, ...]] | None = None
    _told: dict[str, tuple[RunRow, Told]] = field(default_factory=dict)
    _curves: dict[tuple[object, ...], tuple[RunRow, Curve]] = field(default_factory=dict)
    _last: tuple[object, Compared] | None = None

    def read(self, db: Database, wanted: ComparisonWanted) -> Compared:
        meant = _meant(db, wanted)
        seen = tuple(map(_unspoken, meant.rows)) if wanted.metric in EVALUATION_METRICS else meant.rows
        stamp = (id(db), wanted, replace(meant, rows=seen))
        if self._last is None or self._last[0] != stamp:
            self._last = (stamp, self._look(db, wanted, meant))
        return self._last[1]

    def prepare(self) -> None:
        """The slowest of what is imported is scipy, for the t distribution."""
        import scipy.special  # noqa: F401

        import clarinet_tui.evidence.comparison
        import clarinet_tui.evidence.side_curves
        import clarinet_tui.ui.screens.compare  # noqa: F401

    def close(self) -> None:
        self._archive = self._numbers = self._last = None
        self._told.clear()
        self._curves.clear()

    def _look(self, db: Database, wanted: ComparisonWanted, meant: _Meant) -> Compared:
        looked = Compared(wanted, meant.sentence, meant.queries, meant.matches, meant.problems)
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
        known = {name for side in looked.part.sides for name in metrics_of(db, side.runs[0].run)}
        return replace(
            looked,
            curves=self._read_curves(db, wanted, looked.part, rows),
            measures=tuple(name for name in MEASURES if name in known),
        )

    def _compare(self, db: Database, wanted: ComparisonWanted, meant: _Meant) -> tuple[Comparison, tuple[Part, ...]]:
        from clarinet_tui.evidence.comparison import compare_queries, compare_runs
        from clarinet_tui.evidence.run_records import Archive

        if self._archive is None or self._archive.db is not db:
            self._archive = Archive(db, self.runs_dir)
        stamp = (id(db), meant.queries or wanted.runs, tuple(map(_unspoken, meant.rows)))
        if self._numbers is None or self._numbers[0] != stamp:
            if meant.queries:
                comparison = compare_queries(self._archive, *meant.queries)
            else:
                comparison = compare_runs(self._archive, [row.id for row in meant.rows])
            self._numbers = (stamp, comparison, parts_of(comparison))
        return self._numbers[1:]

    def _read_curves(
        self, db: Database, wanted: ComparisonWanted, part: Part, rows: dict[str, RunRow]
    ) -> dict[int, SideCurves]:
        from clarinet_tui.evidence.side_curves import side_curves

        kept: dict[tuple[object, ...], tuple[RunRow, Curve]] = {}
        found = {}
        for number, side in enumerate(part.sides):
            curves = {}
            for row in (rows[fact.run] for fact in side.runs if fact.run in rows):
                key = (row.id, wanted.metric, wanted.axis, wanted.width)
                before = self._curves.get(key)
                seen = _unspoken(row) if wanted.metric in EVALUATION_METRICS else row
                kept[key] = before if before and before[0] == seen else (seen, self._curve(db, row, wanted))
                curves[row.id] = kept[key][1]
            found[number] = side_curves(side, curves, wanted.metric, wanted.axis)
        self._curves = kept
        self._told = {run: told for run, told in self._told.items() if run in rows}
        return found

    def _curve(self, db: Database, row: RunRow, wanted: ComparisonWanted) -> Curve:
        from clarinet_tui.evidence.side_curves import curve_of, told_by

        assert self._archive is not None
        known = self._told.get(row.id)
        if known is None or known[0] != _unspoken(row):
            known = self._told[row.id] = (_unspoken(row), told_by(db, self._archive.record(row)))
        return curve_of(db, row.id, known[1], wanted.metric, wanted.axis, wanted.width)


def _unspoken(row: RunRow) -> RunRow:
    """The run without what changes with every iteration while it goes on, and without what people say of it."""
    return replace(at_rest(row), tags=(), note="", alarms=())


def _meant(db: Database, wanted: ComparisonWanted) -> _Meant:
    if wanted.queries is not None:
        return _by_queries(db, wanted.queries, "")
    if wanted.runs:
        return _by_hand(db, wanted.runs)
    chosen = _usual(db)
    return _by_queries(db, *chosen) if chosen else _Meant(sentence=NOTHING, complete=False)


def _by_hand(db: Database, runs: tuple[str, ...]) -> _Meant:
    rows = tuple(row for run in runs if (row := get_run(db, run)))
    gone = len(runs) - len(rows)
    sentence = f"{len(rows)} runs, chosen by hand" + (f" ({gone} more are not in the history)" if gone else "")
    return _Meant(rows, sentence, complete=bool(rows))


def _by_queries(db: Database, queries: tuple[str, str], sentence: str) -> _Meant:
    rows: list[RunRow] = []
    matches: list[int] = []
    problems: list[QueryProblem | None] = []
    for query, family in zip(queries, FAMILIES, strict=True):
        try:
            found = [row for row in list_runs(db, query, limit=MOST) if row.family == family]
        except QueryError as error:
            found = []
            problems.append(QueryProblem(error.message, error.position))
        else:
            problems.append(None)
        rows += found
        matches.append(len(found))
    if not sentence:
        sentence = "Chosen by queries"
        lacking = [family for family, count in zip(FAMILIES, matches, strict=True) if not count]
        if any(problems):
            sentence = "A query cannot be understood"
        elif lacking:
            sentence = f"No {' and no '.join(lacking)} run matches its query"
    if len(rows) > MOST_RUNS:
        sentence = f"{len(rows)} runs match, and at most {MOST_RUNS} are compared at once: say more of them"
    complete = all(matches) and len(rows) <= MOST_RUNS
    return _Meant(tuple(rows), sentence, queries, tuple(matches), tuple(problems), complete)


def _usual(db: Database) -> tuple[tuple[str, str], str] | None:
    """Without being told: all that count of the newest task and preset that both families have."""
    families: dict[tuple[str, str], set[str]] = {}
    for row in list_runs(db, COUNTED, limit=NEWEST):
        if row.task and row.preset:
            families.setdefault((row.task, row.preset), set()).add(row.family)
    place = next((place for place, known in families.items() if known >= set(FAMILIES)), None)
    if place is None:
        return None
    task, preset = map(_quoted, place)
    query = f"task:{task} preset:{preset} {COUNTED}"
    return (query, query), "All that are finished or running, of the newest task with both families"


def _quoted(value: str) -> str:
    plain = all(sign not in value for sign in ' \t\n()",\\')
    return value if plain else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
