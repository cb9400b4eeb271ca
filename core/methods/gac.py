"""GAC, gradient-ascent complementary learning (Ishida et al. 2019): the source alone; also stage 1 of two steps."""

from core.methods.algorithm import Algorithm, Batch, StageProblem, StepMetrics, apply_gradients
from core.methods.objectives import complementary_objective


class GAC(Algorithm):
    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)
        stage1 = self.config.stage1
        self.fg = list(self.classifier.parameters())
        self.fg_optimizer = self.make_optimizer("classifier", [self.classifier], stage1.optimizer, stage1.rate)

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.weights is not None
        source, _ = self.forward(batch.source, None)
        loss, metrics = complementary_objective(self.config, source.logits, batch.weights, self.problem.priors)
        apply_gradients(self.fg_optimizer, self.fg, self.gradients(loss, self.fg))
        return StepMetrics(metrics, {"classifier_rate": self.fg_optimizer.param_groups[0]["lr"]})
