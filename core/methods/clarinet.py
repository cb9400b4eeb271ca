"""CLARINET, Algorithm 1 of the paper: classify complementary labels and confuse the domains in one step.

G features, F classifier on them, D domain discriminator; T scatters F's predictions; γ1 and γ2 are `classifier_rate`
and `discriminator_rate`, T_s is `warmup_epochs`. The ablations are other settings of the same algorithm.
"""

import torch

from core.methods.algorithm import Algorithm, Batch, StageProblem, StepMetrics, apply_gradients
from core.methods.objectives import adversarial_objective, complementary_objective


class Clarinet(Algorithm):
    conditional = True

    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)  # line 1: initialise θ_FG ...
        config = self.config
        networks, optimizer = [self.classifier], config.optimizer
        self.fg_optimizer = self.make_optimizer("classifier", networks, optimizer, config.classifier_rate)
        self.build_discriminator()  # ... and θ_D
        self.fg_warmup_optimizer = self.fg_optimizer
        if config.warmup_epochs and (config.warmup_optimizer != "same" or config.warmup_rate):
            rate = config.warmup_rate or config.classifier_rate
            self.fg_warmup_optimizer = self.make_optimizer("warmup", networks, config.warmup_optimizer, rate)
        self.fg_adversarial_optimizer = self.fg_optimizer
        if config.adversarial_step == "own":
            rate = config.discriminator_rate
            self.fg_adversarial_optimizer = self.make_optimizer("adversarial", networks, optimizer, rate)

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        assert batch.weights is not None
        is_adapting = adaptation_step > 0
        shared = is_adapting and self.config.shared_forward

        # Lines 6-7: the complementary loss of each class and of the whole batch.
        # Forwarding the target in warm-up changes only batch-norm's statistics.
        warmup_target = not is_adapting and self.config.warmup_target and self.classifier.has_batch_norm
        source, target = self.forward(batch.source, batch.target if shared or warmup_target else None)
        loss, metrics = complementary_objective(self.config, source.logits, batch.weights, self.problem.priors)
        gradients = self.gradients(loss, self.fg, retain_graph=shared)

        if not is_adapting:
            apply_gradients(self.fg_warmup_optimizer, self.fg, gradients)
            return StepMetrics(metrics, self._rates(self.fg_warmup_optimizer))

        if not shared:
            apply_gradients(self.fg_optimizer, self.fg, gradients)  # lines 8-13, before L_adv uses G and F
            source, target = self.forward(batch.source, batch.target)

        # Line 15: L_adv; its gradient reaches G and F as -λ∇L_adv.
        assert target is not None
        adversarial, adversarial_metrics, weight = adversarial_objective(self, source, target, adaptation_step)
        both = self.gradients(adversarial, [*self.fg, *self.d])

        if shared:
            apply_gradients(self.fg_optimizer, self.fg, gradients)  # lines 8-13, after L_adv at the same weights
        apply_gradients(self.d_optimizer, self.d, both[len(self.fg) :])  # line 16
        apply_gradients(self.fg_adversarial_optimizer, self.fg, both[: len(self.fg)])  # line 17
        return StepMetrics(metrics | adversarial_metrics, {"lambda": weight, **self._rates(self.fg_optimizer)})

    def _rates(self, fg_optimizer: torch.optim.Optimizer) -> dict[str, float]:
        return {
            "classifier_rate": fg_optimizer.param_groups[0]["lr"],
            "discriminator_rate": self.d_optimizer.param_groups[0]["lr"],
        }
