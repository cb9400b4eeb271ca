"""From what was asked for to a full configuration: preset, method and task decide the rest."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from core.config import RunConfig, convert, merge, shown
from core.errors import InputError
from core.methods import find_method, methods
from core.presets import PRESETS
from core.tasks import OFFLINE_TASK, parse_task


def resolve(
    settings: Mapping[str, Any] | None = None, *, place: str = "settings", cores: int | None = None, **overrides: Any
) -> RunConfig:
    """The full configuration: preset, then the method's own defaults, then what was asked for.

    `settings` is a (possibly nested) mapping such as a TOML file holds; `place` names it in errors.
    """
    asked = merge(dict(settings or {}), overrides)
    if asked.get("precision") == 32:  # as TOML and --set read it
        asked["precision"] = "32"
    preset = asked.get("preset", "paper")
    if not isinstance(preset, str) or preset not in PRESETS:
        raise InputError(f"{place}: preset: expected one of {', '.join(PRESETS)}, got {shown(preset)}")
    methods()  # a plug-in that cannot be used is no matter of this place
    try:
        spec = find_method(_text(asked, "method", "clarinet"))
        task = parse_task(_text(asked, "task", OFFLINE_TASK))
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    for key, value in spec.fixed.items():
        if key in asked and asked[key] != value:
            raise InputError(
                f"{place}: {key}: {spec.name} is defined by {key} = {shown(value)}, got {shown(asked[key])}"
            )
    base = merge(PRESETS[preset].settings_for(spec.family, task), spec.defaults)
    config = convert(merge(merge(base, asked), {**spec.fixed, "method": spec.name}), place)
    return msgspec.structs.replace(
        config,
        task=task.name,
        threads=config.threads or default_threads(cores),
        stage1=msgspec.structs.replace(config.stage1, seed=config.seed) if config.stage1.seed < 0 else config.stage1,
    )


def _text(asked: Mapping[str, Any], name: str, default: str) -> str:
    value = asked.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name}: expected a text, got {shown(value)}")
    return value


def default_threads(cores: int | None = None) -> int:
    """All cores, at most eight: more rarely helps networks of this size."""
    return max(1, min(8, cores or os.cpu_count() or 1))


def data_seed(config: RunConfig) -> int:
    """The seed of label draw and subsets: stage 1's where there is one, so that a fixed one shares its labels."""
    return config.stage1.seed if find_method(config.method).has_stage1 else config.seed
