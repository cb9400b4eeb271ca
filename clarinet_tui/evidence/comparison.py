"""One side against another: pairs of equal seed and label draw, differences, costs, and settings that differ."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from clarinet_tui.evidence.groups import described, setting_differences
from clarinet_tui.evidence.published import ABLATIONS, METHODS
from clarinet_tui.evidence.run_records import Archive, Record
from clarinet_tui.evidence.selection import SENTENCES, Rule
from clarinet_tui.evidence.sides import RunFact, Side, sides_of
from clarinet_tui.evidence.statistics import Distance, Paired, distance, holm, paired
from clarinet_tui.history.queries import RunRow, get_run
from clarinet_tui.runs.directory import find_run
from core.errors import InputError
from core.tasks import PAPER_TASKS

ONE, TWO = "one-step", "two-step"
Seeds = dict[int, RunFact]


@dataclass(frozen=True)
class Refused:
    """A seed that both sides have, and that is no pair all the same."""

    seed: int
    reason: str


@dataclass(frozen=True)
class Contrast:
    """Left minus right."""

    left: Side
    right: Side
    paired: Paired
    refused: tuple[Refused, ...]
    unpaired: Distance | None
    """Of the two means by Welch, all finished runs taken as independent: for sides that share no label draw."""
    p: float | None
    """Of the paired t-test, after Holm's correction."""
    comparisons: int
    """For how many tests of this comparison it was corrected."""
    interim: bool
    """Runs are still going on: these are not the last numbers, and looking often finds differences by chance."""
    settings: tuple[tuple[str, Any, Any], ...]
    """Those that differ: name, left, right; None where a side has no such setting."""
    cautions: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    rule: Rule
    selected: str
    """The rule as a sentence."""
    runs: tuple[RunRow, ...]
    """All that were asked for, in that order."""
    sides: tuple[Side, ...]
    contrasts: tuple[Contrast, ...]
    alone: tuple[str, ...]
    """Sides that have nothing to be compared with."""


def compare_runs(archive: Archive, prefixes: Sequence[str], *, rule: Rule = "last") -> Comparison:
    """The runs that were named: each protocol is a side of its own, and the first of a task is the left one."""
    records = list({record.row.id: record for record in (_named(archive, prefix) for prefix in prefixes)}.values())
    sides = sides_of(records, rule=rule, every_group=True)
    firsts = {side.task: side for side in reversed(sides)}
    return _comparison(records, sides, [(firsts[side.task], side) for side in sides], rule)


def compare_queries(archive: Archive, one_step: str, two_step: str, *, rule: Rule = "last") -> Comparison:
    """Every one-step method against every two-step method of the same task and preset."""
    records = [_of_family(archive, query, family) for query, family in ((one_step, ONE), (two_step, TWO))]
    lefts, rights = (sorted(sides_of(found, rule=rule), key=_papers_order) for found in records)
    pairs = [
        (left, right) for left in lefts for right in rights if (left.task, left.preset) == (right.task, right.preset)
    ]
    return _comparison([*records[0], *records[1]], [*lefts, *rights], pairs, rule)


def _papers_order(side: Side) -> tuple[int, str, int, str]:
    """Tasks and methods as the paper lists them, but CLARINET before GAC, which adapts nothing; others by name."""
    methods = (*(name for name in METHODS if name != "gac"), *ABLATIONS, "gac", side.method)
    tasks = (*PAPER_TASKS, side.task)
    return tasks.index(side.task), side.task, methods.index(side.method), side.method


def _named(archive: Archive, prefix: str) -> Record:
    row = get_run(archive.db, find_run(archive.runs_dir, prefix).id)
    if row is None:
        raise InputError(f"run {prefix}: not in the history yet; say `clarinet reindex`")
    return archive.record(row)


def _of_family(archive: Archive, query: str, family: str) -> list[Record]:
    matching = archive.search(query)
    found = [record for record in matching if record.row.family == family]
    if not found:
        told = f"--{family}: no {family} run matches {query or 'everything'!a}"
        if matching:
            ids = " ".join(record.row.id for record in matching[:2])
            raise InputError(f"{told}; others do: compare them by their ids, such as `clarinet compare ID {ids}`")
        raise InputError(f"{told}: `clarinet ls` lists runs")
    return found


def _comparison(
    records: Sequence[Record], sides: Sequence[Side], pairs: Sequence[tuple[Side, Side]], rule: Rule
) -> Comparison:
    contrasts = [contrast(left, right) for left, right in pairs if left is not right]
    corrected = holm([one.paired.p for one in contrasts])
    tested = sum(p is not None for p in corrected)
    compared = [side for one in contrasts for side in (one.left, one.right)]
    return Comparison(
        rule=rule,
        selected=SENTENCES[rule],
        runs=tuple(record.row for record in records),
        sides=tuple(sides),
        contrasts=tuple(replace(one, p=p, comparisons=tested) for one, p in zip(contrasts, corrected, strict=True)),
        alone=tuple(f"{side.task} {side.method} ({side.preset})" for side in sides if side not in compared),
    )


def contrast(left: Side, right: Side) -> Contrast:
    """Two sides alone: corrected for one comparison."""
    one, two = _by_seed(left), _by_seed(right)
    refused = [refusal for seed in sorted(one.keys() & two.keys()) if (refusal := _refused(seed, one, two))]
    apart = {refusal.seed for refusal in refused}
    found = paired(
        {seed: fact.accuracy for seed, fact in one.items() if seed not in apart},
        {seed: fact.accuracy for seed, fact in two.items() if seed not in apart},
    )
    differences = setting_differences(left.settings or {}, right.settings or {})
    return Contrast(
        left=left,
        right=right,
        paired=found,
        refused=tuple(refused),
        unpaired=distance(left.accuracy, right.accuracy),
        p=found.p,
        comparisons=int(found.p is not None),
        interim=bool(left.going_on or right.going_on),
        settings=tuple((name, *values) for name, values in differences.items() if name != "method"),
        cautions=_cautions(left, right),
    )


def _by_seed(side: Side) -> Seeds:
    return {fact.seed: fact for fact in side.runs if fact.seed is not None and fact.accuracy is not None}


def _refused(seed: int, one: Seeds, two: Seeds) -> Refused | None:
    left, right = one[seed].label_hash, two[seed].label_hash
    if left is None or right is None:
        return Refused(seed, "which complementary labels were drawn is not known")
    return None if left == right else Refused(seed, "different complementary labels were drawn")


def _cautions(left: Side, right: Side) -> tuple[str, ...]:
    found = []
    if left.preset != right.preset:
        found.append(f"the presets differ: {left.preset} and {right.preset}")
    if left.data != right.data and left.data and right.data:
        found.append(f"the data differs: {described(left.data)}, and {described(right.data)}")
    devices = [
        sorted({fact.device for fact in side.runs if fact.device and fact.state == "finished"})
        for side in (left, right)
    ]
    if devices[0] != devices[1] and all(devices):
        both = " and ".join(", ".join(names) for names in devices)
        found.append(f"the devices differ ({both}): their seconds cannot be compared")
    for side in (left, right):
        if side.cost_unknown:
            found.append(f"{side.title}: what stage 1 cost is not known of {', '.join(side.cost_unknown)}")
    return tuple(found)
