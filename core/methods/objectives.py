"""The conditional adversary of CDAN_E and of CLARINET: D sees G⊗T(F), weighted by how sure T(F) is."""

import torch
from torch import Tensor

from core.losses.adversarial import adversarial_loss, discriminator_accuracy, domain_input
from core.losses.entropy import entropy, entropy_weights
from core.losses.reversal import reverse_gradient
from core.losses.scattering import log_scatter
from core.methods.algorithm import Algorithm, Outputs
from core.networks import Discriminator


def adversarial_objective(
    algorithm: Algorithm, discriminator: Discriminator, source: Outputs, target: Outputs, adaptation_step: int
) -> tuple[Tensor, dict[str, Tensor], float]:
    """L_adv of Eq. 9, with its gradient towards G and F reversed and scaled by λ; what was measured; λ."""
    config = algorithm.config
    strength = algorithm.lambda_at(adaptation_step)
    entropy_strength = algorithm.lambda_at(adaptation_step, config.entropy_lambda_delay)
    log_t = log_scatter(torch.cat((source.logits, target.logits)), config.scatter)
    h = entropy(log_t, config.entropy_epsilon)
    features = torch.cat((source.features, target.features))
    # Reversing both factors is reversing their product, and cheaper: the product is K times as wide.
    pairs = domain_input(
        reverse_gradient(features, strength), reverse_gradient(log_t, strength), detach=config.detach_predictions
    )
    with algorithm.autocast():
        scores = discriminator(pairs)
    source_scores, target_scores = torch.split(algorithm.as_float32(scores), [len(source.logits), len(target.logits)])
    weights = entropy_weights(reverse_gradient(h, entropy_strength))
    loss = adversarial_loss(
        source_scores,
        target_scores,
        *torch.split(weights, [len(source.logits), len(target.logits)]),
        terms=config.domain_terms,
        detach_sums=config.detach_weight_sums,
    )
    measured = {
        "adversarial_loss": loss,
        "discriminator_accuracy": discriminator_accuracy(source_scores, target_scores),
        "entropy": h.mean(),
    }
    return loss, measured, strength
