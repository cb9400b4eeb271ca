"""CLARINET, Algorithm 1 of the paper: classify complementary labels and confuse the domains in one step.

G features, F classifier on them, D domain discriminator; T scatters F's predictions; γ1 and γ2 are `classifier_rate`
and `discriminator_rate`, T_s is `warmup_epochs`. The ablations are other settings of the same algorithm.
"""

import torch

from core.methods.algorithm import Algorithm, Batch, StageProblem, StepMetrics, apply_gradients
from core.methods.complementary import complementary_objective
from core.methods.objectives import adversarial_objective


class Clarinet(Algorithm):
    conditional = True

    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)  # line 1: initialise θ_FG ...
        config = self.config
        self.discriminator = self.build_discriminator()  # ... and θ_D
        self.fg = list(self.classifier.parameters())
        self.d = list(self.discriminator.parameters())
        self.fg_step = self.make_optimizer("classifier", [self.classifier], config.optimizer, config.classifier_rate)
        self.d_step = self.make_optimizer(
            "discriminator", [self.discriminator], config.discriminator_optimizer, config.discriminator_rate
        )
        self.fg_warmup_step = self.fg_step
        if config.warmup_epochs and (config.warmup_optimizer != "same" or config.warmup_rate):
            rate = config.warmup_rate or config.classifier_rate
            self.fg_warmup_step = self.make_optimizer("warmup", [self.classifier], config.warmup_optimizer, rate)
        self.fg_adversarial_step = self.fg_step
        if config.adversarial_step == "own":
            self.fg_adversarial_step = self.make_optimizer(
                "adversarial", [self.classifier], config.optimizer, config.discriminator_rate
            )

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.weights is not None
        adapting = adaptation_step > 0
        shared = adapting and self.config.shared_forward

        # Lines 6-7: the complementary loss of each class and of the whole batch.
        source, target = self.forward(batch.source, batch.target if shared or self._warms_up(adapting) else None)
        loss, measured = complementary_objective(self.config, source.logits, batch.weights, self.problem.priors)
        gradients = torch.autograd.grad(loss, self.fg, retain_graph=shared)

        if not adapting:
            apply_gradients(self.fg_warmup_step, self.fg, gradients)
            return StepMetrics(measured, self._rates(self.fg_warmup_step))

        if not shared:
            apply_gradients(self.fg_step, self.fg, gradients)  # lines 8-13, before the adversarial part sees G and F
            source, target = self.forward(batch.source, batch.target)

        # Line 15: L_adv; its gradient reaches G and F as -λ∇L_adv.
        assert target is not None
        adversarial, more, strength = adversarial_objective(self, self.discriminator, source, target, adaptation_step)
        both = torch.autograd.grad(adversarial, [*self.fg, *self.d])

        if shared:
            apply_gradients(self.fg_step, self.fg, gradients)  # lines 8-13, at the weights that L_adv has seen
        apply_gradients(self.d_step, self.d, both[len(self.fg) :])  # line 16
        apply_gradients(self.fg_adversarial_step, self.fg, both[: len(self.fg)])  # line 17
        return StepMetrics(measured | more, {"lambda": strength, **self._rates(self.fg_step)})

    def _warms_up(self, adapting: bool) -> bool:
        """Whether warm-up forwards the target: it changes nothing but batch-norm's statistics."""
        return not adapting and self.config.warmup_target and self.classifier.has_batch_norm

    def _rates(self, fg_step: torch.optim.Optimizer) -> dict[str, float]:
        return {
            "classifier_rate": fg_step.param_groups[0]["lr"],
            "discriminator_rate": self.d_step.param_groups[0]["lr"],
        }
