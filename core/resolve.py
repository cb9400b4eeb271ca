"""From what was asked for to a full configuration: preset, method and task decide the rest."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from core.config import RunConfig, convert, merge, shown
from core.errors import InputError
from core.methods import find_method
from core.presets import PRESETS
from core.tasks import OFFLINE_TASK, parse_task


def resolve(
    settings: Mapping[str, Any] | None = None, *, place: str = "settings", cores: int | None = None, **overrides: Any
) -> RunConfig:
    """The full configuration: preset, then the method's own defaults, then what was asked for.

    `settings` is a (possibly nested) mapping such as a TOML file holds; `place` names it in errors.
    """
    asked = merge(dict(settings or {}), overrides)
    preset = asked.get("preset", "paper")
    if preset not in PRESETS:
        raise InputError(f"{place}: preset: expected one of {', '.join(PRESETS)}, got {shown(preset)}")
    spec = find_method(asked.get("method", "clarinet"))
    for key, value in spec.fixed.items():
        if key in asked and asked[key] != value:
            raise InputError(
                f"{place}: {key}: {spec.name} is defined by {key} = {shown(value)}, got {shown(asked[key])}"
            )
    task = parse_task(str(asked.get("task", OFFLINE_TASK)))
    base = merge(PRESETS[preset].settings_for(spec.family, task), spec.defaults)
    config = convert(merge(merge(base, asked), {**spec.fixed, "method": spec.name}), place)
    return msgspec.structs.replace(
        config,
        task=task.name,
        threads=config.threads or default_threads(cores),
        stage1=msgspec.structs.replace(config.stage1, seed=config.seed) if config.stage1.seed < 0 else config.stage1,
    )


def default_threads(cores: int | None = None) -> int:
    """All cores, at most eight: more rarely helps networks of this size."""
    return max(1, min(8, cores or os.cpu_count() or 1))


def data_seed(config: RunConfig) -> int:
    """The seed of label draw and subsets: stage 1's where there is one, so that a fixed one shares its labels."""
    return config.stage1.seed if find_method(config.method).has_stage1 else config.seed
