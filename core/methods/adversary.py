"""The conditional adversary of CDAN_E and of CLARINET: D sees G⊗T(F), weighted by how sure T(F) is."""

from torch import Tensor

from core.losses.adversarial import adversarial_loss, discriminator_accuracy, domain_input
from core.losses.entropy import entropy, entropy_weights
from core.losses.reversal import reverse_gradient
from core.losses.scattering import log_scatter
from core.methods.algorithm import Algorithm, Seen
from core.networks import Discriminator


def oppose(
    algorithm: Algorithm, discriminator: Discriminator, source: Seen, target: Seen, adaptation_step: int
) -> tuple[Tensor, dict[str, Tensor], float]:
    """L_adv of Eq. 9, with its gradient towards G and F reversed and scaled by λ; what was measured; λ."""
    config = algorithm.config
    strength = algorithm.strength(adaptation_step)
    entropy_strength = algorithm.strength(adaptation_step, config.entropy_lambda_delay)
    scores, weights, entropies = [], [], []
    for seen in (source, target):
        log_t = log_scatter(seen.logits, config.scatter)
        h = entropy(log_t, config.entropy_epsilon)
        pair = domain_input(seen.features, log_t, detach=config.detach_predictions)
        with algorithm.autocast():
            score = discriminator(reverse_gradient(pair, strength))
        scores.append(score.float())
        weights.append(entropy_weights(reverse_gradient(h, entropy_strength)))
        entropies.append(h.mean())
    loss = adversarial_loss(*scores, *weights, terms=config.domain_terms, detach_sums=config.detach_weight_sums)
    measured = {
        "adversarial_loss": loss,
        "discriminator_accuracy": discriminator_accuracy(*scores),
        "entropy": (entropies[0] + entropies[1]) / 2,
    }
    return loss, measured, strength
