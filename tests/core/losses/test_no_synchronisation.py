"""No loss waits for the device: meta tensors have no values, so that `.item()`, `if` or a mask raises."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from core.losses import adversarial, complementary, mmd, predictions

Loss = Callable[[Tensor, Tensor], Tensor]


def whole_adversarial(x: Tensor, weights: Tensor) -> Tensor:
    log_t = predictions.log_scatter(x, 0.5)
    minus_h, p = predictions.minus_entropy(adversarial.reverse_gradient(log_t, x.new_empty(())), 1e-5)
    scores = adversarial.domain_input(x, p.detach()).sum(dim=1).view(2, 4)
    loss = adversarial.adversarial_loss(
        scores, predictions.entropy_weights(minus_h).view(2, 4), terms="mean", detach_sums=True
    )
    return loss + adversarial.discriminator_accuracy(scores)


LOSSES: dict[str, Loss] = {
    "complementary": lambda x, w: complementary.complementary_loss(complementary.class_losses(x, w, w.mean(dim=0))),
    "non-negative": lambda x, w: complementary.non_negative_loss(
        complementary.class_losses(x, w, w.mean(dim=0), by_loss_index=True)
    ),
    "ascent": lambda x, w: sum(
        complementary.ascent_loss(complementary.class_losses(x, w, w.mean(dim=0)), by_counts=True), x.new_zeros(())
    ),
    "forward": complementary.forward_loss,
    "scl-exp": complementary.scl_exp_loss,
    "pairwise": complementary.pairwise_loss,
    "class confusion": lambda x, w: predictions.class_confusion(x),
    "information loss": lambda x, w: predictions.information_loss(x),
    "teacher": lambda x, w: sum(
        predictions.confident_cross_entropy(x, predictions.balance(w, w.mean(dim=0)), 0.8), x.new_zeros(())
    ),
    "relabelling": lambda x, w: functional.cross_entropy(x, predictions.likeliest_allowed(w, w)),
    "adversarial": whole_adversarial,
    "information": lambda x, w: predictions.information(x.log_softmax(dim=1)),
    "mmd linear": lambda x, w: mmd.mmd_linear(x[:4], x[4:]),
    "mmd quadratic": lambda x, w: mmd.mmd_quadratic(x[:4], x[4:]),
}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_loss_and_gradient_need_no_values(name: str, dtype: torch.dtype) -> None:
    x = torch.empty(8, 5, device="meta", dtype=dtype, requires_grad=True)
    loss = LOSSES[name](x, torch.empty(8, 5, device="meta", dtype=dtype))
    assert loss.shape == ()
    assert (loss.device.type, loss.dtype) == ("meta", dtype)
    loss.backward()  # type: ignore[no-untyped-call]
    assert x.grad is not None
    assert x.grad.shape == x.shape


def test_loss_that_reads_a_value_raises() -> None:
    with pytest.raises(RuntimeError, match="meta"):
        bool(torch.empty((), device="meta") < 0)
