"""Runs with what decides whether they may be averaged: settings, data and code version; and groups of such runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clarinet_tui.analysis.choices import Rule
from clarinet_tui.analysis.selection import SelectedEpoch, last_stage, select_epochs
from clarinet_tui.history.axes import GivenStage1, find_shared_stage1
from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, list_runs, read_evaluations, read_events
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import describe_environment, read_environment
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_setting
from core.config import RunConfig, Tag, checkpoint_settings, settings_tagged
from core.errors import InputError
from core.methods import GAC, find_method

OWN_SEED = "the run's own"
"""Value of stage1.seed for runs whose stage 1 uses the run's seed."""
STATE_ORDER = (
    RunState.FINISHED,
    RunState.RUNNING,
    RunState.STARTING,
    RunState.QUEUED,
    RunState.SILENT,
    RunState.STOPPED,
    RunState.LOST,
    RunState.FAILED,
)
"""The most advanced state first."""
SIZES = ("source_size", "target_size", "test_size")

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class DataSummary:
    """Notes on synthetic or incomplete data, and the data set sizes of a started run."""

    notes: tuple[str, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class SeedRun:
    """One run of a mean, and its epoch that counts."""

    run: str
    seed: int | None
    state: RunState
    selected: SelectedEpoch | None
    """The reported epoch; for an unfinished run, the one selected so far."""
    epoch: int | None
    epochs_total: int | None
    source_accuracy: float | None
    pseudo_label_accuracy: float | None
    seconds: float | None
    """Device seconds, including a shared stage 1."""
    shared: GivenStage1 | None
    label_hash: str | None
    device: str | None
    hardware: str | None
    """The model of the GPU or CPU."""

    @property
    def accuracy(self) -> float | None:
        """The accuracy that counts, None unless the run is finished."""
        return self.selected.accuracy if self.selected and self.state is RunState.FINISHED else None


def seed_order(run: SeedRun) -> tuple[bool, int]:
    return run.seed is None, run.seed or 0


@dataclass(frozen=True)
class RunRecord:
    """One run with its provenance and the epoch selected by each rule."""

    row: RunRow
    config: RunConfig | None
    """None if it cannot be read."""
    settings: Settings | None
    """The protocol: settings that must be equal within a mean, with keys such as `stage1.epochs`."""
    data: DataSummary | None
    """None before the run has started."""
    version: str | None
    """The version of the program, if recorded."""
    commit: str | None
    """Commit of the directory where the run was started, with a hash of uncommitted changes after a +."""
    selected: Mapping[Rule, SelectedEpoch]
    shared: GivenStage1 | None
    """Stage 1 that the run took over from another run."""

    @property
    def is_finished(self) -> bool:
        return self.row.state is RunState.FINISHED

    @property
    def seconds(self) -> float | None:
        """Device seconds, including a shared stage 1."""
        if self.row.seconds is None:
            return None
        return self.row.seconds + (self.shared.seconds or 0.0 if self.shared else 0.0)

    def select(self, rule: Rule) -> SeedRun:
        """Return the run with its epoch that counts under the rule."""
        row = self.row
        return SeedRun(
            run=row.id,
            seed=row.seed,
            state=row.state,
            selected=self.selected.get(rule),
            epoch=row.epoch,
            epochs_total=row.epochs_total,
            source_accuracy=row.source_accuracy,
            pseudo_label_accuracy=row.pseudo_label_accuracy,
            seconds=self.seconds,
            shared=self.shared,
            label_hash=row.label_hash,
            device=row.device,
            hardware=row.hardware,
        )


class RunRecords:
    """Reads run records and caches each until its run changes."""

    def __init__(self, db: Database, runs_dir: Path) -> None:
        self.db = db
        self.runs_dir = runs_dir
        self._cache: dict[str, RunRecord] = {}

    def search(self, query: str = "") -> list[RunRecord]:
        """Return the records of all matching runs, newest first."""
        return [self.record(row) for row in list_runs(self.db, query, limit=2**31)]

    def is_cached(self, row: RunRow) -> bool:
        """Whether `record(row)` needs no file or database access."""
        cached = self._cache.get(row.id)
        return cached is not None and cached.row == row

    def record(self, row: RunRow) -> RunRecord:
        if not self.is_cached(row):
            self._cache[row.id] = self._read(row)
        return self._cache[row.id]

    def _read(self, row: RunRow) -> RunRecord:
        run = RunDirectory(self.runs_dir, row.id)
        try:
            config: RunConfig | None = run.read_config()
        except InputError:
            config = None
        events = read_events(self.db, row.id)
        started = next((event for event in reversed(events) if event["event"] == "started"), None)
        environment = describe_environment(read_environment(run))
        return RunRecord(
            row=row,
            config=config,
            settings=comparable_settings(config) if config else None,
            data=DataSummary(row.notes, tuple(started.get(name) for name in SIZES)) if started else None,
            version=dict(environment.versions).get("clarinet-tui"),
            commit=environment.short_commit or None,
            selected=select_epochs(read_evaluations(self.db, row.id), stage=last_stage(row.method)),
            shared=find_shared_stage1(events),
        )


def comparable_settings(config: RunConfig) -> dict[str, Any]:
    """Return the settings that affect the results: without the seed, and without stages that the method lacks."""
    may_differ = settings_tagged(Tag.ROUNDING) | {"seed"}
    settings = {name: value for name, value in checkpoint_settings(config).items() if name not in may_differ}
    try:
        stages = find_method(config.method).stages
    except InputError:  # a plug-in that is not installed may use any setting
        stages = ()
    if stages == (GAC,):
        used = settings_tagged(Tag.IDENTITY, Tag.EVALUATION, Tag.SOURCE, Tag.STAGE1)  # GAC alone does not adapt
        settings = {name: value for name, value in settings.items() if name in used}
    stage1 = settings.pop("stage1")
    if stages and not any(stage.stage1 for stage in stages):
        return settings
    stage1["seed"] = OWN_SEED if stage1["seed"] == config.seed else stage1["seed"]
    return settings | {f"stage1.{name}": value for name, value in stage1.items()}


MAXIMUM_NAMED = 4
"""Number of settings named in a sentence; the rest are counted."""
UNREADABLE = "settings cannot be read"


def runs_by_seed(records: Iterable[RunRecord], rule: Rule) -> dict[int | None, list[SeedRun]]:
    """Return the runs of each seed, of which the first one counts; the records are the newest first.

    It is the newest finished run with a result, or else the newest one in the most advanced state.
    """
    by_seed: dict[int | None, list[SeedRun]] = {}
    for run in sorted((record.select(rule) for record in records), key=seed_order):
        by_seed.setdefault(run.seed, []).append(run)
    for runs in by_seed.values():
        runs.sort(key=lambda run: (run.accuracy is None, STATE_ORDER.index(run.state)))
    return by_seed


@dataclass(frozen=True)
class ExcludedRuns:
    """Runs that are not counted, and the reason."""

    reason: str
    runs: tuple[str, ...]

    def text(self, maximum_ids: int | None = None) -> str:
        """Format the reason and the run ids."""
        more = len(self.runs) - (maximum_ids or len(self.runs))
        ids = " ".join(self.runs[:maximum_ids]) + (f" and {more} more" if more > 0 else "")
        return f"{self.reason} ({ids})"


@dataclass(frozen=True)
class ComparableRuns:
    """Runs of one method and task with equal settings, data and program version."""

    settings: Settings | None
    data: DataSummary | None
    version: str | None
    records: tuple[RunRecord, ...]
    """Newest first."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(record.row.id for record in self.records)

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(sorted({record.commit for record in self.records if record.commit}))


def group_runs(records: Sequence[RunRecord], *, by_commit: bool = False) -> list[ComparableRuns]:
    """Return groups with the most finished seeds first; ties go to the most recent one.

    Commits separate runs only with `by_commit`: a commit is that of the directory in which a run was started, which
    need not contain the program.
    """
    groups = []
    for settings, members in _by_settings(records):
        by_origin: dict[Any, list[RunRecord]] = {}
        for record in members:
            if record.data is not None:
                origin = (record.data, record.version, record.commit if by_commit else None)
                by_origin.setdefault(origin, []).append(record)
        if not by_origin:
            by_origin[None, None, None] = []
        # Runs that have not started join the group with the most finished runs.
        fullest = max(by_origin.values(), key=lambda runs: sum(run.is_finished for run in runs))
        fullest += [record for record in members if record.data is None]
        for (data, version, _), runs in by_origin.items():
            newest_first = sorted(runs, key=lambda record: (record.row.created, record.row.id), reverse=True)
            groups.append(ComparableRuns(settings, data, version, tuple(newest_first)))

    def finished_seeds(group: ComparableRuns) -> int:
        return len({record.row.seed for record in group.records if record.is_finished})

    return sorted(groups, key=lambda group: (finished_seeds(group), group.records[0].row.created), reverse=True)


def _by_settings(records: Sequence[RunRecord]) -> list[tuple[Settings | None, list[RunRecord]]]:
    """A run whose seed equals the fixed seed of stage 1 joins the runs that share stage 1 and those that do not."""
    by_settings: dict[Any, tuple[Settings | None, list[RunRecord]]] = {}
    for record in records:
        key = record.row.id if record.settings is None else frozenset(record.settings.items())
        by_settings.setdefault(key, (record.settings, []))[1].append(record)
    for settings, members in by_settings.values():
        if settings and settings.get("stage1.seed", OWN_SEED) != OWN_SEED:
            own_seeds = frozenset({**settings, "stage1.seed": OWN_SEED}.items())
            _, own = by_settings.get(own_seeds, (None, []))
            members += [record for record in own if record.row.seed == settings["stage1.seed"]]
    ids = [{record.row.id for record in members} for _, members in by_settings.values()]
    return [
        group for group, mine in zip(by_settings.values(), ids, strict=True) if not any(mine < other for other in ids)
    ]


def exclude_other_groups(groups: Sequence[ComparableRuns]) -> list[ExcludedRuns]:
    """Describe the runs of all groups but the first as excluded; a run of two groups counts in the first."""
    counted = {run for group in groups[:1] for run in group.ids}
    excluded = [(group, tuple(run for run in group.ids if run not in counted)) for group in groups[1:]]
    return [ExcludedRuns(describe_group_difference(groups[0], group), runs) for group, runs in excluded if runs]


def describe_group_difference(group: ComparableRuns, other: ComparableRuns) -> str:
    """Describe the first difference that keeps `other` out of `group`."""
    if other.settings is None or group.settings is None:
        return UNREADABLE
    if changed := setting_differences(group.settings, other.settings):
        texts = {
            name: ["not set" if value is None else format_setting(value) for value in changed[name]] for name in changed
        }
        named = [f"{name} is {theirs}, not {ours}" for name, (ours, theirs) in texts.items()]
        more = [f"{len(named) - MAXIMUM_NAMED} more settings differ"] if len(named) > MAXIMUM_NAMED else []
        return "; ".join(named[:MAXIMUM_NAMED] + more)
    if group.data != other.data and other.data is not None:
        return f"different data: {describe_data(other.data)}"
    if group.version != other.version:
        return f"version {other.version or 'unknown'}, not {group.version or 'unknown'}"
    return f"commit {', '.join(other.commits) or 'unknown'}"


def setting_differences(left: Settings, right: Settings) -> dict[str, tuple[Any, Any]]:
    """Return settings that differ, as (left, right); None for a setting that one side does not have."""
    return {name: (left.get(name), right.get(name)) for name in {**left, **right} if left.get(name) != right.get(name)}


def describe_data(data: DataSummary) -> str:
    sizes = [f"{size or '?'} {name.removesuffix('_size')}" for size, name in zip(data.sizes, SIZES, strict=True)]
    return "; ".join([f"{', '.join(sizes)} images", *data.notes])
