"""Weights with their description in a .safetensors file, which is read without running code."""

import stat
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from core.errors import InputError
from core.files import replace_synced
from core.models.info import KEY, ModelInfo, decode_info, encode_info
from core.networks import Classifier, build_classifier, network_options

SUFFIX = ".safetensors"
MODEL_FILE = f"model{SUFFIX}"
"""The final weights in a run's directory."""


def epoch_file(epoch: int) -> str:
    """Return the name of the file with the weights of an epoch, for runs that keep all of them."""
    return f"model-{epoch:05d}{SUFFIX}"


def write_weights(path: Path, network: nn.Module, info: ModelInfo) -> None:
    """Write a file atomically; OSError if that fails."""
    replace_synced(path, encode_weights(network, info))


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
        raise InputError(f"{path}: is not a complete .safetensors file ({_first_line(error)})") from None
    return build_network(info, tensors, str(path)), info


def build_network(info: ModelInfo, tensors: dict[str, Tensor], place: str) -> Classifier:
    """Return the network of a description with these weights, ready to predict."""
    with torch.device("meta"):  # without initial weights, which would draw from the global generator
        network = build_classifier(info.network, info.shape, len(info.classes), **network_options(info.run_config))
    expected = network.state_dict()
    if missing := sorted(expected.keys() ^ tensors.keys()):
        reason = "is missing" if missing[0] in expected else "is not part of it"
        raise InputError(f"{place}: its weights do not fit {info.network}: {missing[0][:80]} {reason}")
    for name, tensor in tensors.items():
        if tensor.shape != expected[name].shape or tensor.dtype != expected[name].dtype:
            wanted, got = (f"{tuple(value.shape)} {value.dtype}" for value in (expected[name], tensor))
            raise InputError(f"{place}: its weights do not fit {info.network}: {name} should be {wanted}, is {got}")
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            raise InputError(f"{place}: {name} contains values that are not finite")
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


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:160]
