"""Complete a configuration: preset, method and task set what the user did not."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from core.config import (
    OWN,
    RunConfig,
    Tag,
    convert_own,
    convert_settings,
    flatten_settings,
    format_value,
    merge_settings,
    nest_settings,
    own_specs,
    setting_values,
    settings_tagged,
)
from core.errors import InputError
from core.methods import MethodSpec, find_method, methods
from core.presets import PRESETS
from core.tasks import DOMAINS, OFFLINE_TASK, Domain, Task, parse_task


def resolve(
    settings: Mapping[str, Any] | None = None, *, source: str = "settings", cores: int | None = None, **overrides: Any
) -> RunConfig:
    """Return a complete configuration: preset, then the method's defaults, then the given settings.

    Args:
        settings: A mapping such as a TOML file contains; the tables `stage1` and `own` are mappings in it.
        source: Names the settings in errors.
        cores: The number of cores that the number of threads is chosen by; by default those of this process.
        overrides: Further settings, which replace those of `settings`.

    Returns:
        The configuration, in which every setting has a value.

    Raises:
        InputError: A setting does not exist or has a wrong value, or the method does not use it.

    Example:
        >>> from core import resolve
        >>> config = resolve(method="gac+dann", task="M->U", seed=3, stage1={"epochs": 10})
        >>> config.stage1.epochs, config.stage1.seed, config.preset
        (10, 3, 'paper')
    """
    requested = merge_settings(dict(settings or {}), overrides)
    if requested.get("precision") == 32:  # as TOML and --set read it
        requested["precision"] = "32"
    preset = requested.get("preset", "paper")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise InputError(f"{source}: preset: expected one of {', '.join(PRESETS)}, got {format_value(preset)}")
    try:
        spec = find_method(_text(requested, "method", "clarinet"))
        task = parse_task(_text(requested, "task", OFFLINE_TASK))
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    chosen = flatten_settings(requested)
    for key, value in flatten_settings(spec.fixed).items():
        if key in chosen and chosen[key] != value:
            wanted, got = format_value(value), format_value(chosen[key])
            raise InputError(f"{source}: {key}: {spec.name} is defined by {key} = {wanted}, got {got}")
    config = _complete(requested, preset, spec, task, source, cores)
    if not task.is_custom:
        return config
    # Few custom images need smaller batches, unless the user has chosen their size.
    from core.data.custom_domains import fit_batch_size

    stage1 = config.stage1
    if "batch_size" not in requested.get("stage1", {}):
        stage1 = msgspec.structs.replace(stage1, batch_size=fit_batch_size(stage1.batch_size, task))
    size = config.batch_size if "batch_size" in requested else fit_batch_size(config.batch_size, task)
    return msgspec.structs.replace(config, batch_size=size, stage1=stage1)


def _complete(
    requested: Mapping[str, Any], preset: str, spec: MethodSpec, task: Task, source: str, cores: int | None
) -> RunConfig:
    base = merge_settings(PRESETS[preset].settings_for(spec.preset_table, task), spec.defaults)
    merged = merge_settings(merge_settings(merge_settings(base, requested), spec.fixed), {"method": spec.name})
    if isinstance(own := merged.get("own", {}), Mapping):
        merged["own"] = _complete_own(own, spec, source)
    config = convert_settings(merged, source, own_specs(spec.settings))
    if spec.preset_table != "basset":
        for key in settings_tagged(Tag.BASSET) & requested.keys():
            if requested[key] != getattr(RunConfig(), key):
                raise InputError(f"{source}: {key}: {spec.name} does not use it; basset does")
    return msgspec.structs.replace(
        config,
        task=task.name,
        threads=config.threads or default_threads(cores),
        stage1=msgspec.structs.replace(config.stage1, seed=config.seed) if config.stage1.seed < 0 else config.stage1,
    )


def _complete_own(values: Mapping[str, Any], spec: MethodSpec, source: str) -> dict[str, Any]:
    """Return the method's own settings with their defaults; those of another method are an InputError."""
    ours = [own.name for own in own_specs(spec.settings)]
    for name in (f"{OWN}{key}" for key in values):
        users = [other.name for other in methods().values() if name in (own.name for own in own_specs(other.settings))]
        if users and name not in ours:
            raise InputError(f"{source}: {name}: {spec.name} does not use it; {users[0]} does")
        if not ours:
            raise InputError(f"{source}: {name}: no such setting; {spec.name} has none of its own")
    return msgspec.to_builtins(convert_own(values, spec.settings, source)) if spec.settings else {}


def _text(requested: Mapping[str, Any], name: str, default: str) -> str:
    value = requested.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {format_value(value)}")
    return value


def available_cores() -> int:
    """Return the cores that this process may use; where the system does not restrict processes, all of them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_threads(cores: int | None = None) -> int:
    """Return the number of cores, at most eight: more rarely help networks of this size."""
    return max(1, min(8, cores or available_cores()))


def changed_settings(config: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Return what differs from the preset: name → (default, value), in the order of the settings.

    A number of threads chosen by the machine is no change. A method that is not installed is an InputError.
    """
    requested = {name: getattr(config, name) for name in ("method", "task", "seed", "preset")}
    source, _, target = config.task.partition("->")
    sides = (DOMAINS.get(side) or Domain(side, side, side, folder=Path(side)) for side in (source, target))
    task = Task(*sides)  # the custom folders of a run from another machine need not exist here
    default = _complete(requested, config.preset, find_method(config.method), task, "settings", cores=config.threads)
    defaults = setting_values(default)
    pairs = {name: (defaults.get(name), value) for name, value in setting_values(config).items()}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def minimal_settings(config: RunConfig) -> dict[str, Any]:
    """Return the fewest settings that resolve to this configuration."""
    minimal = {name: getattr(config, name) for name in ("preset", "method", "task", "seed")}
    return nest_settings(minimal | {name: value for name, (_, value) in changed_settings(config).items()})
