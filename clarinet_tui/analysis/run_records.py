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
SIZES = ("source_size", "target_size", "test_size")

Settings = Mapping[str, Any]


@dataclass(frozen=True)
class DataSummary:
    """Notes on synthetic or incomplete data, and the data set sizes of a started run."""

    notes: tuple[str, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class CodeVersion:
    """Program version and git commit of a run, as far as recorded."""

    version: str | None = None
    commit: str | None = None
    """Commit of the directory where the run was started, with a hash of uncommitted changes after a +."""


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
    code: CodeVersion
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
            code=CodeVersion(dict(environment.versions).get("clarinet-tui"), environment.short_commit or None),
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
    code: CodeVersion
    records: tuple[RunRecord, ...]
    """Newest first."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(record.row.id for record in self.records)

    @property
    def finished_seeds(self) -> set[int | None]:
        return {record.row.seed for record in self.records if record.is_finished}

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(sorted({record.code.commit for record in self.records if record.code.commit}))


def group_runs(records: Sequence[RunRecord], *, by_commit: bool = False) -> list[ComparableRuns]:
    """Return groups with the most finished seeds first; ties go to the most recent one.

    Commits separate runs only with `by_commit`: a commit is that of the directory in which a run was started, which
    need not contain the program.
    """
    groups = [
        group
        for settings, members in _by_settings(records)
        for group in _by_origin(settings, members, by_commit=by_commit)
    ]

    return sorted(groups, key=lambda group: (len(group.finished_seeds), group.records[0].row.created), reverse=True)


def _by_settings(records: Sequence[RunRecord]) -> list[tuple[Settings | None, list[RunRecord]]]:
    """A run whose seed equals the fixed seed of stage 1 joins the runs that share stage 1 and those that do not."""
    by_settings: dict[Any, tuple[Settings | None, list[RunRecord]]] = {}
    for record in records:
        by_settings.setdefault(_key(record.settings, record), (record.settings, []))[1].append(record)
    for settings, members in by_settings.values():
        if settings and settings.get("stage1.seed", OWN_SEED) != OWN_SEED:
            _, own = by_settings.get(_key({**settings, "stage1.seed": OWN_SEED}, members[0]), (None, []))
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


def _key(settings: Settings | None, record: RunRecord) -> Any:
    return frozenset(settings.items()) if settings is not None else record.row.id


def _by_origin(settings: Settings | None, records: list[RunRecord], *, by_commit: bool) -> Iterable[ComparableRuns]:
    """Split by data and code version; runs that have not started join the group with the most finished runs."""
    by_origin: dict[Any, list[RunRecord]] = {}
    not_started = [record for record in records if record.data is None]
    for record in records:
        if record.data is not None:
            commit = record.code.commit if by_commit else None
            by_origin.setdefault((record.data, record.code.version, commit), []).append(record)
    if not by_origin:
        yield ComparableRuns(settings, None, CodeVersion(), tuple(records))
        return
    fullest = max(by_origin.values(), key=lambda members: sum(record.is_finished for record in members))
    fullest += not_started
    for members in by_origin.values():
        newest_first = sorted(members, key=lambda record: (record.row.created, record.row.id), reverse=True)
        yield ComparableRuns(settings, members[0].data, members[0].code, tuple(newest_first))


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
    if group.code.version != other.code.version:
        return f"version {other.code.version or 'unknown'}, not {group.code.version or 'unknown'}"
    return f"commit {', '.join(other.commits) or 'unknown'}"


def setting_differences(left: Settings, right: Settings) -> dict[str, tuple[Any, Any]]:
    """Return settings that differ, as (left, right); None for a setting that one side does not have."""
    return {name: (left.get(name), right.get(name)) for name in {**left, **right} if left.get(name) != right.get(name)}


def describe_data(data: DataSummary) -> str:
    sizes = [f"{size or '?'} {name.removesuffix('_size')}" for size, name in zip(data.sizes, SIZES, strict=True)]
    return "; ".join([f"{', '.join(sizes)} images", *data.notes])
