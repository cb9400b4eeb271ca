"""Short runs on real digits reach the expected accuracy."""

from pathlib import Path
from typing import Any

import pytest

from core.events import Evaluated
from core.resolve import resolve
from core.training.train import train

pytestmark = pytest.mark.digits


def last_accuracies(digits: Path, method: str, **settings: Any) -> tuple[float, float]:
    """Train and return the last accuracies on source and target."""
    small = {"source_size": 4000, "target_size": 2000, "test_size": 500, "threads": 1, "preset": "quick"}
    config = resolve(small, method=method, task="M->U", **settings)
    last = [event for event in train(config, data_dir=digits) if isinstance(event, Evaluated)][-1]
    assert last.source_accuracy is not None
    assert last.target_accuracy is not None
    return last.source_accuracy, last.target_accuracy


def test_all_complementary_labels_learn_within_a_few_hundred_iterations(digits: Path) -> None:
    stage1 = {"epochs": 4, "rate": 2e-3, "batch_size": 64}
    source, target = last_accuracies(digits, "gac", ybars_per_sample=9, stage1=stage1, evaluate_every=4)
    assert source > 70
    assert target > 40


def test_cross_entropy_on_complementary_labels_learns_wrong_classes(digits: Path) -> None:
    length = {"warmup_epochs": 2, "epochs": 1, "evaluate_every": 3}
    _, target = last_accuracies(digits, "clarinet-ce", warmup_rate=2e-3, batch_size=64, **length)
    assert target < 10


def test_basset_classifies_the_target_after_some_hundred_iterations(digits: Path) -> None:
    length = {"epoch_iterations": 50, "warmup_epochs": 3, "epochs": 2, "lambda_horizon": 40, "evaluate_every": 5}
    source, target = last_accuracies(digits, "basset", ybars_per_sample=5, **length)
    assert source > 90
    assert target > 65
