"""A rate of its own for G: only G is slower, decay applies to both, and resuming is exact."""

from pathlib import Path

import pytest
import torch

from core import load_model
from core.methods import METHODS
from core.models.model import initial_model
from core.training.train import train
from tests.support.tiny import repeatable, steps, tiny_config, tiny_data

DATA = tiny_data()


@pytest.mark.parametrize("decay", ["none", "linear"])
def test_only_the_backbone_is_slower(tmp_path: Path, decay: str) -> None:
    config = tiny_config(backbone_rate=1e-12, bottleneck=16, weight_decay=0.0, rate_decay=decay, optimizer="sgd")
    list(train(config, data=DATA, checkpoint_dir=tmp_path))
    model = load_model(tmp_path)
    before, after = initial_model(model.info).network.state_dict(), model.network.state_dict()
    moved = {name for name in before if not torch.allclose(before[name], after[name], atol=1e-7, rtol=0)}
    assert moved == {"extractor.1.weight", "extractor.1.bias", "head.weight", "head.bias"}


@pytest.mark.parametrize("method", [name for name in METHODS if name in ("clarinet", "gac+dann", "basset", "cdan-e")])
def test_run_with_two_rates_is_resumed_exactly(method: str, tmp_path: Path) -> None:
    config = tiny_config(method, backbone_rate=0.1, bottleneck=16, rate_decay="linear", epoch_iterations=0)
    expected = [repeatable(event) for event in steps(list(train(config, data=DATA)))]
    stops = iter([False] * 9 + [True])
    before = list(train(config, data=DATA, checkpoint_dir=tmp_path, should_stop=lambda: next(stops)))
    after = list(train(config, data=DATA, checkpoint_dir=tmp_path, resume=True))
    assert [repeatable(event) for event in (*steps(before), *steps(after))] == expected
