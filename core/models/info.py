"""What is stored with a model's weights: how to use them, and where they come from."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from core.config import RunConfig
from core.data.splits import MAX_CLASSES, MAX_NAME
from core.errors import InputError
from core.metrics import METRICS
from core.validation import convert_settings

FORMAT = 1
KEY = "clarinet"
"""The key of the information in the metadata of a file."""
MAX_BYTES = 4 << 20
Side = Annotated[int, Meta(ge=1, le=8192)]
Channels = Annotated[int, Meta(ge=1, le=1024)]
Name = Annotated[str, Meta(max_length=MAX_NAME)]


class ModelInfo(Struct, frozen=True, kw_only=True):
    """The classes, the input and the provenance of a trained classifier."""

    format: int = FORMAT
    network: Name
    """The feature extractor, never `auto`."""
    shape: tuple[Side, Side, Channels]
    """Height, width and channels of an image."""
    classes: Annotated[tuple[Name, ...], Meta(min_length=2, max_length=MAX_CLASSES)]
    is_averaged: bool = False
    """Whether the weights are those of an averaged teacher."""
    label_hash: Name = ""
    """Identifies the complementary labels of the source."""
    iteration: int
    epoch: int
    selection: Name = "last epoch"
    """What selected the epoch."""
    target_accuracy: float | None = None
    source_accuracy: float | None = None
    complementary_risk: float | None = None
    target_information: float | None = None
    config: dict[str, Any]
    """All settings of the run."""
    run: Name = ""
    """The run's id."""
    commit: Name = ""
    """The commit of the code that trained it, with "+" for uncommitted changes."""
    version: Name = ""
    """The version of Clarinet that trained it."""

    @property
    def run_config(self) -> RunConfig:
        return convert_settings(self.config, "config")


SCORES = tuple(name for name in ModelInfo.__struct_fields__ if name in METRICS)


def model_scores(evaluation: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an evaluation says about a model."""
    return {score: evaluation.get(score) for score in SCORES}


def encode_info(info: ModelInfo) -> str:
    return msgspec.json.encode(info).decode()


def decode_info(content: str | bytes, place: str) -> ModelInfo:
    """Return checked information; an InputError names the file and what is wrong with it."""
    if len(content) > MAX_BYTES:
        raise InputError(f"{place}: its description is larger than {MAX_BYTES >> 20} MB")
    try:
        info = msgspec.json.decode(content, type=ModelInfo)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{place}: its description is damaged ({error})") from None
    if info.format != FORMAT:
        raise InputError(f"{place}: has format {info.format}; this version of Clarinet reads {FORMAT}")
    if len(set(info.classes)) < len(info.classes):
        raise InputError(f"{place}: its description is damaged (two classes have the same name)")
    try:
        _ = info.run_config
    except InputError as error:
        raise InputError(f"{place}: its settings are not those of this version of Clarinet ({error})") from None
    return info
