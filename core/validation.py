"""Convert settings that a user wrote; a wrong one is explained in one sentence."""

import difflib
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from core.config import RunConfig
from core.errors import InputError
from core.setting_specs import setting_specs

UNKNOWN_FIELD = re.compile(r"Object contains unknown field `(.*?)`(?: - at `\$\.(.*)`)?", re.DOTALL)


def convert_settings(settings: Mapping[str, Any], place: str) -> RunConfig:
    """Convert a complete mapping; an InputError names a wrong key or value with its place."""
    try:
        config = msgspec.convert(settings, RunConfig)
    except msgspec.ValidationError as error:
        raise InputError(f"{place}: {_explain(str(error), settings)}") from None
    for name, value in _flat(msgspec.to_builtins(config)):
        if limit := _storage_limit(value):
            raise InputError(f"{place}: {name}: expected {_describe_setting(name)} {limit}, got {format_value(value)}")
    return config


def _flat(table: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.")
        else:
            yield prefix + key, value


def _storage_limit(value: Any) -> str | None:
    """Return the limit that a value exceeds if torch, JSON or SQLite cannot store it, such as infinity."""
    if isinstance(value, str):
        return None if value.encode(errors="replace").decode() == value else "in UTF-8"
    if isinstance(value, float):
        return None if math.isfinite(value) else "that is finite"
    return None if abs(value) < 2**63 else "of at most 63 bits"


def merge_settings(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `base` updated with `over`, table by table."""
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            value = merge_settings(old, value)
        merged[key] = value
    return merged


def _explain(message: str, settings: Mapping[str, Any]) -> str:
    """Rephrase msgspec's message: `epochs: expected an integer ≥ 1, got "ten"`."""
    if unknown := UNKNOWN_FIELD.fullmatch(message):
        key, path = unknown[1], unknown[2]
        full = f"{path}.{key}" if path else key
        names = [spec.name for spec in setting_specs()]
        if full in names:
            return f"{full}: write this as {key.split('.')[1]} in the table {key.split('.')[0]}"
        near = difflib.get_close_matches(full, names, n=1)
        return f"{full}: no such setting" + (f"; did you mean {near[0]}?" if near else "")
    path = message.split("`$")[-1].strip("`.") if "`$" in message else ""
    value: Any = settings
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return f"{path}: expected {_describe_setting(path)}, got {format_value(value)}"


def _describe_setting(path: str) -> str:
    return next((describe_type(spec.type) for spec in setting_specs() if spec.name == path), "a table")


def describe_type(info: msgspec.inspect.Type) -> str:
    """Describe a type and its bounds, such as "an integer ≥ 1"."""
    if isinstance(info, msgspec.inspect.Metadata):
        return describe_type(info.type)
    if isinstance(info, msgspec.inspect.LiteralType):
        return "one of " + ", ".join(str(value) for value in info.values)
    if isinstance(info, msgspec.inspect.BoolType):
        return "true or false"
    if isinstance(info, msgspec.inspect.IntType | msgspec.inspect.FloatType):
        noun = "an integer" if isinstance(info, msgspec.inspect.IntType) else "a number"
        bounds = [
            f"{sign} {bound:g}" if isinstance(bound, float) else f"{sign} {bound}"
            for sign, bound in ((">", info.gt), ("≥", info.ge), ("<", info.lt), ("≤", info.le))
            if bound is not None
        ]
        return " ".join([noun, " and ".join(bounds)]).strip()
    if isinstance(info, msgspec.inspect.StrType) and info.max_length:
        return f"a text of at most {info.max_length} characters"
    return "a text"


def format_value(value: Any) -> str:
    """Return a value as errors quote it, shortened to 80 characters."""
    text = f'"{value}"' if isinstance(value, str) else str(value)
    return text if len(text) <= 80 else text[:77] + "…"
