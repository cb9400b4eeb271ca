"""The final weights of a run: kept as such, loaded without running code, and equal to what was evaluated."""

import errno
import json
import os
import pickle
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from core import load_model
from core.config import RunConfig
from core.errors import InputError
from core.events import Checkpointed, Event, Failed, FailureKind, Finished, Noticed
from core.models.measures import measure_calibration, proxy_a_distance
from core.models.model import KEY, MODEL_FILE, epoch_file, initial_model, model_from_checkpoint
from core.training.train import train
from tests.support.tiny import tiny_config, tiny_data

DATA = tiny_data()


def run(config: RunConfig, folder: Path, **options: Any) -> list[Event]:
    return list(train(config, data=DATA, checkpoint_dir=folder, **options))


Trained = tuple[Path, list[Event]]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("basset")
    return folder, run(tiny_config("basset", epoch_iterations=0), folder)


def finished(events: list[Event]) -> Finished:
    assert isinstance(events[-1], Finished)
    return events[-1]


def test_model_is_the_averaged_teacher_that_was_evaluated(trained: Trained) -> None:
    folder, events = trained
    before = torch.random.get_rng_state()
    model = load_model(folder)
    assert torch.equal(before, torch.random.get_rng_state()), "loading draws nothing"
    labels = np.array([prediction.label for prediction in model.predict(DATA.target_test.x)])
    truth = np.array(DATA.classes)[DATA.target_test.y]
    assert 100 * np.mean(labels == truth) == pytest.approx(finished(events).target_accuracy)
    modules = torch.load(folder / "checkpoint.pt", weights_only=True)["state"]["algorithm"]["modules"]
    weights = load_file(folder / MODEL_FILE)
    assert all(torch.equal(weights[name], modules["teacher"][f"classifier.{name}"]) for name in weights)
    assert not all(torch.equal(weights[name], modules["classifier"][name]) for name in weights)


def test_information_describes_input_classes_and_training(trained: Trained) -> None:
    folder, events = trained
    info = load_model(folder).info
    assert (info.network, info.shape, info.classes) == ("lenet", (28, 28, 1), tuple("abcd"))
    assert (info.iteration, info.epoch, info.selection) == (21, 3, "last epoch")
    assert (info.is_averaged, info.target_accuracy) == (True, finished(events).target_accuracy)
    assert info.run_config == tiny_config("basset", epoch_iterations=0)
    assert info.label_hash
    assert (folder / MODEL_FILE).stat().st_size < (folder / "checkpoint.pt").stat().st_size / 3


def test_pictures_are_converted_as_in_training(trained: Trained, tmp_path: Path) -> None:
    model, x = load_model(trained[0]), DATA.target_test.x[:1]
    Image.fromarray(x[0, :, :, 0]).save(tmp_path / "grey.png")
    Image.fromarray(np.repeat(x[0], 3, axis=2)).save(tmp_path / "colour.png")
    assert model.predict_file(tmp_path / "grey.png") == model.predict(x)[0]
    assert model.predict_file(tmp_path / "colour.png").label == model.predict(x)[0].label
    assert model.probabilities(x[:, :14, :14]).shape == (1, 4)
    assert model.predict(np.empty((0, 28, 28, 1), np.uint8)) == []
    assert model.features(DATA.target_test.x[:3]).shape == (3, 500)
    model.info = msgspec.structs.replace(model.info, shape=(28, 28, 2))
    with pytest.raises(InputError, match=r"colour\.png: pictures have 1 or 3 channels, images of this model 2"):
        model.predict_file(tmp_path / "colour.png")


@pytest.mark.parametrize(
    "images",
    [
        np.zeros((1, 28, 28, 1)),
        np.zeros((28, 28), np.uint8),
        np.zeros((28, 28, 3), np.uint8),
        np.zeros((1, 28, 28, 2), np.uint8),
    ],
)
def test_wrong_arrays_are_refused(trained: Trained, images: Any) -> None:
    with pytest.raises(InputError, match="images: expected"):
        load_model(trained[0]).probabilities(images)


# -- which files are kept -----------------------------------------------------------------------------------------


def test_checkpoints_decide_which_files_are_kept_and_change_no_number(tmp_path: Path) -> None:
    kept, models = {}, []
    for choice in ("last", "all", "none"):
        folder = tmp_path / choice
        folder.mkdir()
        events = run(tiny_config(checkpoints=choice, checkpoint_minutes=0), folder)
        finished(events)
        assert any(isinstance(event, Checkpointed) for event in events) is (choice != "none")
        kept[choice] = sorted(path.name for path in folder.iterdir() if path.suffix == ".safetensors")
        models.append(load_file(folder / MODEL_FILE))
    assert [path.name for path in (tmp_path / "none").iterdir()] == [MODEL_FILE] == kept["last"]
    assert kept["all"] == [epoch_file(1), epoch_file(2), epoch_file(3), MODEL_FILE]
    assert all(torch.equal(models[0][name], other[name]) for other in models for name in models[0])
    first, last, final = (load_model(tmp_path / "all" / kept["all"][number]) for number in (0, 2, 3))
    assert (first.info.epoch, last.info.epoch) == (1, 3)
    x = DATA.target_test.x
    assert np.array_equal(last.probabilities(x), final.probabilities(x))
    assert not np.array_equal(first.probabilities(x), final.probabilities(x))


def test_setting_may_differ_when_a_run_is_resumed(tmp_path: Path) -> None:
    stops = iter([False] * 8 + [True])
    run(tiny_config(), tmp_path, should_stop=lambda: next(stops))
    finished(run(tiny_config(checkpoints="all"), tmp_path, resume=True))


def test_full_disk_at_the_end_fails_and_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(file: int) -> None:
        if "model" in str(Path(f"/proc/self/fd/{file}").readlink()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("core.files.os.fsync", fsync)
        failed = run(tiny_config(checkpoints="all"), tmp_path)
    assert isinstance(failed[-1], Failed)
    assert failed[-1].kind == FailureKind.DISK_FULL
    assert "resume the run" in failed[-1].message
    assert sum(isinstance(event, Noticed) for event in failed) == 3
    assert not list(tmp_path.glob("*model*"))
    finished(run(tiny_config(checkpoints="all"), tmp_path, resume=True))
    assert load_model(tmp_path).info.iteration == 21


def test_weights_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    rates: dict[str, Any] = {"classifier_rate": 1e30, "warmup_rate": 1e30}
    events = run(tiny_config(on_nan="continue", optimizer="sgd", warmup_optimizer="same", **rates), tmp_path)
    assert not (tmp_path / MODEL_FILE).exists()
    assert isinstance(events[-2], Noticed)
    assert "not finite" in events[-2].message


# -- files that do not fit ----------------------------------------------------------------------------------------


class Payload:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def test_pickled_code_is_not_run(tmp_path: Path) -> None:
    path, trace = tmp_path / "model.safetensors", tmp_path / "trace"
    for write in (lambda: path.write_bytes(pickle.dumps(Payload(trace))), lambda: torch.save(Payload(trace), path)):
        write()
        with pytest.raises(InputError, match=r"is not a complete \.safetensors file"):
            load_model(path)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ["a", "b"]}, "its weights do not fit lenet: head.bias should be"),
        ({"classes": ["a"]}, "its description is damaged"),
        ({"classes": list("abca")}, "two classes have the same name"),
        ({"network": "convnet"}, "its weights do not fit convnet"),
        ({"network": "resnet18"}, "its weights do not fit resnet18"),
        ({"network": "os.system"}, "network: expected one of"),
        ({"shape": [10**9, 10**9, 3]}, "its description is damaged"),
        ({"shape": [28, 28]}, "its description is damaged"),
        ({"format": 2}, "has format 2"),
        ({"config": {"epochs": 0}}, "its settings are not those of this version"),
    ],
)
def test_descriptions_that_do_not_fit_are_refused(
    trained: Trained, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    info, path = msgspec.to_builtins(load_model(trained[0]).info) | changes, tmp_path / "changed.safetensors"
    save_file(load_file(trained[0] / MODEL_FILE), path, {KEY: json.dumps(info)})
    with pytest.raises(InputError) as error:
        load_model(path)
    assert message in str(error.value)


def test_weights_that_do_not_fit_are_refused(trained: Trained, tmp_path: Path) -> None:
    weights, info = load_file(trained[0] / MODEL_FILE), msgspec.json.encode(load_model(trained[0]).info).decode()
    path, name = tmp_path / "model.safetensors", "head.weight"
    nan = torch.full_like(weights[name], float("nan"))
    for wrong in (None, weights[name][:2].clone(), weights[name].double(), nan):
        content = {key: value for key, value in weights.items() if key != name}
        save_file(content if wrong is None else {**content, name: wrong}, path, {KEY: info})
        with pytest.raises(InputError, match=name):
            load_model(path)
    save_file(weights, path)
    with pytest.raises(InputError, match="was not written by Clarinet"):
        load_model(path)


def test_damaged_and_missing_files_are_refused(trained: Trained, tmp_path: Path) -> None:
    content = (trained[0] / MODEL_FILE).read_bytes()
    path = tmp_path / "model.safetensors"
    for damaged in (b"", content[:7], content[:5000], b"\xff" * 8 + content[8:], content[:-1]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"is not a complete \.safetensors file"):
            load_model(path)
    with pytest.raises(InputError, match="No such file"):
        load_model(tmp_path / "none.safetensors")
    os.mkfifo(tmp_path / "pipe.safetensors")
    with pytest.raises(InputError, match="is not a regular file"):
        load_model(tmp_path / "pipe.safetensors")


@pytest.mark.parametrize("weights", [None, 3, {1: 2}, {"head.weight": torch.zeros(2)}, "numbers"])
def test_checkpoints_without_weights_are_refused(trained: Trained, tmp_path: Path, weights: Any) -> None:
    folder, events = trained
    content = torch.load(folder / "checkpoint.pt", weights_only=True)
    modules = content["state"]["algorithm"]["modules"]
    modules["classifier"] = dict.fromkeys(modules["classifier"], 1) if weights == "numbers" else weights
    del modules["teacher"]
    if weights is None:
        del content["state"]
    torch.save(content, tmp_path / "checkpoint.pt")
    started = {name: getattr(events[0], name) for name in ("classes", "shape")}
    with pytest.raises(InputError, match=r"has no weights of a classifier|do not fit lenet|is not a checkpoint"):
        model_from_checkpoint(tmp_path, tiny_config("basset", epoch_iterations=0), started)


RANDOM = np.random.default_rng(0)


def test_calibration_error_of_known_bins() -> None:
    """Ten images at 0.95 of which eight are right, ten at 0.55 of which five are right, and one of unknown class."""
    confidence = np.repeat([0.95, 0.55, 1.0], (10, 10, 1))
    probabilities = np.stack((confidence, 1 - confidence), axis=1).astype(np.float32)
    calibration = measure_calibration(probabilities, np.array([0] * 8 + [1] * 2 + [0] * 5 + [1] * 5 + [-1]))
    assert calibration.counts.tolist() == [0] * 5 + [10, 0, 0, 0, 10]
    assert calibration.accuracy[9] == pytest.approx(0.8)
    assert calibration.error == pytest.approx((0.15 + 0.05) / 2, abs=1e-6)
    certain = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    assert measure_calibration(certain, np.array([0, 1])).error == 0.0


def test_proxy_a_distance() -> None:
    source, target = (RANDOM.normal(size=(400, 8)).astype(np.float32) for _ in range(2))
    assert proxy_a_distance(source, target) < 0.5
    assert proxy_a_distance(source, target + 8) == 2.0
    with pytest.raises(InputError, match="needs two images or more of each domain"):
        proxy_a_distance(source, target[:1])
    # Images that are sorted by class, ten times as many in the source as in the target.
    source, target = (
        (RANDOM.normal(size=(10 * count, 20)) + 5 * np.eye(20)[np.repeat(np.arange(10), count)]).astype(np.float32)
        for count in (100, 10)
    )
    assert proxy_a_distance(source, target) < 0.7, "the distance of domains is not one of classes"


@pytest.mark.parametrize("method", ["clarinet", "gac+dann"])
def test_initial_model_is_where_training_starts(method: str, tmp_path: Path) -> None:
    """A run whose rates are tiny ends where it began."""
    tiny = {"classifier_rate": 1e-30, "warmup_rate": 1e-30, "discriminator_rate": 1e-30, "weight_decay": 0.0}
    stage1 = {"epochs": 1, "batch_size": 8, "rate": 1e-30, "weight_decay": 0.0}
    config = tiny_config(method, **tiny, optimizer="sgd", warmup_optimizer="same", stage1=stage1)
    if method == "gac+dann":
        config = tiny_config("gac", stage1={**stage1, "optimizer": "sgd"})
    list(train(config, data=tiny_data(), checkpoint_dir=tmp_path))
    model = load_model(tmp_path)
    initial = initial_model(model.info).network.state_dict()
    assert all(torch.allclose(value, initial[name], atol=1e-6) for name, value in model.network.state_dict().items())
