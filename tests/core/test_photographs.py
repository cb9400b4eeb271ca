"""The preset `photographs` on noisy pictures: trained, resumed exactly, evaluated at the centre, proportions kept."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from PIL import Image

from core.config import RunConfig
from core.data.images import convert_images, decode_image
from core.data.load import load_task
from core.data.task_data import TaskData
from core.events import Evaluated
from core.models.model import load_model
from core.networks import Classifier, cut_centre
from core.resolve import resolve
from core.training.train import train
from tests.support.image_folders import TWELVE, noisy_pictures
from tests.support.tiny import repeatable, steps, tiny_config, tiny_data

SIDE = 32
FEW = {"epochs": 1, "warmup_epochs": 1, "epoch_iterations": 2, "batch_size": 6, "network": "resnet18", "threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("photographs")
    noisy_pictures(folder / "photos", 2, SIDE)
    noisy_pictures(folder / "sketches", 3, SIDE)
    return folder


def photographs(folder: Path, method: str) -> tuple[RunConfig, TaskData]:
    task = f"{folder / 'photos'}->{folder / 'sketches'}"
    config = resolve(FEW, preset="photographs", task=task, method=method, image_size=SIDE)
    return config, load_task(config, folder)


@pytest.mark.parametrize("method", ["clarinet", "basset"])
def test_photographs_are_trained_and_resumed_exactly(method: str, folder: Path, tmp_path: Path) -> None:
    config, data = photographs(folder, method)
    for name in ("whole", "parts"):
        (tmp_path / name).mkdir()
    assert (data.classes, data.shape) == (tuple(sorted(TWELVE)), (SIDE, SIDE, 3))
    without = msgspec.structs.replace(config, checkpoints="none")  # only what is resumed needs them
    events = list(train(without, data=data, checkpoint_dir=tmp_path / "whole"))
    expected = [repeatable(event) for event in steps(events)]
    assert len(expected) == 4
    stopped = iter([False, False, True])
    first = list(train(config, data=data, checkpoint_dir=tmp_path / "parts", should_stop=lambda: next(stopped)))
    rest = list(train(without, data=data, checkpoint_dir=tmp_path / "parts", resume=True))
    assert len(steps(first)) == 2
    assert [repeatable(event) for event in steps([*first, *rest])] == expected
    last = [event for event in events if isinstance(event, Evaluated)][-1]
    predicted = load_model(tmp_path / "whole").probabilities(data.target_test.x).argmax(axis=1)
    assert last.target_accuracy == pytest.approx(100 * np.mean(predicted == data.target_test.y))


def test_proportions_are_kept_by_cutting(tmp_path: Path) -> None:
    """A wide picture whose outer quarters are black: stretched, they remain; cut, they are gone."""
    x = np.zeros((40, 80, 3), np.uint8)
    x[:, 20:60] = 255
    Image.fromarray(x).save(tmp_path / "wide.png")
    stretched = decode_image(tmp_path / "wide.png", (20, 20, 3))
    assert stretched[:, :4].max() == 0
    for cut in (
        decode_image(tmp_path / "wide.png", (20, 20, 3), cut=True),
        convert_images(x[None], (20, 20, 3), cut=True),
    ):
        assert cut.min() == 255
    assert convert_images(x[None].transpose(0, 2, 1, 3), (20, 20, 3), cut=True).min() == 255
    assert decode_image(tmp_path / "wide.png", (20, 40, 3), cut=True)[:, :8].max() == 0


def test_centre_is_evaluated_at_the_old_size_and_whole_images_are_trained() -> None:
    x = torch.zeros(2, 3, 64, 64)
    x[:, :, 8:-8, 8:-8] = 1
    assert cut_centre(x, 0.25).shape == x.shape
    assert cut_centre(x, 0.25).min() == 1
    torch.testing.assert_close(cut_centre(x, 0.0), x)
    assert cut_centre(x[:, :, :4, :5], 0.99).shape == (2, 3, 4, 5)
    whole, centre = (Classifier(torch.nn.Flatten(), x[0].numel(), 4) for _ in range(2))
    centre.load_state_dict(whole.state_dict())
    centre.centre_crop = 0.25
    torch.testing.assert_close(whole(x)[1], centre(x)[1])
    torch.testing.assert_close(whole.eval()(cut_centre(x, 0.25))[1], centre.eval()(x)[1])
    assert not torch.allclose(whole(x)[1], centre(x)[1])


def test_domains_share_batch_norm_or_not() -> None:
    """With a pass for each domain, the target of a warm-up changes no loss of the source."""
    data = tiny_data()

    def first_loss(batch_norm: str, warmup_target: bool) -> float:
        config = tiny_config(network="convnet", dropout=False, batch_norm=batch_norm, warmup_target=warmup_target)
        stopped = iter([False, True])
        events = list(train(config, data=data, should_stop=lambda: next(stopped)))
        return steps(events)[0].metrics["complementary_loss"]

    assert first_loss("separate", True) == pytest.approx(first_loss("separate", False))
    assert first_loss("shared", True) != pytest.approx(first_loss("separate", True))
