"""float16: small gradients survive, overflows change no weight, and the scale is part of a checkpoint."""

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from core.methods.algorithm import INITIAL_SCALE, LossScale, apply_gradients
from core.training.train import train
from tests.support.tiny import repeatable, steps, tiny_config, tiny_data

CPU = torch.device("cpu")
TINY = 1e-6


def two_networks() -> tuple[nn.Linear, nn.Linear]:
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return nn.Linear(8, 8), nn.Linear(8, 1)


def gradients(half: bool, scale: LossScale | None) -> list[Tensor]:
    """Gradients of a small loss of one network on another's outputs, as D's on features."""
    features, scores = two_networks()
    for network in (features, scores):
        if scale:
            scale.add_network(network)
    x = torch.linspace(-1, 1, 32).view(4, 8)
    with torch.autocast("cpu", dtype=torch.float16, enabled=half):
        first = features(x)
    with torch.autocast("cpu", dtype=torch.float16, enabled=half):
        last = scores(first.float())
    return list(torch.autograd.grad(TINY * last.float().tanh().mean(), [*features.parameters(), *scores.parameters()]))


def test_gradients_too_small_for_float16_survive_in_both_networks() -> None:
    exact, scale = gradients(half=False, scale=None), LossScale(CPU)
    lost, scaled = gradients(half=True, scale=None), gradients(half=True, scale=scale)
    assert (lost[0] - exact[0]).abs().max() > 0.3 * exact[0].abs().max(), "this test needs gradients that are lost"
    scale.unscale(scaled)
    for ours, expected in zip(scaled, exact, strict=True):
        torch.testing.assert_close(ours, expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_an_overflow_changes_no_weight_and_halves_the_scale(optimizer: type[torch.optim.SGD]) -> None:
    network, scale = two_networks()[0], LossScale(CPU)
    step = optimizer(network.parameters(), lr=0.1, fused=True)
    scale.add_optimizer(step)
    before = network.weight.detach().clone()
    for value, factor in ((torch.inf, 0.5), (torch.nan, 0.25), (1.0, 0.25)):
        drawn = [torch.full_like(parameter, value * INITIAL_SCALE) for parameter in network.parameters()]
        apply_gradients(step, list(network.parameters()), drawn)
        assert torch.equal(network.weight, before) is (value != 1.0)
        scale.update()
        assert scale.scale.item() == INITIAL_SCALE * factor
        assert scale.found_inf.item() == 0


def test_float16_trains_like_float32_and_resumes_exactly(tmp_path: Path) -> None:
    data = tiny_data(source=16, target=16)
    config = tiny_config("clarinet", precision="fp16", epochs=1)
    expected = steps(list(train(config, data=data)))
    reference = steps(list(train(tiny_config("clarinet", epochs=1), data=data)))
    assert expected[0].metrics["complementary_loss"] == pytest.approx(
        reference[0].metrics["complementary_loss"], rel=1e-2
    )
    calls = iter([False, False, True])
    before = list(train(config, data=data, checkpoint_dir=tmp_path, should_stop=lambda: next(calls)))
    after = list(train(config, data=data, checkpoint_dir=tmp_path, resume=True))
    assert list(map(repeatable, steps(before) + steps(after))) == list(map(repeatable, expected))
