"""DANN (Ganin et al. 2016): cross-entropy, and a discriminator of the features whose gradient is reversed."""

import torch

from core.losses.adversarial import adversarial_loss, discriminator_accuracy, reverse_gradient
from core.methods.algorithm import Outputs, join
from core.methods.supervised import Adaptation, Supervised


class DANN(Supervised):
    adversarial = True

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        weight = self.lambda_at(adaptation_step)
        scores = self.run_network(self.discriminator, reverse_gradient(join(source, target).features, weight))
        sizes = [len(source.features), len(target.features)]
        source_scores, target_scores = torch.split(self.as_float32(scores), sizes)
        equal = torch.ones_like(source_scores), torch.ones_like(target_scores)
        loss = adversarial_loss(source_scores, target_scores, *equal, terms=self.config.domain_terms, detach_sums=True)
        metrics = {
            "adversarial_loss": loss,
            "discriminator_accuracy": discriminator_accuracy(source_scores, target_scores),
        }
        return loss, metrics, weight
