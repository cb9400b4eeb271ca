"""One cell of the board: the runs of a method on a task, and the mean that may be formed of them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clarinet_tui.evidence.groups import Group, LeftOut, grouped, others, why_apart
from clarinet_tui.evidence.published import Published, published
from clarinet_tui.evidence.run_records import Record
from clarinet_tui.evidence.selection import Choice, Rule
from clarinet_tui.evidence.selections import Selected, selections
from clarinet_tui.evidence.statistics import Distance, Summary, distance, summarise
from core.config import RunConfig
from core.errors import InputError
from core.resolve import changed_settings

PRECEDENCE = ("finished", "running", "starting", "queued", "silent", "stopped", "lost", "failed")
"""A seed with several runs is in the first of these states."""
WORDS = {"starting": "running"}
UNDER_WAY = frozenset({"starting", "running", "silent"})
NOTHING = Summary(0)


@dataclass(frozen=True)
class Figure:
    """The number of one run."""

    run: str
    seed: int | None
    choice: Choice


@dataclass(frozen=True)
class Standing:
    """Where a seed stands that has no finished run yet: of its runs, the one that is furthest."""

    run: str
    seed: int | None
    state: str
    choice: Choice | None
    """What the rule would report if the run ended now."""
    epoch: int | None
    epochs_total: int | None


@dataclass(frozen=True)
class Cell:
    task: str
    method: str
    wanted: int
    """How many seeds make the cell complete."""
    figures: tuple[Figure, ...] = ()
    """Finished runs that count, by seed."""
    summary: Summary = NOTHING
    selections: Mapping[Rule, Selected] = field(default_factory=dict)
    """What every rule reports of the same runs."""
    states: Mapping[str, int] = field(default_factory=dict)
    """How many seeds are finished, running, queued, failed, …"""
    unfinished: tuple[Standing, ...] = ()
    """Seeds that have runs, but no finished one."""
    missing: tuple[int, ...] = ()
    """Seeds that have no run at all."""
    model: str | None = None
    """A run with exactly the settings that count here: after it missing seeds can be made."""
    published: Published | None = None
    distance: Distance | None = None
    """To the published mean."""
    changes: tuple[str, ...] = ()
    """Settings that are not the preset's."""
    notes: tuple[str, ...] = ()
    """What a reader must know about the data."""
    commits: tuple[str, ...] = ()
    mixed: tuple[str, ...] = ()
    """What is not equal among the runs that count, though they stand in one mean."""
    left_out: tuple[LeftOut, ...] = ()

    @property
    def runs(self) -> tuple[str, ...]:
        """The ids that the mean is made of."""
        return tuple(figure.run for figure in self.figures)

    @property
    def interim(self) -> Summary:
        """Of runs that go on: where they stand now, which is no result yet."""
        going = (standing for standing in self.unfinished if standing.state in UNDER_WAY)
        return summarise(standing.choice.accuracy for standing in going if standing.choice)

    @property
    def complete(self) -> bool:
        return len({figure.seed for figure in self.figures}) >= self.wanted

    @property
    def going_on(self) -> bool:
        return any(self.states.get(state) for state in ("running", "queued", "silent"))


def make_cell(
    task: str,
    method: str,
    records: Sequence[Record],
    *,
    rule: Rule = "last",
    seeds: int = 5,
    mix: bool = False,
    by_commit: bool = False,
) -> Cell:
    """The fullest group counts and the others are named; with `mix` all count, and what differs is named."""
    groups = grouped(records, by_commit=by_commit)
    counted = groups if mix else groups[:1]
    left_out = [] if mix else others(groups)
    figures: list[Figure] = []
    for group in counted:
        chosen, rest = _figures(group, rule)
        figures += [figure for figure in chosen if figure not in figures]
        left_out += rest
    members = list({record.row.id: record for group in counted for record in group.records}.values())
    known, states = published(method, task), _states(members)
    summary = summarise(figure.choice.accuracy for figure in figures)
    shown = {figure.run for figure in figures}
    return Cell(
        task=task,
        method=method,
        wanted=seeds,
        figures=tuple(sorted(figures, key=lambda figure: (figure.seed is None, figure.seed or 0))),
        summary=summary,
        selections=selections(record.choices for record in members if record.row.id in shown),
        states=states,
        unfinished=_unfinished(members, rule),
        missing=_missing({record.row.seed for record in members}, seeds),
        model=_model(counted),
        published=known,
        distance=distance(summary, known.summary) if known else None,
        changes=_changes(counted),
        notes=tuple(dict.fromkeys(note for record in members for note in record.row.notes)),
        commits=tuple(sorted({record.code.commit for record in members if record.code.commit and record.finished})),
        mixed=_mixed(counted),
        left_out=tuple(left_out),
    )


def _figures(group: Group, rule: Rule) -> tuple[list[Figure], list[LeftOut]]:
    """The newest finished run of each seed."""
    figures: dict[int | None, Figure] = {}
    older: dict[int | None, list[str]] = {}
    silent = []
    for record in group.records:
        choice = record.choices.get(rule)
        if not record.finished:
            continue
        if choice is None:
            silent.append(record.row.id)
        elif record.row.seed in figures:
            older.setdefault(record.row.seed, []).append(record.row.id)
        else:
            figures[record.row.seed] = Figure(record.row.id, record.row.seed, choice)
    left_out = [
        LeftOut(f"seed {seed} was run again, and the newest finished run counts: {figures[seed].run}", tuple(ids))
        for seed, ids in older.items()
    ]
    if silent:
        left_out.append(LeftOut(f"no target accuracy to report by the rule {rule}", tuple(silent)))
    return list(figures.values()), left_out


def _mixed(groups: Sequence[Group]) -> tuple[str, ...]:
    found = []
    if len(groups) > 1:
        found = [f"{len(groups)} protocols"] + [why_apart(groups[0], group) for group in groups[1:]]
    commits = {record.code.commit for group in groups for record in group.records if record.finished} - {None}
    if len(commits) > 1:
        found.append(f"started at {len(commits)} git commits: {', '.join(sorted(map(str, commits)))}")
    return tuple(dict.fromkeys(found))


def _states(records: Sequence[Record]) -> dict[str, int]:
    best: dict[int | None, str] = {}
    for record in records:
        state = record.row.state
        best[record.row.seed] = min(best.get(record.row.seed, state), state, key=PRECEDENCE.index)
    counts = Counter(WORDS.get(state, state) for state in best.values())
    return {state: counts[state] for state in PRECEDENCE if counts[state]}


def _unfinished(records: Sequence[Record], rule: Rule) -> tuple[Standing, ...]:
    """By seed; of equal states the newest run."""
    furthest: dict[int | None, Record] = {}
    for record in records:
        before = furthest.setdefault(record.row.seed, record)
        if PRECEDENCE.index(record.row.state) < PRECEDENCE.index(before.row.state):
            furthest[record.row.seed] = record
    rows = [(record.row, record.choices.get(rule)) for record in furthest.values() if not record.finished]
    found = [Standing(row.id, row.seed, row.state, choice, row.epoch, row.epochs_total) for row, choice in rows]
    return tuple(sorted(found, key=lambda standing: (standing.seed is None, standing.seed or 0)))


def _missing(present: set[int | None], wanted: int) -> tuple[int, ...]:
    """The first seeds from 1 on that are not there, as many as are needed."""
    absent = (seed for seed in range(1, wanted + len(present) + 1) if seed not in present)
    return tuple(seed for seed, _ in zip(absent, range(max(0, wanted - len(present))), strict=False))


def _exact(groups: Sequence[Group]) -> Record | None:
    """A run of the first group with exactly its settings: one that shares a stage 1 by chance has others."""
    exact = (record for group in groups[:1] for record in group.records if record.settings == group.settings)
    return next((record for record in exact if record.config and record.settings), None)


def _model(groups: Sequence[Group]) -> str | None:
    record = _exact(groups)
    return record.row.id if record else None


def _changes(groups: Sequence[Group]) -> tuple[str, ...]:
    """Of the first group; those that do not change numbers are not told."""
    record = _exact(groups)
    if record is None or record.config is None or record.settings is None:
        return ()
    return tuple(f"{name}={value}" for name, value in _changed(record.config) if name in record.settings)


def _changed(config: RunConfig) -> list[tuple[str, Any]]:
    try:
        return [(name, value) for name, (_, value) in changed_settings(config).items()]
    except InputError:  # a plug-in that is not installed here
        return []
