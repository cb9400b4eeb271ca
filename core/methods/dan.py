"""DAN (Long et al. 2015): cross-entropy plus λ times the multi-kernel MMD of the features of both domains."""

from core.losses.mmd import mmd_linear, mmd_quadratic
from core.methods.algorithm import Outputs
from core.methods.supervised import Adaptation, Supervised


class DAN(Supervised):
    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        weight = self.lambda_at(adaptation_step)
        estimate = mmd_linear if self.config.mmd == "linear" else mmd_quadratic
        mmd = estimate(source.features, target.features)
        return weight * mmd, {"mmd": mmd}, weight
