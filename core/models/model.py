"""A trained classifier: its .safetensors file, which is read without running code, its description, its predictions."""

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import torch
from msgspec import Meta, Struct
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from core.config import RunConfig, convert_settings
from core.data.batches import normalise
from core.data.images import can_convert, convert_images, decode_image, is_one_image
from core.data.task_data import MAX_CLASSES, MAX_NAME
from core.device import find_device
from core.errors import InputError
from core.methods import find_method
from core.methods.algorithm import seeded
from core.metrics import METRICS
from core.models.checkpoint import load_latest
from core.networks import Classifier, build_classifier, choose_network
from core.random_streams import stream_seed
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
    run: Name = ""
    commit: Name = ""
    """The commit of the code that trained it, with "+" for uncommitted changes."""
    version: Name = ""

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


# -- files -----------------------------------------------------------------------------------------------------------

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
    config = msgspec.structs.replace(info.run_config, network=info.network, weights="")
    with torch.device("meta"):  # without initial weights, which would draw from the global generator
        network = build_classifier(config, info.shape, len(info.classes))
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


# -- predictions -----------------------------------------------------------------------------------------------------

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
            first, second = np.argsort(-row, kind="stable")[:2].tolist()
            names = self.classes
            predictions.append(Prediction(names[first], float(row[first]), names[second], float(row[second])))
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
        network = build_classifier(config, info.shape, len(info.classes))
    first = msgspec.structs.replace(info, iteration=0, epoch=0, selection="initial weights", is_averaged=False)
    return Model(network.requires_grad_(False), first, device)
