"""Runs that may stand in one mean, and a sentence for each that may not."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clarinet_tui.evidence.run_records import OWN, SIZES, Code, Data, Record, Settings

MOST_NAMED = 4
"""How many settings a sentence names before it says how many more there are."""
UNREADABLE = "its settings cannot be read"


@dataclass(frozen=True)
class LeftOut:
    """Runs that do not count, and why."""

    reason: str
    runs: tuple[str, ...]


@dataclass(frozen=True)
class Group:
    """Runs of one method and task with equal settings, data and version of the program."""

    settings: Settings | None
    data: Data | None
    code: Code
    records: tuple[Record, ...]
    """Newest first."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(record.row.id for record in self.records)

    @property
    def seeds(self) -> set[int | None]:
        """Those that are finished."""
        return {record.row.seed for record in self.records if record.finished}

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(sorted({record.code.commit for record in self.records if record.code.commit}))


def grouped(records: Sequence[Record], *, by_commit: bool = False) -> list[Group]:
    """The group with most finished seeds first; of equal ones the most recent.

    Commits keep runs apart only where asked: they are those of the folder where somebody stood, which need not hold
    the program at all.
    """
    found = [
        group
        for settings, members in _by_settings(records)
        for group in _by_origin(settings, members, by_commit=by_commit)
    ]
    return sorted(found, key=lambda group: (len(group.seeds), group.records[0].row.created), reverse=True)


def _by_settings(records: Sequence[Record]) -> list[tuple[Settings | None, list[Record]]]:
    """A run whose seed is also the fixed seed of stage 1 belongs to those that share it, and to those that do not."""
    found: dict[Any, tuple[Settings | None, list[Record]]] = {}
    for record in records:
        found.setdefault(_key(record.settings, record), (record.settings, []))[1].append(record)
    for settings, members in found.values():
        if settings and settings.get("stage1.seed", OWN) != OWN:
            _, own = found.get(_key({**settings, "stage1.seed": OWN}, members[0]), (None, []))
            members += [record for record in own if record.row.seed == settings["stage1.seed"]]
    ids = [{record.row.id for record in members} for _, members in found.values()]
    return [group for group, mine in zip(found.values(), ids, strict=True) if not any(mine < other for other in ids)]


def others(groups: Sequence[Group]) -> list[LeftOut]:
    """Why the runs of all groups but the first do not count; one may be in two of them."""
    counted = {run for group in groups[:1] for run in group.ids}
    apart = [(group, tuple(run for run in group.ids if run not in counted)) for group in groups[1:]]
    return [LeftOut(why_apart(groups[0], group), runs) for group, runs in apart if runs]


def _key(settings: Settings | None, record: Record) -> Any:
    return frozenset(settings.items()) if settings is not None else record.row.id


def _by_origin(settings: Settings | None, records: list[Record], *, by_commit: bool) -> Iterable[Group]:
    """By data and code; what has not begun yet has neither, and waits with the fullest."""
    found: dict[Any, list[Record]] = {}
    waiting = [record for record in records if record.data is None]
    for record in records:
        if record.data is not None:
            commit = record.code.commit if by_commit else None
            found.setdefault((record.data, record.code.version, commit), []).append(record)
    if not found:
        yield Group(settings, None, Code(), tuple(records))
        return
    fullest = max(found.values(), key=lambda members: sum(record.finished for record in members))
    fullest += waiting
    for members in found.values():
        first = members[0]
        yield Group(settings, first.data, first.code, tuple(_newest_first(members)))


def _newest_first(records: Iterable[Record]) -> list[Record]:
    return sorted(records, key=lambda record: (record.row.created, record.row.id), reverse=True)


def why_apart(group: Group, other: Group) -> str:
    """What keeps `other` out of `group`, in words."""
    if other.settings is None or group.settings is None:
        return UNREADABLE
    if changed := setting_differences(group.settings, other.settings):
        named = [f"{name} is {_plain(theirs)}, not {_plain(ours)}" for name, (ours, theirs) in changed.items()]
        more = [f"{len(named) - MOST_NAMED} more settings differ"] if len(named) > MOST_NAMED else []
        return "; ".join(named[:MOST_NAMED] + more)
    if group.data != other.data and other.data is not None:
        return f"other data: {described(other.data)}"
    if group.code.version != other.code.version:
        return f"made with version {other.code.version or 'unknown'}, not {group.code.version or 'unknown'}"
    return f"made at commit {', '.join(other.commits) or 'unknown'}"


def setting_differences(one: Mapping[str, Any], two: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Settings that are not equal; None stands for one that a side has not."""
    names = [*one, *(name for name in two if name not in one)]
    return {name: (one.get(name), two.get(name)) for name in names if one.get(name) != two.get(name)}


def described(data: Data) -> str:
    sizes = [f"{size or '?'} {name.removesuffix('_size')}" for size, name in zip(data.sizes, SIZES, strict=True)]
    return "; ".join([f"{', '.join(sizes)} images", *data.notes])


def _plain(value: Any) -> str:
    return "not set" if value is None else str(value)
