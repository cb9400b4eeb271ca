"""What the launch form holds: methods, tasks, seeds, preset, device and settings, as they were typed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from core.config import Field, RunConfig, fields
from core.tasks import OFFLINE_TASK, PAPER_TASKS

OFFERED_TASKS = (*PAPER_TASKS, OFFLINE_TASK)
"""The tasks that are to be picked; any other one is typed."""
OWN_FIELDS = frozenset({"method", "task", "seed", "preset", "device"})
"""Settings with a place of their own in the form."""


@dataclass(frozen=True)
class Form:
    """Every run that it stands for: each method on each task with each seed."""

    methods: tuple[str, ...] = ("clarinet",)
    tasks: tuple[str, ...] = (OFFLINE_TASK,)
    """Of those that are offered."""
    other_tasks: str = ""
    """Others, with commas between them."""
    seeds: str = "1"
    preset: str = "quick"
    device: str = "auto"
    settings: Mapping[str, str] = field(default_factory=dict)
    """What else differs from the preset, as text; a number may have several values, with commas between them."""

    def with_setting(self, name: str, text: str) -> Form:
        """With this value; an empty one leaves the setting to the preset."""
        settings = {key: value for key, value in self.settings.items() if key != name}
        return replace(self, settings=settings | {name: text.strip()} if text.strip() else settings)


def form_of(config: RunConfig) -> Form:
    """The form that makes this run again. A method that is not installed here is an InputError."""
    from clarinet_tui.queue.sweep import flattened
    from core.resolve import settings_of

    said = dict(flattened(settings_of(config)))
    task = said["task"]
    offered = task in OFFERED_TASKS
    return Form(
        methods=(said["method"],),
        tasks=(task,) if offered else (),
        other_tasks="" if offered else task,
        seeds=str(said["seed"]),
        preset=said["preset"],
        device=said.get("device", "auto"),
        settings={name: typed(value) for name, value in said.items() if name not in OWN_FIELDS},
    )


def typed(value: Any) -> str:
    """A value as one would type it, and exactly that value."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def settings_offered() -> Iterator[Field]:
    """The settings that can be changed beside the form's own fields, in the config's order."""
    return (one for one in fields() if one.name not in OWN_FIELDS)


def words_of(setting: Field) -> tuple[str, ...]:
    """The values of a setting that has only a few; nothing for numbers and texts."""
    kind = plain_type(setting)
    if isinstance(kind, msgspec.inspect.LiteralType):
        return tuple(map(str, kind.values))
    return ("true", "false") if isinstance(kind, msgspec.inspect.BoolType) else ()


def plain_type(setting: Field) -> msgspec.inspect.Type:
    kind = setting.type
    while isinstance(kind, msgspec.inspect.Metadata):
        kind = kind.type
    return kind


def values_of(setting: Field, text: str) -> list[Any]:
    """The values that were typed; texts are one value, commas and all."""
    if isinstance(plain_type(setting), msgspec.inspect.StrType):
        return [text]
    parts = [part.strip() for part in text.split(",")]
    if isinstance(plain_type(setting), msgspec.inspect.LiteralType):
        return parts
    return [_value(part) for part in parts]


def _value(text: str) -> Any:
    """A value as TOML has it; what is no TOML is text, and will be refused with the sentence that fits."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
