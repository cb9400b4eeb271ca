"""One side of a comparison: the runs of one method on one task under one protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.analysis.groups import ExcludedRuns, RunGroup, exclude_other_groups, group_runs
from clarinet_tui.analysis.published import method_title
from clarinet_tui.analysis.run_records import DataSummary, RunRecord, Settings
from clarinet_tui.analysis.selection import RuleSummary, SelectedEpoch, summarise_rules
from clarinet_tui.analysis.statistics import Summary, summarise
from clarinet_tui.analysis.training_cost import SharedStage1
from clarinet_tui.runs.state import RunState


@dataclass(frozen=True)
class SideRun:
    """One run of a side."""

    run: str
    seed: int | None
    state: RunState
    selected: SelectedEpoch | None
    """The reported epoch; for an unfinished run, the one selected so far."""
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    seconds: float | None
    """Device seconds, including a shared stage 1."""
    shared: SharedStage1 | None
    label_hash: str | None
    device: str | None
    hardware: str | None
    """The model of the GPU or CPU."""

    @property
    def accuracy(self) -> float | None:
        """The accuracy that counts, None unless the run is finished."""
        return self.selected.accuracy if self.selected and self.state is RunState.FINISHED else None


@dataclass(frozen=True)
class Side:
    method: str
    title: str
    task: str
    preset: str | None
    settings: Settings | None
    data: DataSummary | None
    runs: tuple[SideRun, ...]
    """The newest finished run of each seed, or else the newest one, ordered by seed."""
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


def make_sides(records: Sequence[RunRecord], *, rule: Rule = "last", every_group: bool = False) -> list[Side]:
    """Group records by task, method and preset, in their order; of several protocols keep the fullest, or all."""
    by_key: dict[tuple[str, str, str | None], list[RunRecord]] = {}
    for record in records:
        row = record.row
        if row.method and row.task:
            by_key.setdefault((row.task, row.method, row.preset), []).append(record)
    sides = []
    for members in by_key.values():
        groups = group_runs(members)
        if every_group:
            order = {record.row.id: index for index, record in enumerate(members)}
            groups.sort(key=lambda group: min(map(order.__getitem__, group.ids)))
            sides += [make_side(group, rule) for group in groups]
        else:
            sides.append(make_side(groups[0], rule, exclude_other_groups(groups)))
    return sides


def make_side(group: RunGroup, rule: Rule = "last", excluded: Sequence[ExcludedRuns] = ()) -> Side:
    newest: dict[int | None, RunRecord] = {}
    older: list[str] = []
    for record in group.records:
        known = newest.get(record.row.seed)
        if known is None or (record.is_finished and not known.is_finished):
            older += [known.row.id] if known else []
            newest[record.row.seed] = record
        else:
            older.append(record.row.id)
    runs = [_side_run(newest[seed], rule) for seed in sorted(newest, key=lambda seed: (seed is None, seed or 0))]
    done = [run for run in runs if run.state is RunState.FINISHED]
    row = group.records[0].row
    superseded = [ExcludedRuns("superseded by newer finished runs of the same seeds", tuple(older))] if older else []
    return Side(
        method=row.method or "?",
        title=method_title(row.method or "?"),
        task=row.task or "?",
        preset=row.preset,
        settings=group.settings,
        data=group.data,
        runs=tuple(runs),
        accuracy=summarise(run.accuracy for run in done),
        source_accuracy=_summary_of([run.source_accuracy for run in done]),
        pseudo_label_accuracy=_summary_of([run.pseudo_label_accuracy for run in done]),
        seconds=_summary_of([run.seconds for run in done]),
        total_seconds=_total(done),
        excluded=(*excluded, *superseded),
        rules=summarise_rules(record.selected for record in newest.values() if record.is_finished),
    )


def _side_run(record: RunRecord, rule: Rule) -> SideRun:
    row = record.row
    return SideRun(
        run=row.id,
        seed=row.seed,
        state=row.state,
        selected=record.selected.get(rule),
        source_accuracy=row.source_accuracy,
        pseudo_label_accuracy=row.pseudo_label_accuracy,
        seconds=record.seconds,
        shared=record.shared,
        label_hash=row.label_hash,
        device=row.device,
        hardware=row.hardware,
    )


def _summary_of(values: Sequence[float | None]) -> Summary:
    """Values that no run has, such as pseudo-labels of a one-step method, do not count as missing."""
    return summarise(values) if any(value is not None for value in values) else Summary(0)


def _total(runs: Sequence[SideRun]) -> float:
    """A stage 1 that a run of this side trained is already part of that run's seconds."""
    shared = {run.run: run.shared.seconds or 0.0 for run in runs if run.shared}
    own = sum((run.seconds or 0.0) - shared.get(run.run, 0.0) for run in runs)
    ids = {run.run for run in runs}
    others = {run.shared.origin: shared[run.run] for run in runs if run.shared and run.shared.origin not in ids}
    return own + sum(others.values())
