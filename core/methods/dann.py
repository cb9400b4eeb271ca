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
        scores = self.discriminator.signed(self.as_float32(scores))
        equal = torch.ones_like(scores)
        loss = adversarial_loss(scores, equal, terms=self.config.domain_terms, detach_sums=True)
        return loss, {"adversarial_loss": loss, "discriminator_accuracy": discriminator_accuracy(scores)}, weight
