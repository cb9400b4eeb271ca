"""CDAN_E (Long et al. 2018): cross-entropy, and a discriminator of features times predictions that weighs certainty."""

from core.methods.adversary import oppose
from core.methods.algorithm import Seen
from core.methods.supervised import Adaptation, Supervised


class CDANE(Supervised):
    adversarial = True
    conditional = True

    def adapt(self, source: Seen, target: Seen, adaptation_step: int) -> Adaptation:
        return oppose(self, self.discriminator, source, target, adaptation_step)
