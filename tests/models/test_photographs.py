"""Photographs from the preset to predictions: every form of the model gives the same."""

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from PIL import Image

from clarinet_tui.runs.directory import RunDirectory
from core import load_model
from core.events import Finished
from core.models.model import ModelInfo
from core.resolve import resolve
from core.training.train import train
from tests.support.cli import invoke
from tests.support.image_folders import TWELVE, noisy_pictures

SIDE = 40
FEW = {"epochs": 1, "warmup_epochs": 1, "epoch_iterations": 2, "batch_size": 6, "threads": 1, "checkpoints": "none"}

Forward = Callable[[NDArray[np.uint8]], NDArray[np.float32]]


def test_all_forms_of_a_trained_model_agree(tmp_path: Path) -> None:
    photos, sketches = noisy_pictures(tmp_path / "photos", 1, SIDE), noisy_pictures(tmp_path / "sketches", 2, SIDE)
    config = resolve(
        FEW,
        device="cpu",
        preset="photographs",
        task=f"{photos}->{sketches}",
        network="resnet18",
        image_size=SIDE,
        method="basset",
    )
    run = RunDirectory.create(tmp_path / "runs", config, id="one")
    *_, finished = train(config, data_dir=tmp_path, checkpoint_dir=run.path)
    assert isinstance(finished, Finished)

    done = invoke(run.runs_dir, "predict", "one", str(sketches), "--json")
    assert done.exit_code == 0, done.exception
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * len(TWELVE)
    paths = [Path(row["file"]) for row in rows]
    right = [row["label"] == path.parent.name for row, path in zip(rows, paths, strict=True)]
    assert 100 * np.mean(right) == finished.target_accuracy

    model = load_model(run.path)
    images = np.stack([model.read_picture(path) for path in paths])
    assert images.shape[1:] == (SIDE, SIDE, 3)
    probabilities = model.probabilities(images)
    assert np.abs(probabilities.max(axis=1) - [row["probability"] for row in rows]).max() < 1e-4
    assert [prediction.label for prediction in map(model.predict_file, paths)] == [row["label"] for row in rows]
    with Image.open(paths[1]) as picture:
        assert picture.width != picture.height
        picture.save(tmp_path / "picture.png")
    check_saved_forms(run, model.probabilities, images, tmp_path)


def check_saved_forms(run: RunDirectory, probabilities: Forward, images: NDArray[np.uint8], folder: Path) -> None:
    """Check that every saved form gives these probabilities for any number of images, and describes the run."""
    for name in ("model.safetensors", "model.pt2", "model.onnx"):
        done = invoke(run.runs_dir, "save", "one", "--out", str(folder / name))
        assert done.exit_code == 0, done.exception
        if name != "model.safetensors":
            check_card(folder, name, probabilities(images[1:2]))
    extra = {"clarinet.json": ""}
    saved = load_model(folder / "model.safetensors")
    program = torch.export.load(folder / "model.pt2", extra_files=extra).module()
    session = onnxruntime.InferenceSession(folder / "model.onnx")
    for count in (1, 2, len(images)):
        x, ours = images[:count], probabilities(images[:count])
        assert np.array_equal(saved.probabilities(x), ours)
        assert np.abs(program(torch.from_numpy(x))[0].detach().numpy() - ours).max() < 1e-4
        assert np.abs(session.run(None, {"images": x})[0] - ours).max() < 1e-4
    onnx_info = session.get_modelmeta().custom_metadata_map["clarinet"]
    infos = [msgspec.json.decode(content, type=ModelInfo) for content in (extra["clarinet.json"], onnx_info)]
    assert infos == [saved.info, saved.info]
    assert (saved.info.run, saved.info.selection) == ("one", "last epoch")
    assert saved.info.run_config == run.read_config()


def check_card(folder: Path, name: str, expected: NDArray[np.float32]) -> None:
    """Check that the program in the model card reads a picture as training did."""
    card = (folder / f"{name}.md").read_text()
    found: dict[str, Any] = {}
    with contextlib.chdir(folder):
        exec(card.partition("```python\n")[2].partition("```")[0], found)
    assert np.abs(np.asarray(found["probabilities"].tolist()) - expected).max() < 1e-4
    for text in ("ImageNet's mean", "cut at the centre", "leaves out 0.125 of height"):
        assert text in card, text
