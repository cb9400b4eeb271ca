"""The whole state of a run on disk: written atomically, the one before kept, never run as code."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import torch

from core.config import RunConfig, checkpoint_settings, merge_settings
from core.errors import InputError

NAME = "checkpoint.pt"
PREVIOUS = "checkpoint.previous.pt"
FORMAT = 1


def save(folder: Path, config: RunConfig, state: dict[str, Any]) -> Path:
    """Write beside, sync, then rename: at every moment one whole checkpoint is there under a known name."""
    path, temporary = folder / NAME, folder / f".{NAME}.partial"
    content = {"format": FORMAT, "protocol": msgspec.json.encode(checkpoint_settings(config)).decode(), "state": state}
    buffer = io.BytesIO()
    torch.save(content, buffer)  # to memory: on a full disk, torch tells of its own confusion and not of the disk
    temporary.unlink(missing_ok=True)  # it may be a link to somewhere else
    with temporary.open("xb") as file:
        file.write(buffer.getbuffer())
        file.flush()
        os.fsync(file.fileno())
    if path.exists():
        path.replace(folder / PREVIOUS)
    temporary.replace(path)
    _sync_folder(folder)
    return path


def load(path: Path, config: RunConfig) -> dict[str, Any]:
    """The state in `path`, or a sentence that says why it cannot be used."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no checkpoint to go on from") from None
    except pickle.UnpicklingError:
        raise InputError(f"{path}: holds code or foreign objects, which are never loaded") from None
    except (RuntimeError, EOFError, zipfile.BadZipFile, OSError, ValueError) as error:
        raise InputError(f"{path}: is damaged or cut short ({_first_line(error)})") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path}: is not a checkpoint of this version of Clarinet")
    try:
        recorded = msgspec.json.decode(content["protocol"], type=dict[str, Any])
    except (KeyError, TypeError, msgspec.MsgspecError):
        raise InputError(f"{path}: does not say which settings it belongs to") from None
    if differences := _differences(recorded, checkpoint_settings(config)):
        raise InputError(f"{path}: belongs to another configuration ({', '.join(differences[:3])})")
    state: dict[str, Any] = content["state"]
    return state


def load_latest(folder: Path, config: RunConfig) -> tuple[dict[str, Any], str | None]:
    """The newest whole checkpoint, and a sentence if that is not the newest file."""
    try:
        return load(folder / NAME, config), None
    except InputError as error:
        if not (folder / PREVIOUS).exists():
            raise
        return load(folder / PREVIOUS, config), f"{error}; going on from the one before it"


def _differences(recorded: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """A setting that came after the checkpoint was written had its default then."""
    before = merge_settings(checkpoint_settings(RunConfig()), recorded)
    names = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    return [f"{name}: {before.get(name)} there, {now.get(name)} here" for name in names]


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:120]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
