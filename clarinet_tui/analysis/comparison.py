"""Paired differences between sides: pairs of equal seed and label draw, costs, and settings that differ."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clarinet_tui.analysis.choices import BUDGETS, COMPARED_FAMILIES, Rule
from clarinet_tui.analysis.published import ABLATIONS, CONTROLS, MAIN_METHODS, method_title
from clarinet_tui.analysis.run_records import (
    ComparableRuns,
    RunRecord,
    RunRecords,
    SeedRun,
    group_records,
    runs_by_seed,
)
from clarinet_tui.analysis.selection import RuleSummary, describe_rule, summarise_rules
from clarinet_tui.analysis.statistics import (
    Distance,
    PairedStatistics,
    Summary,
    distance,
    holm_correction,
    paired_statistics,
    summarise,
)
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, get_run, list_runs
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.history.variants import (
    DataSummary,
    ExcludedRuns,
    Settings,
    describe_data,
    name_variants,
    setting_differences,
)
from clarinet_tui.runs.directory import find_run
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_setting
from core.errors import InputError
from core.tasks import PAPER_TASKS


@dataclass(frozen=True)
class Side:
    """One variant of a method on a task."""

    method: str
    title: str
    """The method, and the settings in which it differs from the other sides: BASSET classifier_rate=0.03."""
    task: str
    preset: str | None
    settings: Settings | None
    data: DataSummary | None
    runs: tuple[SeedRun, ...]
    """The run of each seed that counts, ordered by seed."""
    accuracy: Summary
    source_accuracy: Summary
    pseudo_label_accuracy: Summary
    seconds: Summary
    """Device seconds of one run, with the full cost of a shared stage 1."""
    total_seconds: float
    """Device seconds of all runs, with a shared stage 1 counted once."""
    excluded: tuple[ExcludedRuns, ...]
    rules: Mapping[Rule, RuleSummary]
    """The results of the finished runs under each rule."""

    @property
    def unfinished(self) -> tuple[str, ...]:
        return tuple(run.run for run in self.runs if run.state.is_pending)

    @property
    def counted(self) -> tuple[str, ...]:
        """Ids of the runs that curves average: the finished ones, or all if none is finished."""
        done = tuple(run.run for run in self.runs if run.state is RunState.FINISHED)
        return done or tuple(run.run for run in self.runs)

    @property
    def cost_unknown(self) -> tuple[str, ...]:
        """Runs with a shared stage 1 whose cost is not recorded."""
        return tuple(run.run for run in self.runs if run.shared and run.shared.seconds is None)


def make_sides(records: Sequence[RunRecord], *, rule: Rule = "last") -> list[Side]:
    """Return a side for each variant of a task, method and preset, in the order of their first runs."""
    by_key: dict[tuple[str, str, str | None], list[RunRecord]] = {}
    for record in records:
        row = record.row
        if row.method and row.task:
            by_key.setdefault((row.task, row.method, row.preset), []).append(record)
    order = {record.row.id: index for index, record in enumerate(records)}
    groups = []
    for members in by_key.values():
        groups += sorted(group_records(members), key=lambda group: min(map(order.__getitem__, group.variant.ids)))
    names = name_variants([group.variant for group in groups], method_title)
    return [make_side(group, name, rule) for group, name in zip(groups, names, strict=True)]


def make_side(group: ComparableRuns, title: str, rule: Rule = "last") -> Side:
    by_seed = runs_by_seed(group.records, rule).values()
    runs = [same_seed[0] for same_seed in by_seed]
    older = [run.run for same_seed in by_seed for run in same_seed[1:]]
    done = [run for run in runs if run.state is RunState.FINISHED]
    counted = {run.run for run in done}
    row = group.records[0].row
    superseded = [ExcludedRuns("superseded by newer finished runs of the same seeds", tuple(older))] if older else []
    return Side(
        method=row.method or "?",
        title=title,
        task=row.task or "?",
        preset=row.preset,
        settings=group.variant.settings,
        data=group.variant.data,
        runs=tuple(runs),
        accuracy=summarise(run.accuracy for run in done),
        source_accuracy=_summary_of([run.source_accuracy for run in done]),
        pseudo_label_accuracy=_summary_of([run.pseudo_label_accuracy for run in done]),
        seconds=_summary_of([run.seconds for run in done]),
        total_seconds=_total(done),
        excluded=tuple(superseded),
        rules=summarise_rules(record.selected for record in group.records if record.row.id in counted),
    )


def _summary_of(values: Sequence[float | None]) -> Summary:
    """Values that no run has, such as pseudo-labels of a one-step method, do not count as missing."""
    return summarise(values) if any(value is not None for value in values) else Summary(0)


def _total(runs: Sequence[SeedRun]) -> float:
    """A stage 1 that a run of this side trained is already part of that run's seconds."""
    shared = {run.run: run.shared.seconds or 0.0 for run in runs if run.shared}
    own = sum((run.seconds or 0.0) - shared.get(run.run, 0.0) for run in runs)
    ids = {run.run for run in runs}
    others = {run.shared.origin: shared[run.run] for run in runs if run.shared and run.shared.origin not in ids}
    return own + sum(others.values())


@dataclass(frozen=True)
class RefusedPair:
    """A seed that both sides have but that forms no pair."""

    seed: int
    reason: str


@dataclass(frozen=True)
class PairedDifference:
    """Left minus right."""

    left: Side
    right: Side
    paired: PairedStatistics
    refused: tuple[RefusedPair, ...]
    unpaired: Distance | None
    """Welch's difference of the means with all finished runs taken as independent, for sides without pairs."""
    p: float | None
    """p-value of the paired t-test after Holm's correction."""
    rank_p: float | None
    """p-value of Wilcoxon's signed-rank test after Holm's correction over the same comparisons."""
    smallest_rank_p: float | None
    """What `rank_p` is if in each comparison all differences have the same sign."""
    comparisons: int
    """Number of comparisons that the correction takes into account."""
    is_interim: bool
    """Whether runs are unfinished: results may change, and repeated looks find differences by chance."""
    settings: tuple[tuple[str, Any, Any], ...]
    """Settings that differ: name, left, right; None where a side has no such setting."""
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    rule: Rule
    rule_description: str
    runs: tuple[RunRow, ...]
    """The requested runs, in order."""
    sides: tuple[Side, ...]
    differences: tuple[PairedDifference, ...]
    unmatched: tuple[str, ...]
    """Sides without a counterpart."""


def compare_runs(reader: RunRecords, prefixes: Sequence[str], *, rule: Rule = "last") -> Comparison:
    """Compare runs by id: each protocol is a side, and the first side of a task is compared with the others."""
    records: dict[str, RunRecord] = {}
    for prefix in prefixes:
        row = get_run(reader.db, find_run(reader.runs_dir, prefix).id)
        if row is None:
            raise InputError(f"run {prefix}: not in the history yet; run `clarinet reindex`")
        records[row.id] = reader.record(row)
    sides = make_sides(list(records.values()), rule=rule)
    firsts = {side.task: side for side in reversed(sides)}
    return _comparison(list(records.values()), sides, [(firsts[side.task], side) for side in sides], rule)


def compare_queries(reader: RunRecords, one_step: str, two_step: str, *, rule: Rule = "last") -> Comparison:
    """Compare every one-step variant with the two-step methods of the same task and preset.

    Of several variants of a two-step method the one with the most equal settings is compared. Controls of a one-step
    method are compared with that method alone.
    """
    queries = zip((one_step, two_step), COMPARED_FAMILIES, strict=True)
    records = [_find_family(reader, query, family) for query, family in queries]
    lefts, rights = (sorted(make_sides(runs, rule=rule), key=_paper_order) for runs in records)
    pairs = [(left, right) for left in lefts for right in _opponents(left, lefts, rights)]
    return _comparison([*records[0], *records[1]], [*lefts, *rights], pairs, rule)


def _opponents(left: Side, lefts: Sequence[Side], rights: Sequence[Side]) -> list[Side]:
    """Return the side of each method to compare with a side: its own controls first, no controls of another side."""
    place = (left.task, left.preset)
    there = {side.method for side in lefts if (side.task, side.preset) == place}
    own = CONTROLS.get(left.method, ())
    others = {control for method in there - {left.method} for control in CONTROLS.get(method, ())}
    rights = [side for side in rights if (side.task, side.preset) == place and side.method not in others]
    closest: dict[str, Side] = {}
    for side in sorted(rights, key=lambda side: (_distance(left, side), -side.accuracy.n)):
        closest.setdefault(side.method, side)
    chosen = [side for side in rights if closest[side.method] is side]
    return sorted(chosen, key=lambda side: side.method not in own)


def _distance(left: Side, right: Side) -> int:
    """Count the settings of both sides that differ, and the data if it does."""
    both = (left.settings or {}).keys() & (right.settings or {}).keys()
    differing = setting_differences(left.settings or {}, right.settings or {})
    return len(both & differing.keys()) + (left.data != right.data)


def _paper_order(side: Side) -> tuple[int, str, int, str]:
    """Order tasks and methods as in the paper, others by name."""
    methods = (*MAIN_METHODS, *ABLATIONS, side.method)
    tasks = (*PAPER_TASKS, side.task)
    return tasks.index(side.task), side.task, methods.index(side.method), side.method


def _find_family(reader: RunRecords, query: str, family: str) -> list[RunRecord]:
    """Return the matching runs of a family; methods without adaptation and references belong to neither."""
    matching = reader.search(query)
    records = [record for record in matching if record.row.family == family]
    if not records:
        problem = f"--{family}: no {family} run" + (f" matches {query!a}" if query else "")
        if matching:
            families = ", ".join(sorted({record.row.family for record in matching}))
            ids = " ".join(record.row.id for record in matching[:2])
            raise InputError(f"{problem}, only {families}: compare these by id, such as `clarinet compare ID {ids}`")
        raise InputError(f"{problem}: `clarinet ls` lists runs")
    return records


def _comparison(
    records: Sequence[RunRecord], sides: Sequence[Side], pairs: Sequence[tuple[Side, Side]], rule: Rule
) -> Comparison:
    differences = [_paired_difference(left, right) for left, right in pairs if left is not right]
    paired = [difference.paired for difference in differences]
    p_values = holm_correction([one.p for one in paired])
    rank_p_values = holm_correction([one.rank_p for one in paired])
    smallest = holm_correction([one.smallest_rank_p for one in paired])
    tests = sum(p is not None for p in p_values)
    corrected = (
        replace(one, p=p, rank_p=rank_p, smallest_rank_p=least, comparisons=tests)
        for one, p, rank_p, least in zip(differences, p_values, rank_p_values, smallest, strict=True)
    )
    compared = [side for difference in differences for side in (difference.left, difference.right)]
    return Comparison(
        rule=rule,
        rule_description=describe_rule(rule),
        runs=tuple(record.row for record in records),
        sides=tuple(sides),
        differences=tuple(corrected),
        unmatched=tuple(map(_describe_unmatched, (side for side in sides if side not in compared))),
    )


def _describe_unmatched(side: Side) -> str:
    preset = "" if str(side.preset) in side.title.split() else f" ({side.preset})"
    return f"{side.task} {side.title}{preset}"


def _paired_difference(left: Side, right: Side) -> PairedDifference:
    """Compare two sides, without correction for other tests."""
    one, two = _by_seed(left), _by_seed(right)
    refused = {}
    for seed in sorted(one.keys() & two.keys()):
        draws = {one[seed].label_hash, two[seed].label_hash}
        if None in draws:
            refused[seed] = "the draw of complementary labels is not recorded"
        elif len(draws) > 1:
            refused[seed] = "the draws of complementary labels differ"
    paired = paired_statistics(
        {seed: run.accuracy for seed, run in one.items() if seed not in refused},
        {seed: run.accuracy for seed, run in two.items() if seed not in refused},
    )
    settings = setting_differences(left.settings or {}, right.settings or {})
    return PairedDifference(
        left=left,
        right=right,
        paired=paired,
        refused=tuple(RefusedPair(seed, reason) for seed, reason in refused.items()),
        unpaired=distance(left.accuracy, right.accuracy),
        p=paired.p,
        rank_p=paired.rank_p,
        smallest_rank_p=paired.smallest_rank_p,
        comparisons=int(paired.p is not None),
        is_interim=bool(left.unfinished or right.unfinished),
        settings=tuple((name, *values) for name, values in settings.items() if name != "method"),
        cautions=_cautions(left, right),
    )


def _by_seed(side: Side) -> dict[int, SeedRun]:
    return {run.seed: run for run in side.runs if run.seed is not None and run.accuracy is not None}


def _hardware(side: Side) -> list[str]:
    """Return the models of the devices that the finished runs used, or their labels where no model is recorded."""
    finished = [run for run in side.runs if run.state is RunState.FINISHED]
    return sorted({name for run in finished if (name := run.hardware or run.device)})


def _cautions(left: Side, right: Side) -> tuple[str, ...]:
    cautions = []
    ours, theirs = left.settings or {}, right.settings or {}
    both = (name for name in BUDGET if name in ours and name in theirs and ours[name] != theirs[name])
    if listed := [f"{name} {format_setting(ours[name])} and {format_setting(theirs[name])}" for name in both]:
        cautions.append(f"the budgets differ: {', '.join(listed)}")
    if left.preset != right.preset:
        cautions.append(f"the presets differ: {left.preset} and {right.preset}")
    if left.data != right.data and left.data and right.data:
        cautions.append(f"the data differs: {describe_data(left.data)}, and {describe_data(right.data)}")
    used = [_hardware(side) for side in (left, right)]
    if used[0] != used[1] and all(used):
        names = " and ".join(", ".join(found) for found in used)
        cautions.append(f"the devices differ ({names}): times cannot be compared")
    for side in (left, right):
        if used[0] == used[1] and len(used[0]) > 1:
            cautions.append(f"{side.title}: runs on {' and '.join(used[0])}: their mean time is of both")
        if side.cost_unknown:
            cautions.append(f"{side.title}: the cost of stage 1 is not recorded for {', '.join(side.cost_unknown)}")
    return tuple(cautions)


BUDGET = ("epochs", "epoch_iterations", "batch_size", "source_size", "target_size", *BUDGETS, "true_fraction")
"""Settings that limit how long a run trains and on what."""
OPPONENT = "gac+cdan-e"
"""The strongest two-step baseline of the paper: what one-step methods are compared with if it has runs."""
COUNTED_STATES = "state:finished,running"
MAX_SEARCHED = 500
"""Maximum number of runs searched for a task with runs of both families."""
DEFAULT_DESCRIPTION = "Newest task with both families"
NOTHING = "Nothing to compare yet: no task has finished or running runs of both families."


def default_queries(db: Database) -> tuple[str, str] | None:
    """Return queries for one-step and two-step runs of the newest task and preset with both; None if there is none.

    The two-step runs are those of the strongest baseline if it has runs, and of the controls of one-step methods.
    """
    runs: dict[tuple[str, str], list[RunRow]] = {}
    for row in list_runs(db, COUNTED_STATES, limit=MAX_SEARCHED):
        if row.task and row.preset:
            runs.setdefault((row.task, row.preset), []).append(row)
    newest = next((key for key in runs if {row.family for row in runs[key]} >= set(COMPARED_FAMILIES)), None)
    if newest is None:
        return None
    task, preset = map(quote_value, newest)
    query = f"task:{task} preset:{preset} {COUNTED_STATES}"
    methods = {row.method for row in runs[newest]}
    controls = [control for method in CONTROLS if method in methods for control in CONTROLS[method]]
    opponents = [method for method in (OPPONENT, *controls) if method in methods]
    selected = f"method:{','.join(opponents)} " if OPPONENT in opponents else ""
    return query, f"{selected}{query}"
