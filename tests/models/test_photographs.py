"""Photographs from the preset to predictions: every form of the model gives the same."""

import json
from pathlib import Path

import numpy as np
import onnxruntime
import torch

from clarinet_tui.runs.directory import RunDirectory
from core import load_model
from core.events import Finished
from core.resolve import resolve
from core.training.train import train
from tests.support.cli import invoke
from tests.support.photographs import CLASSES, photograph_folder

SIDE = 40
FEW = {
    "epochs": 1,
    "warmup_epochs": 1,
    "epoch_iterations": 2,
    "batch_size": 6,
    "threads": 1,
    "device": "cpu",
    "checkpoints": "none",
}


def test_all_forms_of_a_trained_model_agree(tmp_path: Path) -> None:
    photos = photograph_folder(tmp_path / "photos", sketch=False, count=1, side=SIDE)
    sketches = photograph_folder(tmp_path / "sketches", sketch=True, count=2, side=SIDE)
    config = resolve(
        FEW, preset="photographs", task=f"{photos}->{sketches}", network="resnet18", image_size=SIDE, method="basset"
    )
    run = RunDirectory.create(tmp_path / "runs", config, id="one")
    *_, finished = train(config, data_dir=tmp_path, checkpoint_dir=run.path)
    assert isinstance(finished, Finished)

    done = invoke(run.runs_dir, "predict", "one", str(sketches), "--json")
    assert done.exit_code == 0, done.exception
    rows = json.loads(done.stdout)
    assert len(rows) == 2 * len(CLASSES)
    paths = [Path(row["file"]) for row in rows]
    right = [row["label"] == path.parent.name for row, path in zip(rows, paths, strict=True)]
    assert 100 * np.mean(right) == finished.target_accuracy

    model = load_model(run.path)
    images = np.stack([model.read_picture(path) for path in paths])
    assert images.shape[1:] == (SIDE, SIDE, 3)
    probabilities = model.probabilities(images)
    assert np.abs(probabilities.max(axis=1) - [row["probability"] for row in rows]).max() < 1e-4
    assert [prediction.label for prediction in map(model.predict_file, paths)] == [row["label"] for row in rows]
    for name in ("model.pt2", "model.onnx"):
        assert invoke(run.runs_dir, "save", "one", "--out", str(tmp_path / name)).exit_code == 0
    program = torch.export.load(tmp_path / "model.pt2").module()
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert np.abs(program(torch.from_numpy(images))[0].numpy() - probabilities).max() < 1e-4
    assert np.abs(session.run(None, {"images": images})[0] - probabilities).max() < 1e-4
