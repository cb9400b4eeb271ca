"""The paper's board from history: tasks × methods, each cell with its runs, its mean and the published mean."""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count, islice
from statistics import fmean, median
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
from clarinet_tui.history.variants import UNREADABLE, ExcludedRuns, describe_difference, exclude_other_variants
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
    mix: bool
    """Average runs of different settings, data and versions."""
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
    mixed: tuple[str, ...]
    """Differences among the counted runs."""
    excluded: tuple[ExcludedRuns, ...]

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
    def is_complete(self) -> bool:
        return len({result.seed for result in self.results}) >= self.wanted


def make_cell(task: str, method: str, records: Sequence[RunRecord], **options: Unpack[CountOptions]) -> BoardCell:
    """Count the group with the most finished seeds and list the others as excluded; with `mix` count all groups."""
    rule, seeds, mix = options.get("rule", "last"), options.get("seeds", SEEDS), options.get("mix", False)
    groups = group_records(records, by_commit=options.get("by_commit", False))
    counted = groups if mix else groups[:1]
    excluded = [] if mix else exclude_other_variants([group.variant for group in groups])
    results: dict[str, SeedRun] = {}
    for group in counted:
        by_seed = runs_by_seed(group.records, rule)
        for seed, (run, *others) in by_seed.items():
            if run.accuracy is not None:
                results[run.run] = run
            if older := tuple(other.run for other in others if other.accuracy is not None):
                reason = f"seed {seed} was run again; the newest finished run counts: {run.run}"
                excluded.append(ExcludedRuns(reason, older))
        finished = (run for runs in by_seed.values() for run in runs if run.state is RunState.FINISHED)
        if without_result := tuple(run.run for run in finished if run.accuracy is None):
            excluded.append(ExcludedRuns(f"no target accuracy under the rule {rule}", without_result))
    members = list({record.row.id: record for group in counted for record in group.records}.values())
    most_advanced = {seed: runs[0] for seed, runs in runs_by_seed(members, rule).items()}
    absent = (seed for seed in count(1) if seed not in most_advanced)
    states = Counter(RunState.RUNNING if run.state.is_live else run.state for run in most_advanced.values())
    seconds = [record.row.seconds for record in members if record.row.id in results and record.row.seconds]
    # A run of the first group with exactly its settings: one whose seed happens to match stage 1 differs.
    exact = (record for group in counted[:1] for record in group.records if record.settings == group.variant.settings)
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
        mixed=_mixed(counted),
        excluded=tuple(excluded),
    )


def _mixed(groups: Sequence[ComparableRuns]) -> tuple[str, ...]:
    differences = [f"{len(groups)} protocols"] if len(groups) > 1 else []
    differences += [describe_difference(groups[0].variant, group.variant) for group in groups[1:]]
    commits = {record.row.git_commit for group in groups for record in group.records if record.is_finished} - {None}
    if len(commits) > 1:
        differences.append(f"started at {len(commits)} git commits: {', '.join(sorted(map(str, commits)))}")
    return tuple(dict.fromkeys(differences))


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

    def is_best(self, cell: BoardCell) -> bool:
        """Return whether a cell has the highest mean of its row in the first table with its method."""
        return cell.method in self.best(cell.task, self.table_of(cell.method).methods)

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
        about: dict[str, list[str]] = {}  # each note once, with the cells that it is about
        for cell in cells:
            name = f"{cell.task} {cell.method}"
            for note in cell.notes:
                about.setdefault(f"data: {note}", []).append(cell.task)
            if cell.changes:
                about.setdefault(f"settings: {', '.join(cell.changes)}", []).append(name)
            for difference in cell.mixed:
                about.setdefault(f"mixed: {difference}", []).append(name)
        return (*caution, *(f"{', '.join(dict.fromkeys(names))}: {note}" for note, names in about.items()))

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
        excluded=tuple(ExcludedRuns(reason, tuple(runs)) for reason, runs in excluded.items()),
    )


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
