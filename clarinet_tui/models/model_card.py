"""A model card: what a file of weights is for, how to use it and how it was trained, as Markdown."""

from collections.abc import Iterator
from pathlib import Path

from clarinet_tui.text import format_percent, printable
from core.methods import methods
from core.models.model import ModelInfo

USE = {
    ".safetensors": """from core import load_model

model = load_model({name})
print(model.predict_file("picture.png").label)""",
    ".onnx": """import numpy as np, onnxruntime
{read}
session = onnxruntime.InferenceSession({name})
probabilities, logits = session.run(None, {{"images": images}})""",
    ".pt2": """import numpy as np, torch
{read}
model = torch.export.load({name}).module()
probabilities, logits = model(torch.from_numpy(images))""",
}
READ = """from PIL import Image, ImageOps

image = ImageOps.exif_transpose(Image.open("picture.png"))
if image.mode.startswith("I"):  # 16 bits, which Pillow clips
    image = Image.fromarray((np.asarray(image) >> 8).astype(np.uint8))
image = image.convert("{mode}"){cut}
image = image.resize(({width}, {height}), Image.Resampling.BILINEAR)
images = np.array(image, dtype=np.uint8).reshape(1, {height}, {width}, {channels})"""
CUT = """
scale = min(image.height / {height}, image.width / {width})
height, width = round({height} * scale), round({width} * scale)
top, left = (image.height - height) // 2, (image.width - width) // 2
image = image.crop((left, top, left + width, top + height))"""


def model_card(info: ModelInfo, path: Path) -> str:
    config = info.run_config
    spec = methods().get(config.method)
    has_true_labels = spec is not None and spec.family == "reference"
    labels = "true labels" if has_true_labels else "complementary labels (classes that an image is not)"
    size = dict(zip(("height", "width", "channels"), info.shape, strict=True))
    cut = CUT.format(**size) if config.fit == "cut" else ""
    read = READ.format(mode="L" if info.shape[2] == 1 else "RGB", cut=cut, **size)  # as training reads a picture
    sections = {
        "": [f"A classifier of {len(info.classes)} classes for the target of {_code(config.task)}."],
        "Use": ["```python", USE[path.suffix].format(name=repr(path.name), read=read), "```"],
        "Input and classes": list(_input(info)),
        "Training": list(_training(info)),
        "Accuracy": [
            f"- Target: {format_percent(info.target_accuracy)} %, source: {format_percent(info.source_accuracy)} %.",
            f"- Epoch {info.epoch} was selected as: {printable(info.selection)}.",
        ],
        "Limits": [
            f"Source images had {labels}, the target none. The accuracy is that of the target's "
            "own images; pictures of another kind may be classified worse. Probabilities are not calibrated."
        ],
    }
    lines = [f"# {printable(path.name)}", ""]
    for title, content in sections.items():
        lines += [*([f"## {title}", ""] if title else []), *content, ""]
    return "\n".join(lines)


def _input(info: ModelInfo) -> Iterator[str]:
    config = info.run_config
    height, width, channels = info.shape
    yield f"- Images of {height}×{width} with {channels} channels, as bytes from 0 to 255, channels last."
    yield "- The network sees them as byte / 127.5 − 1, which exported models compute themselves."
    if config.centre_crop:
        yield f"- The network then leaves out {config.centre_crop:.3g} of height and width around the centre."
    if config.scale_each_image:
        yield "- The network then shifts and scales each image to mean 0 and deviation 1."
    if config.imagenet_scaling:
        yield "- The network then scales colours by ImageNet's mean and deviation."
    other = "cut at the centre" if config.fit == "cut" else "stretched"
    yield f"- Pictures of other proportions were {other} in training."
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


def _code(text: str) -> str:
    return f"`{printable(text).replace('`', chr(39))}`"
