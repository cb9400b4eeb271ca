"""One cell of the board: the runs of a method on a task, and the mean over those that may be averaged."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypedDict, Unpack

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.analysis.groups import (
    ExcludedRuns,
    RunGroup,
    describe_group_difference,
    exclude_other_groups,
    group_runs,
)
from clarinet_tui.analysis.published import SEEDS, PublishedResult, find_published
from clarinet_tui.analysis.run_records import RunRecord
from clarinet_tui.analysis.selection import RuleSummary, SelectedEpoch, summarise_rules
from clarinet_tui.analysis.statistics import Distance, Summary, distance, summarise
from clarinet_tui.runs.state import RunState
from core.errors import InputError
from core.resolve import changed_settings

PRECEDENCE = (
    RunState.FINISHED,
    RunState.RUNNING,
    RunState.STARTING,
    RunState.QUEUED,
    RunState.SILENT,
    RunState.STOPPED,
    RunState.LOST,
    RunState.FAILED,
)
"""A seed with several runs takes the first of these states."""


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
class SeedResult:
    """The result of one finished run."""

    run: str
    seed: int | None
    selected: SelectedEpoch


@dataclass(frozen=True)
class UnfinishedSeed:
    """A seed without a finished run: of its runs, the one with the most advanced state."""

    run: str
    seed: int | None
    state: RunState
    selected: SelectedEpoch | None
    """What the rule selects so far."""
    epoch: int | None
    epochs_total: int | None


@dataclass(frozen=True)
class Cell:
    task: str
    method: str
    wanted: int
    """Number of seeds of a complete cell."""
    results: tuple[SeedResult, ...]
    """Counted runs, ordered by seed."""
    summary: Summary
    rules: Mapping[Rule, RuleSummary]
    """The results of the same runs under each rule."""
    states: Mapping[str, int]
    """Number of seeds in each state."""
    unfinished: tuple[UnfinishedSeed, ...]
    """Seeds with runs, but no finished one."""
    missing: tuple[int, ...]
    """Seeds without any run."""
    template_run: str | None
    """A run with exactly the counted settings, to be copied for missing seeds."""
    published: PublishedResult | None
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

    @property
    def is_unfinished(self) -> bool:
        return any(self.states.get(state) for state in RunState if state.is_pending)


def make_cell(task: str, method: str, records: Sequence[RunRecord], **options: Unpack[CountOptions]) -> Cell:
    """Count the group with the most finished seeds and list the others as excluded; with `mix` count all groups."""
    rule, seeds, mix = options.get("rule", "last"), options.get("seeds", SEEDS), options.get("mix", False)
    groups = group_runs(records, by_commit=options.get("by_commit", False))
    counted = groups if mix else groups[:1]
    excluded = [] if mix else exclude_other_groups(groups)
    results: dict[str, SeedResult] = {}
    for group in counted:
        group_results, not_counted = _results(group, rule)
        results |= {result.run: result for result in group_results}
        excluded += not_counted
    members = list({record.row.id: record for group in counted for record in group.records}.values())
    published, template = find_published(method, task), _find_template(counted)
    summary = summarise(result.selected.accuracy for result in results.values())
    return Cell(
        task=task,
        method=method,
        wanted=seeds,
        results=tuple(sorted(results.values(), key=_seed_order)),
        summary=summary,
        rules=summarise_rules(record.selected for record in members if record.row.id in results),
        states=_states(members),
        unfinished=_unfinished(members, rule),
        missing=_missing({record.row.seed for record in members}, seeds),
        template_run=template.row.id if template else None,
        published=published,
        distance=distance(summary, published.summary) if published else None,
        changes=_changes(template),
        seconds=_median_seconds(record for record in members if record.row.id in results),
        notes=tuple(dict.fromkeys(note for record in members for note in record.row.notes)),
        commits=tuple(sorted({record.code.commit for record in members if record.code.commit and record.is_finished})),
        mixed=_mixed(counted),
        excluded=tuple(excluded),
    )


def _median_seconds(records: Iterable[RunRecord]) -> float | None:
    seconds = [record.row.seconds for record in records if record.row.seconds]
    return median(seconds) if seconds else None


def _seed_order(result: SeedResult | UnfinishedSeed) -> tuple[bool, int]:
    return result.seed is None, result.seed or 0


def _results(group: RunGroup, rule: Rule) -> tuple[list[SeedResult], list[ExcludedRuns]]:
    """Return the newest finished run of each seed, and the finished runs that are not counted."""
    results: dict[int | None, SeedResult] = {}
    older: dict[int | None, list[str]] = {}
    without_result = []
    for record in group.records:
        selected = record.selected.get(rule)
        if not record.is_finished:
            continue
        if selected is None:
            without_result.append(record.row.id)
        elif record.row.seed in results:
            older.setdefault(record.row.seed, []).append(record.row.id)
        else:
            results[record.row.seed] = SeedResult(record.row.id, record.row.seed, selected)
    excluded = [
        ExcludedRuns(f"seed {seed} was run again; the newest finished run counts: {results[seed].run}", tuple(ids))
        for seed, ids in older.items()
    ]
    if without_result:
        excluded.append(ExcludedRuns(f"no target accuracy under the rule {rule}", tuple(without_result)))
    return list(results.values()), excluded


def _mixed(groups: Sequence[RunGroup]) -> tuple[str, ...]:
    differences = [f"{len(groups)} protocols"] if len(groups) > 1 else []
    differences += [describe_group_difference(groups[0], group) for group in groups[1:]]
    commits = {record.code.commit for group in groups for record in group.records if record.is_finished} - {None}
    if len(commits) > 1:
        differences.append(f"started at {len(commits)} git commits: {', '.join(sorted(map(str, commits)))}")
    return tuple(dict.fromkeys(differences))


def _states(records: Sequence[RunRecord]) -> dict[str, int]:
    best: dict[int | None, RunState] = {}
    for record in records:
        state = record.row.state
        best[record.row.seed] = min(best.get(record.row.seed, state), state, key=PRECEDENCE.index)
    counts = Counter(RunState.RUNNING if state.is_live else state for state in best.values())
    return {state: counts[state] for state in PRECEDENCE if counts[state]}


def _unfinished(records: Sequence[RunRecord], rule: Rule) -> tuple[UnfinishedSeed, ...]:
    """Return seeds without a finished run, ordered by seed; of equal states the newest run."""
    best: dict[int | None, RunRecord] = {}
    for record in records:
        before = best.setdefault(record.row.seed, record)
        if PRECEDENCE.index(record.row.state) < PRECEDENCE.index(before.row.state):
            best[record.row.seed] = record
    rows = [(record.row, record.selected.get(rule)) for record in best.values() if not record.is_finished]
    unfinished = [
        UnfinishedSeed(row.id, row.seed, row.state, selected, row.epoch, row.epochs_total) for row, selected in rows
    ]
    return tuple(sorted(unfinished, key=_seed_order))


def _missing(present: set[int | None], wanted: int) -> tuple[int, ...]:
    """Return the lowest seeds from 1 that have no run, as many as are wanted."""
    absent = (seed for seed in range(1, wanted + len(present) + 1) if seed not in present)
    return tuple(seed for seed, _ in zip(absent, range(max(0, wanted - len(present))), strict=False))


def _find_template(groups: Sequence[RunGroup]) -> RunRecord | None:
    """Return a run of the first group with exactly its settings; one whose seed happens to match stage 1 differs."""
    exact = (record for group in groups[:1] for record in group.records if record.settings == group.settings)
    return next((record for record in exact if record.config and record.settings), None)


def _changes(template: RunRecord | None) -> tuple[str, ...]:
    """Return the settings that differ from the preset and affect results."""
    if template is None or template.config is None or template.settings is None:
        return ()
    try:
        changed = changed_settings(template.config)
    except InputError:  # a plug-in that is not installed
        return ()
    return tuple(f"{name}={value}" for name, (_, value) in changed.items() if name in template.settings)
