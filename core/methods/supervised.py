"""What the methods with true or pseudo-labels share: cross-entropy plus an adaptation term, one step of their sum."""

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from core.methods.algorithm import Algorithm, Batch, Outputs, StageProblem, StepMetrics, apply_gradients

Adaptation = tuple[Tensor, dict[str, Tensor], float]


class Supervised(Algorithm):
    adversarial = False
    """Whether there is a discriminator."""

    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)
        config = self.config
        self.fg = list(self.classifier.parameters())
        self.steps = [self.make_optimizer("classifier", [self.classifier], config.optimizer, config.classifier_rate)]
        self.parameters: list[nn.Parameter] = list(self.fg)
        if self.adversarial:
            self.discriminator = self.build_discriminator()
            self.parameters += self.discriminator.parameters()
            kind, rate = config.discriminator_optimizer, config.discriminator_rate
            self.steps.append(self.make_optimizer("discriminator", [self.discriminator], kind, rate))

    def adapt(self, source: Outputs, target: Outputs, adaptation_step: int) -> Adaptation | None:
        """The term that brings the domains together, what was measured of it, and its λ; None adapts nothing."""
        return None

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.labels is not None
        source, target = self.forward(batch.source, batch.target)
        loss = functional.cross_entropy(source.logits, batch.labels)
        measured = {"classification_loss": loss}
        known = {f"{name}_rate": optimizer.param_groups[0]["lr"] for name, optimizer in self.optimizers.items()}
        parameters, steps = self.fg, self.steps[:1]
        if target is not None and adaptation_step > 0 and (adaptation := self.adapt(source, target, adaptation_step)):
            term, more, known["lambda"] = adaptation
            loss = loss + term
            measured |= more
            parameters, steps = self.parameters, self.steps
        gradients = torch.autograd.grad(loss, parameters)
        for optimizer, start in zip(steps, (0, len(self.fg)), strict=False):
            chosen = slice(start, start + len(optimizer.param_groups[0]["params"]))
            apply_gradients(optimizer, parameters[chosen], gradients[chosen])
        return StepMetrics(measured, known)
