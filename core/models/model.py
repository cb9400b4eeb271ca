"""A trained classifier, ready to use: of a run's final weights, of a checkpoint, or before training."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from core.config import RunConfig
from core.data.batches import normalise
from core.data.images import can_convert, convert_images, decode_image, is_one_image
from core.device import find_device
from core.errors import InputError
from core.methods import find_method
from core.methods.algorithm import seeded
from core.models.checkpoint import load_latest
from core.models.weights_file import (
    MODEL_FILE,
    ModelInfo,
    build_network,
    decode_info,
    describe_model,
    encode_info,
    read_weights,
)
from core.networks import Classifier, build_classifier, network_options
from core.random_streams import stream_seed

BATCH_BYTES = 2**26
"""Bytes of the normalised images of one forward pass."""


@dataclass(frozen=True)
class Prediction:
    """The most probable class of an image, and the next one."""

    label: str
    probability: float
    second_label: str
    second_probability: float


class Model:
    """A network with its classes, its input and its provenance (`info`)."""

    def __init__(self, network: Classifier, info: ModelInfo, device: str = "cpu") -> None:
        self.info = info
        self.device = find_device(device)
        self.network = network.to(self.device).eval()
        self.cuts_images = info.run_config.fit == "cut"
        """Whether images of other proportions are cut instead of stretched, as in training."""

    @property
    def classes(self) -> tuple[str, ...]:
        return self.info.classes

    def probabilities(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return (N, K) of images (N, H, W, C) or (N, H, W), which are converted as the training images were."""
        logits, _ = self._forward(images)
        return logits.softmax(dim=1).cpu().numpy()

    def logits(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return (N, K), the outputs of F before the softmax."""
        return self._forward(images)[0].cpu().numpy()

    def features(self, images: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return (N, width), the outputs of G."""
        return self._forward(images)[1].cpu().numpy()

    def predict(self, images: NDArray[np.uint8]) -> list[Prediction]:
        """Return the prediction for each of the images (N, H, W, C) or (N, H, W)."""
        predictions = []
        for row in self.probabilities(images):
            first, second = (int(index) for index in np.argsort(-row, kind="stable")[:2])
            predictions.append(
                Prediction(self.classes[first], float(row[first]), self.classes[second], float(row[second]))
            )
        return predictions

    def predict_file(self, path: Path | str) -> Prediction:
        """Return the prediction for one picture; an unreadable one is an InputError that names it."""
        return self.predict(self.read_picture(path)[None])[0]

    def read_picture(self, path: Path | str) -> NDArray[np.uint8]:
        """Return a .png or .jpg file as an image (H, W, C) of the model's shape."""
        if self.info.shape[2] not in (1, 3):
            raise InputError(f"{path}: pictures have 1 or 3 channels, images of this model {self.info.shape[2]}")
        return decode_image(Path(path), self.info.shape, cut=self.cuts_images)

    @torch.inference_mode()
    def _forward(self, images: NDArray[np.uint8]) -> tuple[Tensor, Tensor]:
        """Return logits and features."""
        x = images[..., None] if images.ndim == 3 else images
        if x.dtype != np.uint8 or x.ndim != 4 or is_one_image(images):
            raise InputError(f"images: expected uint8 (N, H, W, C), got {images.dtype} {images.shape}")
        if 0 in x.shape[1:] or not can_convert(x.shape[3], self.info.shape[2]):
            wanted = "×".join(map(str, self.info.shape))
            raise InputError(f"images: expected (N, H, W, C) that can be converted to {wanted}, got {x.shape}")
        count = max(1, BATCH_BYTES // (4 * int(np.prod(self.info.shape))))
        outputs = []
        for start in range(0, len(x), count):
            converted = convert_images(x[start : start + count], self.info.shape, cut=self.cuts_images)
            batch = normalise(torch.from_numpy(np.array(converted)).to(self.device), channels_last=False)
            outputs.append(self.network(batch))
        if not outputs:
            return torch.empty(0, len(self.classes)), torch.empty(0, self.network.width)
        features, logits = (torch.cat(parts) for parts in zip(*outputs, strict=True))
        return logits, features


def load_model(path: Path | str, device: str = "cpu") -> Model:
    """Load a trained classifier.

    Args:
        path: A run's directory, whose final weights are loaded, or a .safetensors file that `clarinet save` wrote.
        device: "cpu", "cuda:0", or "auto" for a GPU if there is one.

    Returns:
        The model, in evaluation mode.

    Raises:
        InputError: The file is missing, damaged or not written by Clarinet, or the device does not exist.

    Example:
        >>> from core import load_model
        >>> model = load_model("my-run")
        >>> model.classes
        ('0', '1', '2', '3', '4', '5', '6', '7', '8', '9')
        >>> prediction = model.predict_file("seven.png")
        >>> prediction.label in model.classes
        True
    """
    path = Path(path)
    return Model(*read_weights(path / MODEL_FILE if path.is_dir() else path), device)


def model_from_checkpoint(folder: Path, config: RunConfig, started: Mapping[str, Any], device: str = "cpu") -> Model:
    """Return the model of the newest checkpoint; `started` has the fields of the run's first event."""
    state, _ = load_latest(folder, config)
    try:
        modules, position = state["algorithm"]["modules"], state["position"]
        weights, is_averaged = modules["classifier"], "teacher" in modules
        if is_averaged:
            own = "classifier."  # the teacher's other values are not weights of its classifier
            teacher = modules["teacher"].items()
            weights = {name.removeprefix(own): value for name, value in teacher if name.startswith(own)}
        last = state["last"]
        info = describe_model(
            config,
            tuple(started["shape"]),
            tuple(started["classes"]),
            msgspec.json.decode(last, type=dict[str, Any]) if last else {},
            is_averaged=is_averaged,
            label_hash=str(started.get("label_hash", "")),
            iteration=position["iteration"],
            epoch=position["evaluated"],
            selection="newest checkpoint",
        )
        info = decode_info(encode_info(info), "checkpoint")  # checks what the run's first event has
        network = build_network(info, weights, str(folder))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{folder}: its checkpoint has no weights of a classifier ({error})") from None
    return Model(network, info, device)


def initial_model(info: ModelInfo, device: str = "cpu") -> Model:
    """Return the model with the initial weights of the run's first stage, which its seed decides."""
    config = info.run_config
    stage = find_method(config.method).stages[0]
    seed = config.stage1.seed if stage.stage1 else config.seed
    with seeded(stream_seed(seed, stage.name, "G and F")):
        network = build_classifier(
            config.network, info.shape, len(info.classes), config.weights, **network_options(config)
        )
    first = msgspec.structs.replace(info, iteration=0, epoch=0, selection="initial weights", is_averaged=False)
    return Model(network.requires_grad_(False), first, device)
