"""BASSET: complementary labels and an unlabelled target in one step, without a discriminator.

Warm-up: the complementary loss on jittered source images. Adaptation, with an averaged teacher:
  1. the student predicts jittered images of both domains, the teacher the same images without jitter;
  2. source: the complementary loss, and cross-entropy with the teacher's likeliest class that ȳ does not rule out;
  3. target, times λ: cross-entropy with the teacher's confident labels after balancing them, minus the information of
     the student's predictions;
  4. a step on the sum, then the teacher's weights move towards the student's.
The source's labels follow the teacher through the whole adaptation. With fixed pseudo-labels from a stage before, this
is stage 2 of the two-step controls.
"""

from collections.abc import Iterator

import torch
import torch.nn.functional as functional
from torch import Tensor, nn

from core.losses.predictions import (
    balance,
    class_confusion,
    confident_cross_entropy,
    information_loss,
    likeliest_allowed,
)
from core.methods.algorithm import Algorithm, Batch, Outputs, StageProblem, StepMetrics
from core.methods.objectives import adversarial_objective, complementary_objective
from core.networks import Classifier

BALANCE_DECAY = 0.99
"""Decay of the running mean of the teacher's predictions."""


class Teacher(nn.Module):
    """The mean of a classifier's weights, and of the teacher's own predictions for the target."""

    mean_prediction: Tensor

    def __init__(self, classifier: Classifier, classes: int) -> None:
        """`classifier` has the student's first weights and becomes the teacher's own."""
        super().__init__()
        self.classifier = classifier.requires_grad_(False)
        self.register_buffer("mean_prediction", torch.full((classes,), 1 / classes))

    @torch.no_grad()
    def update(self, student: Classifier, decay: float) -> None:
        """Move every weight towards the student's by 1 - decay; statistics of batch-norm are copied."""
        torch._foreach_lerp_(list(self.classifier.parameters()), list(student.parameters()), 1 - decay)
        for mine, theirs in zip(self.classifier.buffers(), student.buffers(), strict=True):
            mine.copy_(theirs)

    @torch.no_grad()
    def predict(self, images: Tensor) -> Tensor:
        """Return probabilities without dropout, and with batch-norm's running statistics."""
        self.classifier.eval()
        probabilities: Tensor = self.classifier(images)[1].float().softmax(dim=1)
        return probabilities

    @torch.no_grad()
    def balanced(self, predictions: Tensor) -> Tensor:
        """Return the predictions with equally frequent classes, and update their running mean."""
        self.mean_prediction.lerp_(predictions.mean(dim=0), 1 - BALANCE_DECAY)
        return balance(predictions, self.mean_prediction)


Term = tuple[Tensor, dict[str, Tensor]]
"""A loss and its metrics."""


class Basset(Algorithm):
    conditional = True

    def __init__(self, problem: StageProblem) -> None:
        super().__init__(problem)
        config = self.config
        self.teacher: Teacher | None = None
        if config.teacher_weight or config.relabel_weight:
            self.teacher = self.add_module("teacher", Teacher(self.build_classifier(), problem.classes))
            if config.compile:
                self.teacher.classifier.compile()
        self.optimizer = self.make_optimizer("classifier", [self.classifier], config.optimizer, config.classifier_rate)
        rate = config.warmup_rate or config.classifier_rate
        self.warmup_optimizer = self.make_optimizer("warmup", [self.classifier], config.warmup_optimizer, rate)
        if config.discriminator:
            self.build_discriminator()

    @property
    def predictor(self) -> Classifier:
        return self.teacher.classifier if self.teacher else self.classifier

    def load_classifier(self, weights: dict[str, Tensor]) -> None:
        super().load_classifier(weights)
        if self.teacher:
            self.teacher.classifier.load_state_dict(weights)

    def step(self, batch: Batch, adaptation_step: int) -> StepMetrics:
        is_adapting = adaptation_step > 0
        uses_target = is_adapting or (self.config.warmup_target and self.classifier.has_batch_norm)
        source, target = self.forward(batch.source, batch.target if uses_target else None)
        loss, metrics = self.source_loss(source, batch)
        optimizer, on_host = self.optimizer if is_adapting else self.warmup_optimizer, {}
        if is_adapting:
            assert target is not None
            on_host["lambda"] = weight = self.lambda_at(adaptation_step)
            if batch.labels is None:
                loss = loss * self.config.complementary_weight
            for term, term_metrics in self.adaptation_terms(batch, source, target, adaptation_step, weight):
                loss = loss + term
                metrics |= term_metrics
        self.minimise(loss, optimizer, with_d=is_adapting)
        if self.teacher:
            self.teacher.update(self.classifier, self.config.teacher_decay)
        on_host["classifier_rate"] = optimizer.param_groups[0]["lr"]
        return StepMetrics(metrics, on_host)

    def source_loss(self, source: Outputs, batch: Batch) -> Term:
        """The loss with the source's own labels: complementary ones, or pseudo-labels in stage 2 of a control."""
        if batch.labels is not None:
            loss = functional.cross_entropy(source.logits, batch.labels)
            return loss, {"classification_loss": loss}
        assert batch.weights is not None
        return complementary_objective(self.config, source.logits, batch.weights, self.problem.priors)

    def adaptation_terms(
        self, batch: Batch, source: Outputs, target: Outputs, adaptation_step: int, weight: float
    ) -> Iterator[Term]:
        """Yield each part that is switched on, already weighted."""
        config, teacher = self.config, self.teacher
        predicted = self._predict(teacher, batch) if teacher else {}
        if batch.weights is not None and "source" in predicted:
            labels = likeliest_allowed(predicted["source"], batch.weights)
            loss = functional.cross_entropy(source.logits, labels)
            yield config.relabel_weight * loss, {"relabel_loss": loss}
        if teacher and "target" in predicted:
            predictions = teacher.balanced(predicted["target"]) if config.balance_classes else predicted["target"]
            loss, share = confident_cross_entropy(target.logits, predictions, config.teacher_threshold)
            yield weight * config.teacher_weight * loss, {"teacher_loss": loss, "target_confident": share}
        if config.information_weight:
            loss = information_loss(target.logits)
            yield weight * config.information_weight * loss, {"information_loss": loss}
        if config.confusion_weight:
            loss = class_confusion(target.logits)
            yield weight * config.confusion_weight * loss, {"confusion_loss": loss}
        if config.discriminator:
            loss, metrics, _ = adversarial_objective(self, source, target, adaptation_step)
            yield loss, metrics

    def _predict(self, teacher: Teacher, batch: Batch) -> dict[str, Tensor]:
        """Return the teacher's predictions for the images without jitter, of the domains that need them."""
        assert batch.target is not None
        images = {}
        if self.config.relabel_weight and batch.weights is not None:
            images["source"] = batch.source if batch.clean_source is None else batch.clean_source
        if self.config.teacher_weight:
            images["target"] = batch.target if batch.clean_target is None else batch.clean_target
        with self.autocast():
            if len(images) == 2 and self.saves_launches:
                both = teacher.predict(torch.cat(tuple(images.values())))
                return dict(zip(images, torch.split(both, [len(x) for x in images.values()]), strict=True))
            return {domain: teacher.predict(x) for domain, x in images.items()}
