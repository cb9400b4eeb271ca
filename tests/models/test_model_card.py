"""The program in a model card reads pictures as training does, and the card describes what was trained."""

import contextlib
import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from PIL import Image

from clarinet_tui.models.model_card import model_card
from core.data.images import decode_image
from core.models.model import ModelInfo
from core.resolve import resolve


def describe(shape: tuple[int, int, int] = (20, 24, 3), **settings: Any) -> ModelInfo:
    config = msgspec.to_builtins(resolve(task="M->U", **settings))
    return ModelInfo(network="convnet", shape=shape, classes=("a", "b"), iteration=1, epoch=1, config=config)


def program(card: str) -> str:
    return card.partition("```python\n")[2].partition("```")[0]


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("fit", ["cut", "stretch"])
@pytest.mark.parametrize("size", [(57, 64), (90, 131)])
@pytest.mark.parametrize("bits", [8, 16])
def test_program_reads_a_picture_as_training_does(
    channels: int, fit: str, size: tuple[int, int], bits: int, tmp_path: Path
) -> None:
    info = describe((20, 24, channels), fit=fit)
    pixels = np.random.default_rng(0).integers(0, 2**bits, size, dtype=f"uint{bits}")
    Image.fromarray(pixels).save(tmp_path / "picture.png")
    found: dict[str, Any] = {}
    with contextlib.chdir(tmp_path):
        exec(program(model_card(info, Path("model.pt2"))).partition("model = ")[0], found)
    expected = decode_image(tmp_path / "picture.png", info.shape, cut=fit == "cut")
    assert np.array_equal(found["images"][0], expected)


def test_any_name_of_a_file_is_text_of_a_program() -> None:
    name = os.fsdecode(b'caf\xe9 "1"\n.safetensors')
    card = model_card(describe(), Path(name)).encode().decode()
    (call,) = (line for line in program(card).splitlines() if "load_model(" in line)
    assert eval(call.removeprefix("model = "), {"load_model": str}) == name


@pytest.mark.parametrize(("method", "labels"), [("clarinet", "complementary labels"), ("source-only", "true labels")])
def test_labels_of_the_source_are_described(method: str, labels: str) -> None:
    assert f"Source images had {labels}" in model_card(describe(method=method), Path("model.onnx"))
