"""Groups of runs that may be averaged, and why other runs are excluded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from clarinet_tui.analysis.run_records import OWN_SEED, SIZES, CodeVersion, DataSummary, RunRecord, Settings

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
class RunGroup:
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


def group_runs(records: Sequence[RunRecord], *, by_commit: bool = False) -> list[RunGroup]:
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


def exclude_other_groups(groups: Sequence[RunGroup]) -> list[ExcludedRuns]:
    """Describe the runs of all groups but the first as excluded; a run of two groups counts in the first."""
    counted = {run for group in groups[:1] for run in group.ids}
    excluded = [(group, tuple(run for run in group.ids if run not in counted)) for group in groups[1:]]
    return [ExcludedRuns(describe_group_difference(groups[0], group), runs) for group, runs in excluded if runs]


def _key(settings: Settings | None, record: RunRecord) -> Any:
    return frozenset(settings.items()) if settings is not None else record.row.id


def _by_origin(settings: Settings | None, records: list[RunRecord], *, by_commit: bool) -> Iterable[RunGroup]:
    """Split by data and code version; runs that have not started join the group with the most finished runs."""
    by_origin: dict[Any, list[RunRecord]] = {}
    not_started = [record for record in records if record.data is None]
    for record in records:
        if record.data is not None:
            commit = record.code.commit if by_commit else None
            by_origin.setdefault((record.data, record.code.version, commit), []).append(record)
    if not by_origin:
        yield RunGroup(settings, None, CodeVersion(), tuple(records))
        return
    fullest = max(by_origin.values(), key=lambda members: sum(record.is_finished for record in members))
    fullest += not_started
    for members in by_origin.values():
        newest_first = sorted(members, key=lambda record: (record.row.created, record.row.id), reverse=True)
        yield RunGroup(settings, members[0].data, members[0].code, tuple(newest_first))


def describe_group_difference(group: RunGroup, other: RunGroup) -> str:
    """Describe the first difference that keeps `other` out of `group`."""
    if other.settings is None or group.settings is None:
        return UNREADABLE
    if changed := setting_differences(group.settings, other.settings):
        named = [f"{name} is {_format(theirs)}, not {_format(ours)}" for name, (ours, theirs) in changed.items()]
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


def _format(value: Any) -> str:
    return "not set" if value is None else str(value)
