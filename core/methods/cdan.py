"""CDAN_E (Long et al. 2018): cross-entropy, and a discriminator of features times predictions, entropy-weighted."""

from core.methods.algorithm import Outputs
from core.methods.objectives import adversarial_objective
from core.methods.supervised import Adaptation, Supervised


class CDANE(Supervised):
    adversarial = True
    conditional = True

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        return adversarial_objective(self, self.discriminator, source, target, adaptation_step)
