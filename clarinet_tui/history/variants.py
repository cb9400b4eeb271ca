"""Variants: runs that differ only in their seed. A mean is only ever one of a variant.

Runs of a variant have the same settings, data and version of the program. Its name has the settings in which it differs
from other variants of its method, such as `basset classifier_rate=0.03`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.queries import RunRow, list_runs
from clarinet_tui.history.query_language import quote_value
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_setting
from core.config import Tag, in_order, own_specs, settings_tagged
from core.errors import InputError
from core.methods import GAC, find_method

Settings = Mapping[str, Any]
"""Values of settings by name, those of stage 1 as `stage1.epochs`."""
OWN_SEED = "the run's own"
"""Value of stage1.seed for runs whose stage 1 uses the run's seed."""
MAXIMUM_NAMED = 4
"""Number of settings named in a sentence; the rest are counted."""
UNREADABLE = "settings cannot be read"


@dataclass(frozen=True)
class DataSummary:
    """Notes on synthetic or incomplete data, and the data set sizes of a started run."""

    notes: tuple[str, ...]
    sizes: tuple[int | None, ...]


@dataclass(frozen=True)
class Variant:
    settings: Settings | None
    """The settings that affect the numbers; None if they cannot be read."""
    data: DataSummary | None
    """None if no run has started."""
    version: str | None
    rows: tuple[RunRow, ...]
    """Newest first."""

    @property
    def method(self) -> str:
        return self.rows[0].method or "?"

    @property
    def task(self) -> str:
        return self.rows[0].task or "?"

    @property
    def preset(self) -> str | None:
        return self.rows[0].preset

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(row.id for row in self.rows)

    @property
    def commits(self) -> tuple[str, ...]:
        return tuple(sorted({row.git_commit for row in self.rows if row.git_commit}))

    @property
    def accuracies(self) -> list[float]:
        """The target accuracies after the last epoch: of each seed, the newest finished run counts."""
        finished = (row for row in reversed(self.rows) if row.state is RunState.FINISHED)
        return list({row.seed: row.target_accuracy for row in finished if row.target_accuracy is not None}.values())


def read_variants(db: Database, query: str = "") -> list[Variant]:
    """Return the variants of the matching runs, the newest first."""
    return group_all(list_runs(db, query, limit=-1))


def group_all(rows: Iterable[RunRow]) -> list[Variant]:
    """Return the variants of any runs, in the order in which their method, task and preset come first."""
    by_key: dict[tuple[str | None, ...], list[RunRow]] = {}
    for row in rows:
        by_key.setdefault((row.method, row.task, row.preset), []).append(row)
    return [variant for members in by_key.values() for variant in group_runs(members)]


def comparable_settings(settings: Settings) -> dict[str, Any]:
    """Return the settings that affect the results: without the seed, and without stages that the method lacks."""
    may_differ = settings_tagged(Tag.NO_EFFECT, Tag.ROUNDING) | {"seed"}
    kept = {name: value for name, value in settings.items() if name not in may_differ}
    try:
        method = find_method(settings["method"])
        stages = method.stages
        # A setting that the method has declared since had its default.
        kept = {spec.name: spec.default for spec in own_specs(method.settings)} | kept
    except InputError:  # a plug-in that is not installed may use any setting
        stages = ()
    if stages == (GAC,):
        used = settings_tagged(Tag.IDENTITY, Tag.EVALUATION, Tag.SOURCE, Tag.STAGE1)  # GAC alone does not adapt
        kept = {name: value for name, value in kept.items() if name.partition(".")[0] in used}
    if stages and not any(stage.stage1 for stage in stages):
        return {name: value for name, value in kept.items() if not name.startswith("stage1.")}
    return kept | {"stage1.seed": OWN_SEED if kept["stage1.seed"] == settings["seed"] else kept["stage1.seed"]}


def data_summary(row: RunRow) -> DataSummary | None:
    sizes = (row.source_images, row.target_images, row.test_images)
    return None if row.started is None else DataSummary(row.notes, sizes)


def group_runs(rows: Sequence[RunRow], *, by_commit: bool = False) -> list[Variant]:
    """Return the variants of runs of one method, task and preset: those with the most finished seeds, then the newest.

    Commits separate runs only with `by_commit`: a commit is that of the directory in which a run was started, which
    need not contain the program.
    """
    variants = []
    for settings, members in _by_settings(rows):
        by_origin: dict[Any, list[RunRow]] = {}
        for row in members:
            if (data := data_summary(row)) is not None:
                origin = (data, row.version, row.git_commit if by_commit else None)
                by_origin.setdefault(origin, []).append(row)
        if not by_origin:
            by_origin[None, None, None] = []
        # Runs that have not started join the variant with the most finished runs.
        fullest = max(by_origin.values(), key=lambda runs: sum(row.state is RunState.FINISHED for row in runs))
        fullest += [row for row in members if row.started is None]
        for (data, version, _), runs in by_origin.items():
            newest_first = sorted(runs, key=lambda row: (row.created, row.id), reverse=True)
            variants.append(Variant(settings, data, version, tuple(newest_first)))

    def order(variant: Variant) -> tuple[int, float]:
        return len({row.seed for row in variant.rows if row.state is RunState.FINISHED}), variant.rows[0].created

    return sorted(variants, key=order, reverse=True)


def _by_settings(rows: Sequence[RunRow]) -> list[tuple[Settings | None, list[RunRow]]]:
    """A run whose seed equals the fixed seed of stage 1 joins the runs that share stage 1 and those that do not."""
    by_settings: dict[Any, tuple[Settings | None, list[RunRow]]] = {}
    for row in rows:
        settings: Settings | None = comparable_settings(row.settings) if row.settings else None
        key = row.id if settings is None else frozenset(settings.items())
        by_settings.setdefault(key, (settings, []))[1].append(row)
    for settings, members in by_settings.values():
        if settings and settings.get("stage1.seed", OWN_SEED) != OWN_SEED:
            own_seeds = frozenset({**settings, "stage1.seed": OWN_SEED}.items())
            _, own = by_settings.get(own_seeds, (None, []))
            members += [row for row in own if row.seed == settings["stage1.seed"]]
    ids = [{row.id for row in members} for _, members in by_settings.values()]
    return [
        group for group, mine in zip(by_settings.values(), ids, strict=True) if not any(mine < other for other in ids)
    ]


def differing_settings(variants: Iterable[Variant]) -> dict[tuple[str, str | None], list[str]]:
    """Return for each method and preset the settings that differ among its variants of a task, in their order."""
    first: dict[tuple[str, str, str | None], Settings] = {}
    differing: dict[tuple[str, str | None], set[str]] = {}
    for variant in variants:
        names = differing.setdefault((variant.method, variant.preset), set())
        if variant.settings is not None:
            other = first.setdefault((variant.task, variant.method, variant.preset), variant.settings)
            names.update(setting_differences(other, variant.settings))
    return {key: in_order(names) for key, names in differing.items()}


def name_variants(variants: Sequence[Variant], title: Callable[[str], str] = str) -> list[str]:
    """Return the shortest names that distinguish the variants of each task, the same for a variant in all tasks.

    A name is the title of the method, the preset if the method has several, the settings that differ, and the version
    or the data where variants would otherwise have the same name.
    """
    differing = differing_settings(variants)
    presets: dict[str, set[str | None]] = {}
    for method, preset in differing:
        presets.setdefault(method, set()).add(preset)

    def name(variant: Variant) -> str:
        words = [title(variant.method), *([variant.preset or "?"] if len(presets[variant.method]) > 1 else [])]
        words += format_settings(variant.settings, differing[variant.method, variant.preset])
        return " ".join(words)

    names = list(map(name, variants))
    by_name: dict[tuple[str, str], list[int]] = {}
    for at, variant in enumerate(variants):
        by_name.setdefault((variant.task, names[at]), []).append(at)
    for same in (positions for positions in by_name.values() if len(positions) > 1):
        versions = {variants[at].version for at in same}
        for number, at in enumerate(same, 1):
            origin = f"data {number}" if len(versions) < len(same) else f"version {variants[at].version or '?'}"
            names[at] += f" ({variants[at].rows[0].id if variants[at].settings is None else origin})"
    return names


def format_settings(settings: Settings | None, names: Iterable[str]) -> list[str]:
    """Return `classifier_rate=0.03` for each of the names that the settings have."""
    known = settings or {}
    return [f"{name}={format_setting(known[name])}" for name in names if name in known]


def variant_query(variant: Variant, names: Iterable[str]) -> str:
    """Return a query for the runs of a variant, which differs from others in the settings with these names."""
    fields = {"method": variant.rows[0].method, "task": variant.rows[0].task, "preset": variant.preset}
    words = [f"{name}:{quote_value(value)}" for name, value in fields.items() if value]
    known = variant.settings or {}
    words += [f"{name}:{quote_value(format_setting(known[name]))}" for name in names if known.get(name, "") != ""]
    return " ".join(words)


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


def exclude_other_variants(variants: Sequence[Variant]) -> list[ExcludedRuns]:
    """Describe the runs of all variants but the first as excluded; a run of two variants counts in the first."""
    counted = {run for variant in variants[:1] for run in variant.ids}
    excluded = [(variant, tuple(run for run in variant.ids if run not in counted)) for variant in variants[1:]]
    return [ExcludedRuns(describe_difference(variants[0], variant), runs) for variant, runs in excluded if runs]


def describe_difference(variant: Variant, other: Variant) -> str:
    """Describe the first difference that keeps `other` out of `variant`."""
    if other.settings is None or variant.settings is None:
        return UNREADABLE
    if changed := setting_differences(variant.settings, other.settings):
        texts = {
            name: ["not set" if value is None else format_setting(value) for value in changed[name]] for name in changed
        }
        named = [f"{name} is {theirs}, not {ours}" for name, (ours, theirs) in texts.items()]
        more = [f"{len(named) - MAXIMUM_NAMED} more settings differ"] if len(named) > MAXIMUM_NAMED else []
        return "; ".join(named[:MAXIMUM_NAMED] + more)
    if variant.data != other.data and other.data is not None:
        return f"different data: {describe_data(other.data)}"
    if variant.version != other.version:
        return f"version {other.version or 'unknown'}, not {variant.version or 'unknown'}"
    return f"commit {', '.join(other.commits) or 'unknown'}"


def setting_differences(left: Settings, right: Settings) -> dict[str, tuple[Any, Any]]:
    """Return settings that differ, as (left, right); None for a setting that one side does not have."""
    return {name: (left.get(name), right.get(name)) for name in {**left, **right} if left.get(name) != right.get(name)}


def describe_data(data: DataSummary) -> str:
    sizes = [f"{size or '?'} {name}" for size, name in zip(data.sizes, ("source", "target", "test"), strict=True)]
    return "; ".join([f"{', '.join(sizes)} images", *data.notes])
