"""The paper's board from history: tasks × methods, each cell with its runs, its mean and the published mean."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, Unpack

from clarinet_tui.analysis.board_cells import Cell, CountOptions, make_cell
from clarinet_tui.analysis.choices import RULES, Rule
from clarinet_tui.analysis.groups import UNREADABLE, ExcludedRuns
from clarinet_tui.analysis.published import (
    ABLATION_METHODS,
    ABLATIONS,
    CONTROLS,
    MAIN_METHODS,
    PUBLISHED_CAUTION,
    SEEDS,
)
from clarinet_tui.analysis.run_records import RunRecord, RunRecords
from clarinet_tui.analysis.selection import ORACLE, describe_rule
from core.errors import InputError
from core.methods import find_method
from core.presets import PRESETS
from core.tasks import PAPER_TASKS

PAPER_PRESETS = frozenset({"paper", "literal"})
TableKind = Literal["main", "ablation", "own", "no-adaptation", "reference", "other"]
TABLE_TITLES: dict[TableKind, str] = {
    "main": "One step against two",
    "ablation": "Ablations",
    "own": "BASSET and its controls",
    "no-adaptation": "No adaptation",
    "reference": "References with true labels",
    "other": "Other methods",
}
OWN_METHODS = tuple(name for method, controls in CONTROLS.items() for name in (method, *controls))


@dataclass(frozen=True)
class Average:
    """A method's mean over the paper's tasks that are complete."""

    mean: float
    tasks: tuple[str, ...]
    published: float | None
    """Over the same tasks."""


@dataclass(frozen=True)
class MethodTable:
    """One table of the board; the best method of a row is the best among its methods."""

    kind: TableKind
    methods: tuple[str, ...]

    @property
    def title(self) -> str:
        return TABLE_TITLES[self.kind]


@dataclass(frozen=True)
class Board:
    tasks: tuple[str, ...]
    tables: tuple[MethodTable, ...]
    cells: Mapping[tuple[str, str], Cell]
    """By method and task."""
    averages: Mapping[str, Average]
    rule: Rule
    seeds: int
    preset: str | None
    """None for all presets, or without runs."""
    mix: bool
    query: str
    excluded: tuple[ExcludedRuns, ...]
    """Runs that are in no cell."""

    @property
    def methods(self) -> list[str]:
        """In the order of the tables."""
        return list(dict.fromkeys(method for method, _ in self.cells))

    @property
    def is_comparable(self) -> bool:
        """Whether the runs follow the protocol of the published numbers."""
        return self.preset in PAPER_PRESETS

    @property
    def uses_oracle(self) -> bool:
        """Whether epochs were selected by target labels."""
        return self.rule == ORACLE

    def best(self, task: str, methods: Sequence[str]) -> frozenset[str]:
        """Return the methods with the highest mean of a row, none if only one has a mean."""
        means = {method: mean for method in methods if (mean := self.cells[method, task].summary.mean) is not None}
        return _highest(means)

    def best_average(self, methods: Sequence[str]) -> frozenset[str]:
        """Return the methods with the highest average, none if the averages are over different tasks."""
        averages = {method: self.averages[method] for method in methods if method in self.averages}
        comparable = len({average.tasks for average in averages.values()}) == 1
        return _highest({method: average.mean for method, average in averages.items()}) if comparable else frozenset()

    @property
    def conditions(self) -> tuple[str, ...]:
        """How epochs were selected, and the preset."""
        selected = f"Accuracies are of the {describe_rule('last')}."
        if self.rule != "last":
            selected = (
                f"Epochs are selected by {describe_rule(self.rule)}; the published numbers are of the last epoch."
            )
        if self.preset in PAPER_PRESETS:
            return (selected, f"Preset {self.preset}.")
        if self.preset is None and not self.mix:
            return ("No run matches." if self.query else "There are no runs yet.",)
        return (selected, f"Preset {self.preset or 'mixed'}: not the protocol of the published numbers.")

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.conditions, *self.remarks(self.methods))

    def remarks(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Notes on the results of some methods: published numbers, data, changed settings, mixed runs."""
        cells = [cell for cell in self.cells.values() if cell.results and cell.method in methods]
        caution = (PUBLISHED_CAUTION,) if any(cell.published for cell in cells) else ()
        return (*caution, *_merge_notes(cells))

    def table_of(self, method: str) -> MethodTable:
        """The first table with this method."""
        return next(table for table in self.tables if method in table.methods)


def make_board(
    reader: RunRecords, query: str = "", *, preset: str | None = None, **options: Unpack[CountOptions]
) -> Board:
    """Make the board of all matching runs."""
    if preset is not None and preset not in PRESETS:
        raise InputError(f"preset: expected one of {', '.join(PRESETS)}, got {preset!a}")
    if (rule := options.get("rule", "last")) not in RULES:
        raise InputError(f"selection: expected one of {', '.join(RULES)}, got {rule!a}")
    return board_from_records(reader.search(query), query, preset=preset, **options)


def board_from_records(
    records: Sequence[RunRecord], query: str = "", *, preset: str | None = None, **options: Unpack[CountOptions]
) -> Board:
    """Make the board of records, newest first; the default preset is that of most finished runs, or all with `mix`."""
    mix = options.get("mix", False)
    preset = preset or (None if mix else most_common_preset(records))
    included = [record for record in records if preset is None or record.row.preset == preset]
    by_cell: dict[tuple[str, str], list[RunRecord]] = {}
    for record in included:
        if record.row.method and record.row.task:
            by_cell.setdefault((record.row.method, record.row.task), []).append(record)
    tasks = (*PAPER_TASKS, *sorted({task for _, task in by_cell} - set(PAPER_TASKS)))
    tables = _tables({method for method, _ in by_cell})
    cells = {
        (method, task): make_cell(task, method, by_cell.get((method, task), []), **options)
        for method in dict.fromkeys(method for table in tables for method in table.methods)
        for task in tasks
    }
    return Board(
        tasks=tasks,
        tables=tables,
        cells=cells,
        averages=_averages(cells),
        rule=options.get("rule", "last"),
        seeds=options.get("seeds", SEEDS),
        preset=preset,
        mix=mix,
        query=query,
        excluded=_excluded(records, included),
    )


def most_common_preset(records: Sequence[RunRecord]) -> str | None:
    """Return the preset of most finished runs; ties go to the newest."""
    frequent = Counter(record.row.preset for record in records if record.is_finished) or Counter(
        record.row.preset for record in records
    )
    return frequent.most_common(1)[0][0] if frequent else None


def _tables(methods: Iterable[str]) -> tuple[MethodTable, ...]:
    """The paper's two tables, then the project's own methods if any has runs, then other methods by kind."""
    present = set(methods)
    others: dict[TableKind, list[str]] = {"no-adaptation": [], "reference": [], "other": []}
    for method in sorted(present - {*MAIN_METHODS, *ABLATIONS, *OWN_METHODS}):
        others[_kind(method)].append(method)
    tables = [MethodTable("main", MAIN_METHODS), MethodTable("ablation", ABLATION_METHODS)]
    if present & set(OWN_METHODS):
        tables.append(MethodTable("own", OWN_METHODS))
    return (*tables, *(MethodTable(kind, tuple(names)) for kind, names in others.items() if names))


def _kind(method: str) -> TableKind:
    try:
        family = find_method(method).family
    except InputError:  # a plug-in that is not installed
        return "other"
    return family if family == "no-adaptation" or family == "reference" else "other"


def _averages(cells: Mapping[tuple[str, str], Cell]) -> dict[str, Average]:
    averages = {}
    for method in dict.fromkeys(method for method, _ in cells):
        complete = [cells[method, task] for task in PAPER_TASKS if cells[method, task].is_complete]
        means = [cell.summary.mean for cell in complete if cell.summary.mean is not None]
        published = [cell.published.mean for cell in complete if cell.published]
        if means:
            tasks = tuple(cell.task for cell in complete)
            averages[method] = Average(fmean(means), tasks, fmean(published) if len(published) == len(means) else None)
    return averages


def _excluded(records: Sequence[RunRecord], included: Sequence[RunRecord]) -> tuple[ExcludedRuns, ...]:
    ids = {record.row.id for record in included}
    reasons: dict[str, list[str]] = {}
    for record in records:
        if record.row.id not in ids:
            reasons.setdefault(f"preset {record.row.preset or 'unknown'}", []).append(record.row.id)
        elif not (record.row.method and record.row.task):
            reasons.setdefault(UNREADABLE, []).append(record.row.id)
    return tuple(ExcludedRuns(reason, tuple(runs)) for reason, runs in reasons.items())


def _highest(means: Mapping[str, float]) -> frozenset[str]:
    if len(means) < 2:
        return frozenset()
    highest = max(means.values())
    return frozenset(method for method, mean in means.items() if mean == highest)


def _merge_notes(cells: Sequence[Cell]) -> list[str]:
    """List each note on data, settings and mixed runs once, after the cells that it is about."""
    cells_by_note: dict[str, list[str]] = {}
    for cell in cells:
        for note in cell.notes:
            cells_by_note.setdefault(f"data: {note}", []).append(cell.task)
        if cell.changes:
            cells_by_note.setdefault(f"settings: {', '.join(cell.changes)}", []).append(f"{cell.task} {cell.method}")
        for difference in cell.mixed:
            cells_by_note.setdefault(f"mixed: {difference}", []).append(f"{cell.task} {cell.method}")
    return [f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in cells_by_note.items()]
