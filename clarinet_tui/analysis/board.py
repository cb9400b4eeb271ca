"""The paper's board from history: tasks × methods, each cell with its runs, its mean and the published mean."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count, islice, product
from statistics import fmean, median
from string import ascii_lowercase
from typing import Literal, TypedDict, Unpack

from clarinet_tui.analysis.choices import RULES, Rule
from clarinet_tui.analysis.published import (
    ABLATION_METHODS,
    ABLATIONS,
    CONTROLS,
    MAIN_METHODS,
    PUBLISHED,
    PUBLISHED_CAUTION,
    SEEDS,
)
from clarinet_tui.analysis.run_records import (
    STATE_ORDER,
    ComparableRuns,
    RunRecord,
    RunRecords,
    SeedRun,
    group_records,
    runs_by_seed,
    seed_order,
)
from clarinet_tui.analysis.selection import ORACLE, RuleSummary, describe_rule, summarise_rules
from clarinet_tui.analysis.statistics import Distance, Summary, distance, summarise
from clarinet_tui.history.variants import UNREADABLE, ExcludedRuns, describe_difference, name_variants
from clarinet_tui.runs.state import RunState
from core.errors import InputError
from core.methods import find_method
from core.presets import PRESETS
from core.resolve import changed_settings
from core.tasks import PAPER_TASKS


class CountOptions(TypedDict, total=False):
    """How runs are counted."""

    rule: Rule
    seeds: int
    """Number of seeds of a complete cell."""
    by_commit: bool
    """Separate runs of different git commits."""


@dataclass(frozen=True)
class BoardCell:
    task: str
    method: str
    wanted: int
    """Number of seeds of a complete cell."""
    results: tuple[SeedRun, ...]
    """Counted runs, ordered by seed."""
    summary: Summary
    rules: Mapping[Rule, RuleSummary]
    """The results of the same runs under each rule."""
    states: Mapping[str, int]
    """Number of seeds in each state."""
    unfinished: tuple[SeedRun, ...]
    """The most advanced run of each seed that has runs, but no finished one."""
    missing: tuple[int, ...]
    """Seeds without any run."""
    template_run: str | None
    """A run with exactly the counted settings, to be copied for missing seeds."""
    published: Summary | None
    distance: Distance | None
    """Mean minus the published mean."""
    changes: tuple[str, ...]
    """Settings that differ from the preset."""
    seconds: float | None
    """The median training time of the counted runs."""
    notes: tuple[str, ...]
    """Notes on the data."""
    commits: tuple[str, ...]
    excluded: tuple[ExcludedRuns, ...]
    variant: str = ""
    """What distinguishes its runs from other variants of the method, such as `classifier_rate=0.03`."""
    difference: str = ""
    """For one of `others`: how it differs, in words."""
    others: tuple["BoardCell", ...] = ()
    """The other variants, those with most finished seeds first."""

    @property
    def runs(self) -> tuple[str, ...]:
        """Ids of the counted runs."""
        return tuple(result.run for result in self.results)

    @property
    def interim_summary(self) -> Summary:
        """The accuracy so far of runs that are still in progress."""
        started = (seed for seed in self.unfinished if seed.state.is_started)
        return summarise(seed.selected.accuracy for seed in started if seed.selected)

    @property
    def commit_note(self) -> str:
        return f"started at {len(self.commits)} git commits: {', '.join(self.commits)}"

    @property
    def is_complete(self) -> bool:
        return len({result.seed for result in self.results}) >= self.wanted


def make_cells(
    by_cell: Mapping[tuple[str, str], Sequence[RunRecord]], options: CountOptions
) -> dict[tuple[str, str], BoardCell]:
    """Make a cell of each method and task: that of the variant with the most finished seeds, with the others in it."""
    groups = {key: group_records(runs, by_commit=options.get("by_commit", False)) for key, runs in by_cell.items()}
    names = iter(name_variants([group.variant for cell in groups.values() for group in cell]))
    cells = {}
    for (method, task), found in groups.items():
        main, *others = (
            _make_cell(task, method, group, options, next(names).removeprefix(method).strip()) for group in found
        )
        differences = [describe_difference(found[0].variant, group.variant) for group in found[1:]]
        variants = [replace(cell, difference=text) for cell, text in zip(others, differences, strict=True)]
        cells[method, task] = replace(main, others=tuple(variants))
    return cells


def _make_cell(
    task: str, method: str, group: ComparableRuns | None, options: CountOptions, variant: str = ""
) -> BoardCell:
    rule, seeds = options.get("rule", "last"), options.get("seeds", SEEDS)
    members = group.records if group else ()
    by_seed = runs_by_seed(members, rule)
    results: dict[str, SeedRun] = {}
    excluded = []
    for seed, (run, *others) in by_seed.items():
        if run.accuracy is not None:
            results[run.run] = run
        if older := tuple(other.run for other in others if other.accuracy is not None):
            reason = f"seed {seed} was run again; the newest finished run counts: {run.run}"
            excluded.append(ExcludedRuns(reason, older))
    finished = (run for runs in by_seed.values() for run in runs if run.state is RunState.FINISHED)
    if without_result := tuple(run.run for run in finished if run.accuracy is None):
        excluded.append(ExcludedRuns(f"no target accuracy under the rule {rule}", without_result))
    most_advanced = {seed: runs[0] for seed, runs in by_seed.items()}
    absent = (seed for seed in count(1) if seed not in most_advanced)
    states = Counter(RunState.RUNNING if run.state.is_live else run.state for run in most_advanced.values())
    seconds = [record.row.seconds for record in members if record.row.id in results and record.row.seconds]
    # A run with exactly the settings of the variant: one whose seed happens to match stage 1 differs.
    exact = (record for record in members if group and record.settings == group.variant.settings)
    template = next((record for record in exact if record.config and record.settings), None)
    published = PUBLISHED.get((method, task))
    summary = summarise(result.accuracy for result in results.values())
    return BoardCell(
        task=task,
        method=method,
        wanted=seeds,
        results=tuple(sorted(results.values(), key=seed_order)),
        summary=summary,
        rules=summarise_rules(record.selected for record in members if record.row.id in results),
        states={state: states[state] for state in STATE_ORDER if states[state]},
        unfinished=tuple(run for run in most_advanced.values() if run.state is not RunState.FINISHED),
        missing=tuple(islice(absent, max(0, seeds - len(most_advanced)))),
        template_run=template.row.id if template else None,
        published=published,
        distance=distance(summary, published) if published else None,
        changes=_changes(template),
        seconds=median(seconds) if seconds else None,
        notes=tuple(dict.fromkeys(note for record in members for note in record.row.notes)),
        commits=tuple(
            sorted({record.row.git_commit for record in members if record.row.git_commit and record.is_finished})
        ),
        excluded=tuple(excluded),
        variant=variant,
    )


def _changes(template: RunRecord | None) -> tuple[str, ...]:
    """Return the settings that differ from the preset and affect results."""
    if template is None or template.config is None or template.settings is None:
        return ()
    try:
        changed = changed_settings(template.config)
    except InputError:  # a plug-in that is not installed
        return ()
    return tuple(f"{name}={value}" for name, (_, value) in changed.items() if name in template.settings)


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
    cells: Mapping[tuple[str, str], BoardCell]
    """By method and task."""
    averages: Mapping[str, Average]
    rule: Rule
    seeds: int
    preset: str | None
    """None without runs."""
    query: str
    excluded: tuple[ExcludedRuns, ...]
    """Runs that are in no cell."""

    def all_cells(self) -> list[BoardCell]:
        """The cells, each before those of its other variants."""
        return [one for cell in self.cells.values() for one in (cell, *cell.others)]

    @property
    def variant_marks(self) -> dict[str, str]:
        """The mark of each variant that has a row of its own: a, b, …"""
        names = dict.fromkeys(other.variant for cell in self.cells.values() for other in cell.others)
        return dict(zip(names, _marks(), strict=False))

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

    def is_best(self, cell: BoardCell) -> bool:
        """Return whether a cell has the highest mean of its row in the first table with its method."""
        is_main = not cell.difference
        return is_main and cell.method in self.best(cell.task, self.table_of(cell.method).methods)

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
        if self.preset is None:
            return ("No run matches." if self.query else "There are no runs yet.",)
        return (selected, f"Preset {self.preset}: not the protocol of the published numbers.")

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.conditions, *self.remarks(self.methods))

    def remarks(self, methods: Sequence[str]) -> tuple[str, ...]:
        """Notes on the results of some methods: published numbers, data, changed settings, commits."""
        cells = [cell for cell in self.cells.values() if cell.results and cell.method in methods]
        caution = (PUBLISHED_CAUTION,) if any(cell.published for cell in cells) else ()
        about: dict[str, list[str]] = {}  # each note once, with the cells that it is about
        for cell in cells:
            name = f"{cell.task} {cell.method}"
            for note in cell.notes:
                about.setdefault(f"data: {note}", []).append(cell.task)
            if cell.changes:
                about.setdefault(f"settings: {', '.join(cell.changes)}", []).append(name)
            if len(cell.commits) > 1:
                about.setdefault(cell.commit_note, []).append(name)
        return (*caution, *(f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in about.items()))

    def variant_notes(self, methods: Sequence[str]) -> list[str]:
        """Describe the rows of variants, and the variants of the other rows that have them."""
        cells = [cell for cell in self.cells.values() if cell.others and cell.method in methods]
        main: dict[str, list[str]] = {}
        for cell in cells:
            if cell.variant:
                main.setdefault(cell.variant, []).append(f"{cell.task} {cell.method}")
        notes = [f"{', '.join(names)}, first row: {variant}" for variant, names in main.items()]
        for variant, mark in self.variant_marks.items():
            found = [other for cell in cells for other in cell.others if other.variant == variant]
            differences = [other.difference for other in found] if variant.endswith(")") else []
            if found:
                notes.append(": ".join([f"({mark}) {variant}", *dict.fromkeys(differences)]))
        return notes

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
    """Make the board of records, newest first; the default preset is that of most finished runs."""
    preset = preset or most_common_preset(records)
    by_cell: dict[tuple[str, str], list[RunRecord]] = {}
    excluded: dict[str, list[str]] = {}
    for record in records:
        row = record.row
        if preset is not None and row.preset != preset:
            excluded.setdefault(f"preset {row.preset or 'unknown'}", []).append(row.id)
        elif row.method and row.task:
            by_cell.setdefault((row.method, row.task), []).append(record)
        else:
            excluded.setdefault(UNREADABLE, []).append(row.id)
    tasks = (*PAPER_TASKS, *sorted({task for _, task in by_cell} - set(PAPER_TASKS)))
    tables = _tables({method for method, _ in by_cell})
    made = make_cells(by_cell, options)
    cells = {
        (method, task): made.get((method, task)) or _make_cell(task, method, None, options)
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
        query=query,
        excluded=tuple(ExcludedRuns(reason, tuple(runs)) for reason, runs in excluded.items()),
    )


def _marks() -> Iterator[str]:
    """Yield a to z, then aa, ab, …"""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def most_common_preset(records: Sequence[RunRecord]) -> str | None:
    """Return the preset of most finished runs; ties go to the newest."""
    frequent = Counter(record.row.preset for record in records if record.is_finished) or Counter(
        record.row.preset for record in records
    )
    return frequent.most_common(1)[0][0] if frequent else None


def _tables(present: set[str]) -> tuple[MethodTable, ...]:
    """The paper's two tables, then the project's own methods if any has runs, then other methods by kind."""
    others: dict[TableKind, list[str]] = {"no-adaptation": [], "reference": [], "other": []}
    for method in sorted(present - {*MAIN_METHODS, *ABLATIONS, *OWN_METHODS}):
        kind: TableKind = "other"
        with suppress(InputError):  # a plug-in that is not installed
            family = find_method(method).family
            kind = family if family == "no-adaptation" or family == "reference" else "other"
        others[kind].append(method)
    tables = [MethodTable("main", MAIN_METHODS), MethodTable("ablation", ABLATION_METHODS)]
    if present & set(OWN_METHODS):
        tables.append(MethodTable("own", OWN_METHODS))
    return (*tables, *(MethodTable(kind, tuple(names)) for kind, names in others.items() if names))


def _averages(cells: Mapping[tuple[str, str], BoardCell]) -> dict[str, Average]:
    averages = {}
    for method in dict.fromkeys(method for method, _ in cells):
        complete = [cells[method, task] for task in PAPER_TASKS if cells[method, task].is_complete]
        means = [cell.summary.mean for cell in complete if cell.summary.mean is not None]
        published = [cell.published.mean for cell in complete if cell.published and cell.published.mean is not None]
        if means:
            tasks = tuple(cell.task for cell in complete)
            averages[method] = Average(fmean(means), tasks, fmean(published) if len(published) == len(means) else None)
    return averages


def _highest(means: Mapping[str, float]) -> frozenset[str]:
    if len(means) < 2:
        return frozenset()
    highest = max(means.values())
    return frozenset(method for method, mean in means.items() if mean == highest)
