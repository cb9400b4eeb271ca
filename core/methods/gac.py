"""GAC, gradient-ascent complementary learning (Ishida et al. 2019): the source alone; also stage 1 of two steps."""

import torch

from core.methods.algorithm import Algorithm, Batch, Measured, Problem, descend
from core.methods.complementary import learn


class GAC(Algorithm):
    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        stage1 = self.config.stage1
        self.fg = list(self.classifier.parameters())
        self.fg_step = self.optimize("classifier", [self.classifier], stage1.optimizer, stage1.rate)

    def step(self, batch: Batch, adaptation_step: int) -> Measured:
        assert batch.weights is not None
        source, _ = self.forward(batch.source, None)
        loss, measured = learn(self.config, source.logits, batch.weights, self.problem.priors)
        descend(self.fg_step, self.fg, torch.autograd.grad(loss, self.fg))
        return Measured(measured, {"classifier_rate": self.fg_step.param_groups[0]["lr"]})
