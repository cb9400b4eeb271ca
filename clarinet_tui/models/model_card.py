"""A model card: what a file of weights is for, how to use it and how it was trained, as Markdown."""

from collections.abc import Iterator
from pathlib import Path

from clarinet_tui.text import format_percent, printable
from core.models.info import ModelInfo

USE = {
    ".safetensors": """from core import load_model

model = load_model("{name}")
print(model.predict_file("picture.png").label)""",
    ".onnx": """import numpy as np, onnxruntime
from PIL import Image

image = Image.open("picture.png").convert("{mode}").resize(({width}, {height}), Image.Resampling.BILINEAR)
session = onnxruntime.InferenceSession("{name}")
images = np.asarray(image, dtype=np.uint8).reshape(1, {height}, {width}, {channels})
probabilities, logits = session.run(None, {{"images": images}})""",
    ".pt2": """import torch

model = torch.export.load("{name}").module()
images = torch.zeros((1, {height}, {width}, {channels}), dtype=torch.uint8)
probabilities, logits = model(images)""",
}


def model_card(info: ModelInfo, path: Path) -> str:
    config = info.run_config
    height, width, channels = info.shape
    mode = "L" if channels == 1 else "RGB"
    code = USE[path.suffix].format(name=path.name, mode=mode, height=height, width=width, channels=channels)
    sections = {
        "": [f"A classifier of {len(info.classes)} classes for the target of {_code(config.task)}."],
        "Use": ["```python", code, "```"],
        "Input and classes": list(_input(info)),
        "Training": list(_training(info)),
        "Accuracy": list(_accuracy(info)),
        "Limits": [
            "Source images had complementary labels (classes that an image is not), the target none. The accuracy is "
            "that of the target's own test images; pictures of another kind may be classified worse. Probabilities are "
            "not calibrated."
        ],
    }
    lines = [f"# {printable(path.name)}", ""]
    for title, content in sections.items():
        lines += [*([f"## {title}", ""] if title else []), *content, ""]
    return "\n".join(lines)


def _input(info: ModelInfo) -> Iterator[str]:
    height, width, channels = info.shape
    yield f"- Images of {height}×{width} with {channels} channels, as bytes from 0 to 255, channels last."
    yield "- The network sees them as byte / 127.5 − 1, which exported models compute themselves."
    if info.run_config.scale_each_image:
        yield "- The network then shifts and scales each image to mean 0 and deviation 1."
    yield f"- Classes, in order: {', '.join(map(_code, info.classes))}."


def _training(info: ModelInfo) -> Iterator[str]:
    config = info.run_config
    yield f"- Method {_code(config.method)}, network {_code(info.network)}, preset {_code(config.preset)},"
    yield f"  seed {config.seed}, {info.iteration} iterations, {info.epoch} epochs."
    if info.is_averaged:
        yield "- The weights are those of the averaged teacher."
    facts = {"Run": info.run, "Commit": info.commit, "Clarinet": info.version, "Label hash": info.label_hash}
    yield from (f"- {name}: {_code(value)}" for name, value in facts.items() if value)
    yield "- All settings are in the file's metadata."


def _accuracy(info: ModelInfo) -> Iterator[str]:
    yield f"- Target: {format_percent(info.target_accuracy)} %, source: {format_percent(info.source_accuracy)} %."
    yield f"- Epoch {info.epoch} was selected as: {printable(info.selection)}."


def _code(text: str) -> str:
    return f"`{printable(text).replace('`', chr(39))}`"
