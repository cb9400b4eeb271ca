"""A plug-in method with settings of its own, as if it were installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Annotated, Literal

import pytest
from msgspec import Struct

from core import methods
from core.config import setting
from core.methods import METHODS, MethodSpec


class OwnSettings(Struct, frozen=True):
    temperature: Annotated[float, setting("Temperature of the pseudo-labels.", gt=0, le=10)] = 0.5
    steps: Annotated[int, setting("Steps of each iteration.", ge=1)] = 2
    sharpen: Annotated[bool, setting("Sharpen the pseudo-labels.")] = False
    kind: Annotated[Literal["hard", "soft"], setting("Kind of the pseudo-labels.")] = "soft"


SHARP = replace(METHODS["gac+dann"], name="sharp", title="Sharp", settings=OwnSettings)
"""GAC+DANN's stages, so that it can be trained."""
SHARP_HARD = replace(SHARP, name="sharp-hard", fixed={"own": {"kind": "hard"}})


@dataclass
class EntryPoint:
    """An entry point that raises its object if that is an error."""

    loaded: object
    name: str = "sharp"
    value: str = "sharp:SHARP"

    def load(self) -> object:
        if isinstance(self.loaded, BaseException):
            raise self.loaded
        return self.loaded


@contextmanager
def installed(*loaded: object) -> Iterator[None]:
    """Install plug-ins that export these objects instead of those of this environment."""
    points = [
        EntryPoint(item, item.name if isinstance(item, MethodSpec) else "broken", f"plugin{at}:SPEC")
        for at, item in enumerate(loaded)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "entry_points", lambda group: points if group == methods.ENTRY_POINTS else [])
        methods._load_methods.cache_clear()
        yield
    methods._load_methods.cache_clear()
