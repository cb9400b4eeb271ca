"""Checkpoint files: written atomically, with the previous one kept, and loaded without running code."""

import io
import pickle
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.config import RunConfig, checkpoint_settings, merge_settings
from core.errors import InputError
from core.files import atomic_writer, partial_path

NAME = "checkpoint.pt"
PREVIOUS = "checkpoint.previous.pt"
FORMAT = 1


def save(folder: Path, config: RunConfig, state: dict[str, Any]) -> Path:
    """Write to a temporary file, sync and rename, so that one complete checkpoint exists at every moment."""
    path = folder / NAME
    content = {"format": FORMAT, "protocol": msgspec.json.encode(checkpoint_settings(config)).decode(), "state": state}
    buffer = io.BytesIO()
    torch.save(content, buffer)  # to memory: on a full disk, torch raises an unrelated error
    with atomic_writer(path, temporary=partial_path(path), previous=folder / PREVIOUS) as file:
        file.write(buffer.getbuffer())
    return path


def load(path: Path, config: RunConfig) -> dict[str, Any]:
    """Return the state in `path`; an unusable file is an InputError."""
    if path.exists() and not path.is_file():  # reading a named pipe would wait for ever
        raise InputError(f"{path}: is not a regular file")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: no checkpoint to resume from") from None
    except pickle.UnpicklingError:
        raise InputError(f"{path}: contains code or foreign objects, which are never loaded") from None
    except (RuntimeError, EOFError, zipfile.BadZipFile, OSError, ValueError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:120]
        raise InputError(f"{path}: is damaged or truncated ({reason})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT or "state" not in content:
        raise InputError(f"{path}: is not a checkpoint of this version of Clarinet")
    try:
        recorded = msgspec.json.decode(content["protocol"], type=dict[str, Any])
    except (KeyError, TypeError, msgspec.MsgspecError):
        raise InputError(f"{path}: does not record its settings") from None
    # A setting that is newer than the checkpoint had its default then.
    before, now = merge_settings(checkpoint_settings(RunConfig()), recorded), checkpoint_settings(config)
    if changed := sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name)):
        differences = [f"{name}: {before.get(name)} in the checkpoint, {now.get(name)} here" for name in changed[:3]]
        raise InputError(f"{path}: was written with other settings ({', '.join(differences)})")
    state: dict[str, Any] = content["state"]
    return state


def load_latest(folder: Path, config: RunConfig) -> tuple[dict[str, Any], str | None]:
    """Return the newest complete checkpoint, and a notice if a newer file is damaged."""
    try:
        return load(folder / NAME, config), None
    except InputError as error:
        if not (folder / PREVIOUS).exists():
            raise
        return load(folder / PREVIOUS, config), f"{error}; resuming from the previous one"


def has_finite_weights(modules: dict[str, Any]) -> bool:
    tensors = (tensor for state in modules.values() for tensor in state.values())
    return all(bool(tensor.isfinite().all()) for tensor in tensors if tensor.is_floating_point())
