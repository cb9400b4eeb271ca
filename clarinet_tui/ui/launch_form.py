"""The content of the launch form: methods, tasks, seeds, preset, device and settings, as typed."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import msgspec

from clarinet_tui.place import PlaceName
from core.config import (
    OWN,
    RunConfig,
    SettingSpec,
    Tag,
    flatten_settings,
    own_specs,
    setting_specs,
    setting_values,
    settings_tagged,
)
from core.methods import all_setting_specs, methods
from core.tasks import OFFLINE_TASK, PAPER_TASKS

LISTED_TASKS = (*PAPER_TASKS, OFFLINE_TASK)
"""Tasks with a check box; any other task is typed."""
FORM_FIELDS = settings_tagged(Tag.IDENTITY) - {"name"} | {"device"}
"""Settings with a field of their own in the form."""


@dataclass(frozen=True)
class LaunchForm:
    """Stands for a run of each method on each task with each seed."""

    methods: tuple[str, ...] = ("clarinet",)
    tasks: tuple[str, ...] = (OFFLINE_TASK,)
    """Selected tasks of `LISTED_TASKS`."""
    other_tasks: str = ""
    """Other tasks, separated by commas."""
    seeds: str = "1"
    preset: str = "quick"
    device: str = "auto"
    sweep: str = ""
    """The name of the sweep; empty for a name made of what varies, and for a single run of no sweep."""
    tags: str = ""
    """Tags of the new runs, separated by spaces."""
    slurm: str = ""
    """Options of Slurm jobs, separated by spaces; used if that is the place."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Settings that differ from the preset, as text; a number may have several values, separated by commas."""

    @property
    def place(self) -> PlaceName:
        """Where the runs compute: the field of the device also offers other places than this machine."""
        return PlaceName(self.device) if self.device in list(PlaceName) else PlaceName.LOCAL

    def with_setting(self, name: str, text: str) -> Self:
        """Return the form with this setting; empty text removes it."""
        settings = {key: value for key, value in self.settings.items() if key != name}
        return replace(self, settings=settings | {name: text.strip()} if text.strip() else settings)


def make_form(*configs: RunConfig, sweep: str = "") -> LaunchForm:
    """Return the form that starts these runs again, one or more; raise InputError if a method is not installed."""
    from clarinet_tui.queue.sweep import format_seeds
    from core.resolve import minimal_settings

    changed = {name for config in configs for name in flatten_settings(minimal_settings(config))}
    values: dict[str, dict[Any, None]] = {}
    for config in configs:
        for name, value in setting_values(config).items():
            values.setdefault(name, {})[value] = None
    return LaunchForm(
        methods=tuple(values["method"]),
        tasks=tuple(task for task in values["task"] if task in LISTED_TASKS),
        other_tasks=", ".join(task for task in values["task"] if task not in LISTED_TASKS),
        seeds=format_seeds(sorted(values["seed"])),
        preset=next(iter(values["preset"])),
        device=next(iter(values["device"])),
        sweep=sweep,
        settings={
            name: ", ".join(map(format_value, each))
            for name, each in values.items()
            if name in changed and name not in FORM_FIELDS
        },
    )


def format_value(value: Any) -> str:
    """Format a value as one would type it, without loss."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def list_settings(form: LaunchForm | None = None) -> tuple[SettingSpec, ...]:
    """Return the settings without a field of their own in the form, in their order.

    Those that methods declare are listed if the method is selected, or if the form sets them.
    """
    usual = [spec for spec in setting_specs() if spec.name not in FORM_FIELDS]
    if form is None:
        return tuple(usual)
    selected = [
        spec for name, method in methods().items() if name in form.methods for spec in own_specs(method.settings)
    ]
    others = [spec for spec in all_setting_specs() if spec.name in form.settings]
    own = {spec.name: spec for spec in (*others, *selected) if spec.name.startswith(OWN)}
    return (*own.values(), *usual)


def allowed_values(setting: SettingSpec) -> tuple[str, ...]:
    """Return the allowed values of a choice or boolean; nothing for numbers and text."""
    value_type = setting.type
    if isinstance(value_type, msgspec.inspect.LiteralType):
        return tuple(map(str, value_type.values))
    return ("true", "false") if isinstance(value_type, msgspec.inspect.BoolType) else ()


def parse_values(setting: SettingSpec, text: str) -> list[Any]:
    """Parse the typed values; text is a single value, including its commas."""
    from clarinet_tui.queue.sweep import parse_value

    if isinstance(setting.type, msgspec.inspect.StrType):
        return [text]
    parts = [part.strip() for part in text.split(",")]
    if isinstance(setting.type, msgspec.inspect.LiteralType):
        return parts
    return [parse_value(part) for part in parts]
