"""The model in a checkpoint, for runs that have not finished or were trained before final weights were kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from core.config import RunConfig
from core.errors import InputError
from core.models.info import ModelInfo, decode_info, encode_info, model_scores
from core.models.model import Model
from core.models.weights_file import build_network
from core.networks import choose_network
from core.training.checkpoint import load_latest

TEACHER = "classifier."
"""The prefix of a teacher's own classifier."""


def model_from_checkpoint(folder: Path, config: RunConfig, started: Mapping[str, Any], device: str = "cpu") -> Model:
    """Return the model of the newest checkpoint; `started` has the fields of the run's first event."""
    state, _ = load_latest(folder, config)
    try:
        modules, position = state["algorithm"]["modules"], state["position"]
        weights, is_averaged = modules["classifier"], "teacher" in modules
        if is_averaged:
            teacher = modules["teacher"].items()
            weights = {name.removeprefix(TEACHER): value for name, value in teacher if name.startswith(TEACHER)}
        info = _describe(config, started, position, is_averaged, state["last"])
        network = build_network(info, weights, str(folder))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder}: its checkpoint has no weights of a classifier ({error})") from None
    return Model(network, info, device)


def _describe(
    config: RunConfig, started: Mapping[str, Any], position: Mapping[str, Any], is_averaged: bool, last: str | None
) -> ModelInfo:
    evaluation = msgspec.json.decode(last, type=dict[str, Any]) if last else {}
    shape = tuple(started["shape"])
    info = ModelInfo(
        network=choose_network(shape) if config.network == "auto" else config.network,
        shape=shape,
        classes=tuple(started["classes"]),
        is_averaged=is_averaged,
        label_hash=str(started.get("label_hash", "")),
        iteration=position["iteration"],
        epoch=position["evaluated"],
        selection="newest checkpoint",
        config=msgspec.to_builtins(config),
        **model_scores(evaluation),
    )
    return decode_info(encode_info(info), "checkpoint")
