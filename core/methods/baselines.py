"""The paper's baselines: GAC, and DAN, DANN and CDAN_E with true or pseudo-labels."""

import torch
import torch.nn.functional as functional
from torch import Tensor

from core.losses.adversarial import adversarial_loss, discriminator_accuracy, reverse_gradient
from core.losses.mmd import mmd_linear, mmd_quadratic
from core.methods.algorithm import Algorithm, Batch, Outputs, StageProblem, StepMetrics, join
from core.methods.objectives import adversarial_objective, complementary_objective


class GAC(Algorithm):
    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)
        stage1 = self.config.stage1
        self.fg_optimizer = self.make_optimizer("classifier", [self.classifier], stage1.optimizer, stage1.rate)

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.weights is not None
        source, _ = self.forward(batch.source, None)
        loss, metrics = complementary_objective(self.config, source.logits, batch.weights, self.problem.priors)
        self.minimise(loss, self.fg_optimizer, with_d=False)
        return StepMetrics(metrics, {"classifier_rate": self.fg_optimizer.param_groups[0]["lr"]})


Adaptation = tuple[Tensor, dict[str, Tensor], float]
"""The adaptation term, its metrics and λ."""


class Supervised(Algorithm):
    """Cross-entropy with true or pseudo-labels, and the adaptation of a subclass; alone, it is `source-only`."""

    adversarial = False
    """Whether there is a discriminator."""

    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)
        optimizer, rate = self.config.optimizer, self.config.classifier_rate
        self.fg_optimizer = self.make_optimizer("classifier", [self.classifier], optimizer, rate)
        if self.adversarial:
            self.build_discriminator()

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation | None:
        """Return the term that aligns the domains, its metrics and its λ; None for no adaptation."""
        return None

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.labels is not None
        source, target = self.forward(batch.source, batch.target)
        loss = functional.cross_entropy(source.logits, batch.labels)
        metrics = {"classification_loss": loss}
        on_host = {f"{name}_rate": optimizer.param_groups[0]["lr"] for name, optimizer in self.optimizers.items()}
        adaptation = self.adapt(source, target, adaptation_step) if target and adaptation_step > 0 else None
        if adaptation:
            term, adaptation_metrics, on_host["lambda"] = adaptation
            loss = loss + term
            metrics |= adaptation_metrics
        self.minimise(loss, self.fg_optimizer, with_d=adaptation is not None)
        return StepMetrics(metrics, on_host)


class DAN(Supervised):
    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        weight = self.lambda_at(adaptation_step)
        estimate = mmd_linear if self.config.mmd == "linear" else mmd_quadratic
        mmd = estimate(source.features, target.features)
        return weight * mmd, {"mmd": mmd}, weight


class DANN(Supervised):
    adversarial = True

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        weight = self.lambda_at(adaptation_step)
        scores = self.run_network(self.discriminator, reverse_gradient(join(source, target).features, weight))
        scores = self.discriminator.signed(self.as_float32(scores))
        equal = torch.ones_like(scores)
        loss = adversarial_loss(scores, equal, terms=self.config.domain_terms, detach_sums=True)
        return loss, {"adversarial_loss": loss, "discriminator_accuracy": discriminator_accuracy(scores)}, weight


class CDANE(Supervised):
    adversarial = True
    conditional = True

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation:
        return adversarial_objective(self, source, target, adaptation_step)
