"""Weights in a .safetensors file, which is read without running code, with how to use them and where they come from."""

import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import torch
from msgspec import Meta, Struct
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from core.config import RunConfig, convert_settings
from core.data.task_data import MAX_CLASSES, MAX_NAME
from core.errors import InputError
from core.metrics import METRICS
from core.networks import Classifier, build_classifier, choose_network, network_options
from core.tasks import Shape

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


def describe_model(
    config: RunConfig, shape: Shape, classes: tuple[str, ...], evaluation: Mapping[str, Any], **fields: Any
) -> ModelInfo:
    """Return the description of a run's model; `evaluation` has the fields of an `Evaluated` event, or none."""
    fields |= {score: evaluation.get(score) for score in SCORES}
    return ModelInfo(
        network=choose_network(shape) if config.network == "auto" else config.network,
        shape=shape,
        classes=classes,
        config=msgspec.to_builtins(config),
        **fields,
    )


def encode_info(info: ModelInfo) -> str:
    return msgspec.json.encode(info).decode()


def decode_info(content: str | bytes, source: str) -> ModelInfo:
    """Return checked information; an InputError names the file and what is wrong with it."""
    if len(content) > MAX_BYTES:
        raise InputError(f"{source}: its description is larger than {MAX_BYTES >> 20} MB")
    try:
        info = msgspec.json.decode(content, type=ModelInfo)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{source}: its description is damaged ({error})") from None
    if info.format != FORMAT:
        raise InputError(f"{source}: has format {info.format}; this version of Clarinet reads {FORMAT}")
    if len(set(info.classes)) < len(info.classes):
        raise InputError(f"{source}: its description is damaged (two classes have the same name)")
    try:
        _ = info.run_config
    except InputError as error:
        raise InputError(f"{source}: its settings are not those of this version of Clarinet ({error})") from None
    return info


SUFFIX = ".safetensors"
MODEL_FILE = f"model{SUFFIX}"
"""The final weights in a run's directory."""


def epoch_file(epoch: int) -> str:
    """Return the name of the file with the weights of an epoch, for runs that keep all of them."""
    return f"model-{epoch:05d}{SUFFIX}"


def encode_weights(network: nn.Module, info: ModelInfo) -> bytes:
    """Return the content of a .safetensors file."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in network.state_dict().items()}
    content: bytes = save(tensors, {"format": "pt", KEY: encode_info(info)})
    return content


def read_weights(path: Path) -> tuple[Classifier, ModelInfo]:
    """Return the network and its description; a file that is damaged or does not fit is an InputError."""
    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            if KEY not in metadata:
                raise InputError(f"{path}: was not written by Clarinet (it does not describe its classes and input)")
            info = decode_info(metadata[KEY], str(path))
            names = list(file.keys())
            tensors = {name: file.get_tensor(name).clone() for name in names}  # aligned, for the same rounding
    except (SafetensorError, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:160]
        raise InputError(f"{path}: is not a complete .safetensors file ({reason})") from None
    return build_network(info, tensors, str(path)), info


def build_network(info: ModelInfo, tensors: dict[str, Tensor], source: str) -> Classifier:
    """Return the network of a description with these weights, ready to predict."""
    with torch.device("meta"):  # without initial weights, which would draw from the global generator
        network = build_classifier(info.network, info.shape, len(info.classes), **network_options(info.run_config))
    expected = network.state_dict()
    if missing := sorted(expected.keys() ^ tensors.keys()):
        reason = "is missing" if missing[0] in expected else "is not part of it"
        raise InputError(f"{source}: its weights do not fit {info.network}: {missing[0][:80]} {reason}")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            wanted, got = (f"{tuple(value.shape)} {value.dtype}" for value in (expected[name], tensor))
            raise InputError(f"{source}: its weights do not fit {info.network}: {name} should be {wanted}, is {got}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{source}: {name} contains values that are not finite")
    network.load_state_dict(tensors, assign=True)
    return network.requires_grad_(False).eval()


def check_regular(path: Path) -> None:
    """Refuse what is not a regular file: reading a named pipe would wait for ever."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is not a regular file")
