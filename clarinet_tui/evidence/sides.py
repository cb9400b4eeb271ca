"""One side of a comparison: the runs of a method on a task under one protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clarinet_tui.evidence.groups import Group, LeftOut, grouped, others
from clarinet_tui.evidence.published import title
from clarinet_tui.evidence.run_records import Data, Record, Settings
from clarinet_tui.evidence.selection import Choice, Rule
from clarinet_tui.evidence.selections import Selected, selections
from clarinet_tui.evidence.statistics import Summary, summarise
from clarinet_tui.evidence.training_cost import Shared

GOING_ON = frozenset({"queued", "starting", "running", "silent"})


@dataclass(frozen=True)
class RunFact:
    """What a comparison tells of one run."""

    run: str
    seed: int | None
    state: str
    choice: Choice | None
    """The epoch that is reported; of a run that goes on, its newest one so far."""
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    seconds: float | None
    """Device seconds, with those of a shared stage 1."""
    shared: Shared | None
    label_hash: str | None
    device: str | None

    @property
    def accuracy(self) -> float | None:
        """What counts: only finished runs have it."""
        return self.choice.accuracy if self.choice and self.state == "finished" else None


@dataclass(frozen=True)
class Side:
    method: str
    title: str
    task: str
    preset: str | None
    settings: Settings | None
    data: Data | None
    runs: tuple[RunFact, ...]
    """Of each seed the newest finished run, or the newest one; by seed."""
    accuracy: Summary
    source_accuracy: Summary
    pseudo_label_accuracy: Summary
    seconds: Summary
    """Of one run alone, as if it had made its stage 1 itself."""
    total_seconds: float
    """Of all runs together: a stage 1 that several share was paid for once."""
    left_out: tuple[LeftOut, ...]
    selections: Mapping[Rule, Selected]
    """What every rule reports of the finished runs."""

    @property
    def going_on(self) -> tuple[str, ...]:
        return tuple(fact.run for fact in self.runs if fact.state in GOING_ON)

    @property
    def cost_unknown(self) -> tuple[str, ...]:
        """Runs that were given a stage 1 whose cost nobody wrote down."""
        return tuple(fact.run for fact in self.runs if fact.shared and fact.shared.seconds is None)


def sides_of(records: Sequence[Record], *, rule: Rule = "last", every_group: bool = False) -> list[Side]:
    """By task, method and preset in the order of the records; of several protocols the fullest, or every one."""
    found: dict[tuple[str, str, str | None], list[Record]] = {}
    for record in records:
        row = record.row
        if row.method and row.task:
            found.setdefault((row.task, row.method, row.preset), []).append(record)
    sides = []
    for members in found.values():
        groups = grouped(members)
        if every_group:
            places = {record.row.id: place for place, record in enumerate(members)}
            groups.sort(key=lambda group: min(map(places.__getitem__, group.ids)))
            sides += [make_side(group, rule) for group in groups]
        else:
            sides.append(make_side(groups[0], rule, others(groups)))
    return sides


def make_side(group: Group, rule: Rule = "last", left_out: Sequence[LeftOut] = ()) -> Side:
    newest: dict[int | None, Record] = {}
    older: list[str] = []
    for record in group.records:
        known = newest.get(record.row.seed)
        if known is None or (record.finished and not known.finished):
            older += [known.row.id] if known else []
            newest[record.row.seed] = record
        else:
            older.append(record.row.id)
    facts = [_fact(newest[seed], rule) for seed in sorted(newest, key=lambda seed: (seed is None, seed or 0))]
    done = [fact for fact in facts if fact.state == "finished"]
    row = group.records[0].row
    again = [LeftOut("their seeds were run again, and the newest finished runs count", tuple(older))] if older else []
    return Side(
        method=row.method or "?",
        title=title(row.method or "?"),
        task=row.task or "?",
        preset=row.preset,
        settings=group.settings,
        data=group.data,
        runs=tuple(facts),
        accuracy=summarise(fact.accuracy for fact in done),
        source_accuracy=_summary_of([fact.source_accuracy for fact in done]),
        pseudo_label_accuracy=_summary_of([fact.pseudo_label_accuracy for fact in done]),
        seconds=_summary_of([fact.seconds for fact in done]),
        total_seconds=_total(done),
        left_out=(*left_out, *again),
        selections=selections(record.choices for record in newest.values() if record.finished),
    )


def _fact(record: Record, rule: Rule) -> RunFact:
    row = record.row
    return RunFact(
        run=row.id,
        seed=row.seed,
        state=row.state,
        choice=record.choices.get(rule),
        source_accuracy=row.source_accuracy,
        pseudo_label_accuracy=row.pseudo_label_accuracy,
        seconds=record.seconds,
        shared=record.shared,
        label_hash=row.label_hash,
        device=row.device,
    )


def _summary_of(values: Sequence[float | None]) -> Summary:
    """What no run has is not unknown: a one-step run has no pseudo-labels."""
    return summarise(values) if any(value is not None for value in values) else Summary(0)


def _total(facts: Sequence[RunFact]) -> float:
    """A run of this side that made the stage 1 of the others has paid for it in its own seconds."""
    shared = {fact.run: fact.shared.seconds or 0.0 for fact in facts if fact.shared}
    own = sum((fact.seconds or 0.0) - shared.get(fact.run, 0.0) for fact in facts)
    here = {fact.run for fact in facts}
    paid = {fact.shared.origin: shared[fact.run] for fact in facts if fact.shared and fact.shared.origin not in here}
    return own + sum(paid.values())
