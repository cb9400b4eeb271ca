"""The settings of a run as forms, help pages and queries list them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct

from core.config import RunConfig, Stage1


@dataclass(frozen=True)
class SettingSpec:
    """One setting as a form or a help page shows it."""

    name: str
    type: msgspec.inspect.Type
    default: Any
    description: str

    @property
    def plain_type(self) -> msgspec.inspect.Type:
        """The type without its description and tags."""
        value_type = self.type
        while isinstance(value_type, msgspec.inspect.Metadata):
            value_type = value_type.type
        return value_type


@cache
def setting_specs() -> tuple[SettingSpec, ...]:
    """Return every setting, those of stage 1 as `stage1.epochs`."""
    return tuple(_specs(RunConfig, ""))


def _specs(struct: type[Struct], prefix: str) -> Iterator[SettingSpec]:
    for field in msgspec.structs.fields(struct):
        if field.type is Stage1 or getattr(field.type, "__origin__", None) is Stage1:
            yield from _specs(Stage1, f"{field.name}.")
            continue
        description = next(meta.description for meta in field.type.__metadata__ if meta.description)
        yield SettingSpec(prefix + field.name, msgspec.inspect.type_info(field.type), field.default, description or "")
