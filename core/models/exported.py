"""A model as ONNX or as a program of torch.export: bytes (N, H, W, C) in, probabilities and logits out."""

import importlib
import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from core.errors import InputError
from core.models.model import KEY, Model, encode_info
from core.networks import Classifier

INPUT, OUTPUTS = "images", ["probabilities", "logits"]
TOLERANCE = 1e-4
"""Largest allowed difference between the probabilities of an exported model and our own."""


class PixelClassifier(nn.Module):
    """The classifier with the conversion of its input, so that users cannot scale images in another way."""

    def __init__(self, classifier: Classifier) -> None:
        super().__init__()
        self.classifier = classifier

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """Return probabilities and logits of uint8 images (N, H, W, C)."""
        _, logits = self.classifier(images.permute(0, 3, 1, 2).to(torch.float32) * (1 / 127.5) - 1)
        return logits.softmax(dim=1), logits


def export_program(model: Model) -> bytes:
    """Return a .pt2 file for any batch size, with the description as its extra file `clarinet.json`."""
    buffer = io.BytesIO()
    with _quiet():
        torch.export.save(_program(model), buffer, extra_files={f"{KEY}.json": encode_info(model.info)})
    return buffer.getvalue()


def export_onnx(model: Model) -> bytes:
    """Return an .onnx file for any batch size that onnxruntime computes as we do."""
    onnx, runtime = _import_extra("onnx"), _import_extra("onnxruntime")
    _import_extra("onnxscript")
    with _quiet():
        program: Any = torch.onnx.export(
            _program(model), input_names=[INPUT], output_names=OUTPUTS, dynamo=True, verbose=False
        )
    proto = program.model_proto
    onnx.helper.set_model_props(proto, {KEY: encode_info(model.info)})
    content: bytes = proto.SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    images = np.random.default_rng(0).integers(0, 256, (3, *model.info.shape), dtype=np.uint8)
    probabilities, _ = session.run(OUTPUTS, {INPUT: images})
    difference = float(np.abs(probabilities - model.probabilities(images)).max())
    if not difference <= TOLERANCE:
        raise InputError(f"the ONNX model differs from ours by {difference:.2g}, more than {TOLERANCE:g}")
    return content


def _program(model: Model) -> torch.export.ExportedProgram:
    classifier = PixelClassifier(model.network.cpu()).eval()
    example = torch.zeros((2, *model.info.shape), dtype=torch.uint8)
    return torch.export.export(classifier, (example,), dynamic_shapes={INPUT: {0: torch.export.Dim.DYNAMIC}})


def _import_extra(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"{name} is not installed: pip install 'clarinet-tui[onnx]'") from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what torch's exporters print about their own progress and about deprecations inside torch."""
    levels = {name: logging.getLogger(name).level for name in ("torch.onnx", "onnxscript", "torch.export")}
    for name in levels:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)
