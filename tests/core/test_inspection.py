"""Calibration, the distance of domains, and the weights before training."""

from pathlib import Path

import numpy as np
import pytest
import torch

from core import load_model
from core.errors import InputError
from core.models.measures import measure_calibration, proxy_a_distance
from core.models.model import initial_model
from core.training.train import train
from tests.support.tiny import tiny_config, tiny_data

RANDOM = np.random.default_rng(0)


def test_calibration_error_of_known_bins() -> None:
    """Ten images at 0.95 of which eight are right, and ten at 0.55 of which five are right."""
    confidence = np.repeat([0.95, 0.55], 10)
    probabilities = np.stack((confidence, 1 - confidence), axis=1).astype(np.float32)
    y = np.array([0] * 8 + [1] * 2 + [0] * 5 + [1] * 5)
    calibration = measure_calibration(probabilities, y)
    assert calibration.counts.tolist() == [0] * 5 + [10, 0, 0, 0, 10]
    assert calibration.accuracy[9] == pytest.approx(0.8)
    assert calibration.error == pytest.approx((0.15 + 0.05) / 2, abs=1e-6)


def test_unknown_classes_and_certainty_are_binned() -> None:
    probabilities = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    calibration = measure_calibration(probabilities, np.array([0, -1, 1]))
    assert (int(calibration.counts.sum()), calibration.error) == (2, 0.0)


def test_domains_that_are_alike_have_no_distance() -> None:
    source, target = (RANDOM.normal(size=(400, 8)).astype(np.float32) for _ in range(2))
    assert proxy_a_distance(source, target) < 0.5
    assert proxy_a_distance(source, target + 8) == 2.0


def test_distance_of_domains_of_other_sizes_is_not_one_of_classes() -> None:
    """Images that are sorted by class, ten times as many in the source as in the target."""
    source, target = (
        (RANDOM.normal(size=(10 * count, 20)) + 5 * np.eye(20)[np.repeat(np.arange(10), count)]).astype(np.float32)
        for count in (100, 10)
    )
    assert proxy_a_distance(source, target) < 0.7
    with pytest.raises(InputError, match="needs two images or more of each domain"):
        proxy_a_distance(source, target[:1])


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
