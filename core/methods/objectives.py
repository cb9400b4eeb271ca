"""Objectives that several methods share: complementary labels, and the conditional adversary."""

import torch.nn.functional as functional
from torch import Tensor

from core.config import RunConfig
from core.losses import complementary
from core.losses.adversarial import adversarial_loss, discriminator_accuracy, domain_input, reverse_gradient
from core.losses.predictions import entropy_weights, log_scatter, minus_entropy
from core.methods.algorithm import Algorithm, Outputs, join

SURROGATES = {
    "forward": complementary.forward_loss,
    "scl-exp": complementary.scl_exp_loss,
    "pairwise": complementary.pairwise_loss,
}


def complementary_objective(
    config: RunConfig, logits: Tensor, weights: Tensor, priors: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the loss to minimise, and metrics: always Eq. 6, and the loss that is minimised in its place."""
    losses = complementary.class_losses(logits, weights, priors, by_loss_index=config.class_priors == "loss-index")
    loss_of_eq6 = complementary.complementary_loss(losses)
    metrics = {"complementary_loss": loss_of_eq6, "least_class_loss": losses.per_class.min()}
    match config.complementary_loss:
        case "ascent":
            loss, metrics["ascended"] = complementary.ascent_loss(losses, by_counts=config.ascent_by_counts)
        case "free":
            loss = loss_of_eq6
        case "non-negative":
            loss = complementary.non_negative_loss(losses)
        case "cross-entropy":
            loss = metrics["classification_loss"] = functional.cross_entropy(logits, weights)
        case name:
            loss = metrics["surrogate_loss"] = SURROGATES[name](logits, weights)
    return loss, metrics


def adversarial_objective(
    algorithm: Algorithm, source: Outputs, target: Outputs, adaptation_step: int
) -> tuple[Tensor, dict[str, Tensor], float]:
    """Return L_adv of Eq. 9, metrics and λ; the gradient into G and F is reversed and scaled by λ.

    D gets G⊗T(F), weighted by the certainty of T(F), as in CDAN_E and CLARINET.
    """
    config, discriminator = algorithm.config, algorithm.discriminator
    adaptation_lambda = algorithm.lambda_at(adaptation_step)
    entropy_lambda = algorithm.lambda_at(adaptation_step, config.entropy_lambda_delay)
    both = join(source, target)
    log_t = log_scatter(both.logits, config.scatter)
    minus_h, t = minus_entropy(log_t, config.entropy_epsilon)
    # Reversing both factors is reversing their product, and cheaper: the product is K times as wide.
    predictions = t.detach() if config.detach_predictions else reverse_gradient(log_t, adaptation_lambda).exp()
    pairs = domain_input(reverse_gradient(both.features, adaptation_lambda), predictions)
    scores = discriminator.signed(algorithm.as_float32(algorithm.run_network(discriminator, pairs)))
    weights = entropy_weights(reverse_gradient(minus_h, entropy_lambda)).view(2, -1)
    loss = adversarial_loss(scores, weights, terms=config.domain_terms, detach_sums=config.detach_weight_sums)
    metrics = {
        "adversarial_loss": loss,
        "discriminator_accuracy": discriminator_accuracy(scores),
        "entropy": -minus_h.mean(),
    }
    return loss, metrics, adaptation_lambda
