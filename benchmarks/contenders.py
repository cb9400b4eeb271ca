"""Loops that `benchmarks.loop` compares: the whole training loop, and the bare limits of CLARINET and BASSET."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD

from clarinet_tui.runs.journal_writer import JournalWriter
from core.config import RunConfig
from core.data.batches import normalise
from core.data.labels import class_priors, label_weights
from core.data.task_data import TaskData
from core.dropout import disable_dropout, set_dropout_generator
from core.events import Stepped
from core.losses.adversarial import adversarial_loss, domain_input, reverse_gradient
from core.losses.complementary import ascent_loss, class_losses, forward_loss
from core.losses.predictions import (
    confident_cross_entropy,
    entropy_weights,
    information_loss,
    likeliest_allowed,
    log_scatter,
    minus_entropy,
)
from core.methods.augment import jitter
from core.methods.basset import Teacher
from core.networks import Classifier, Discriminator, build_classifier
from core.training.train import train

STRENGTH = 0.5
"""λ of the gradient reversal; its value does not change the time."""
Network = TypeVar("Network", bound=nn.Module)


class WholeLoop:
    """`core.training.train` with its batches, steps, metrics and events, each appended to a journal."""

    def __init__(self, config: RunConfig, data: TaskData, folder: Path) -> None:
        self.journal = JournalWriter(folder / "journal.jsonl")
        self.events = train(config, data=data, should_stop=self._count_start)
        self.started = self.finished = 0
        self.is_deterministic = False

    def _count_start(self) -> bool:
        """Count an iteration: `train` calls this before each one."""
        self.started += 1
        return False

    def run(self, iterations: int) -> int:
        """Train for at least this many iterations, until an event was yielded for each one started."""
        before = self.finished
        torch.use_deterministic_algorithms(self.is_deterministic, warn_only=True)
        while self.finished - before < iterations or self.finished < self.started:
            event = next(self.events)
            self.journal.append(event)
            if isinstance(event, Stepped):
                self.finished = event.iteration
        self.is_deterministic = torch.are_deterministic_algorithms_enabled()
        torch.use_deterministic_algorithms(False)  # the other loops are not deterministic
        return self.finished - before

    def close(self) -> None:
        self.events.close()  # type: ignore[attr-defined]
        self.journal.close()


class BareLoop(ABC):
    """Forward and backward passes and optimizer steps on one fixed batch, and nothing else."""

    def __init__(self, config: RunConfig, data: TaskData) -> None:
        self.config = config
        source, target, size = data.source_train, data.target_train, config.batch_size
        assert source.ybar is not None
        self.source, self.target = (normalise(torch.from_numpy(images.x[:size]), True) for images in (source, target))
        self.labels = torch.from_numpy(label_weights(source.ybar[:size]))
        self.priors = torch.from_numpy(class_priors(source.ybar)).float()
        self.shape, self.classes = data.shape, len(data.classes)

    def run(self, iterations: int) -> int:
        for _ in range(iterations):
            self.iterate()
        return iterations

    @abstractmethod
    def iterate(self) -> None: ...

    def build_classifier(self) -> Classifier:
        return prepare(build_classifier(self.config, self.shape, self.classes))

    def make_optimizer(self, weights: list[nn.Parameter], rate: float) -> SGD:
        return SGD(weights, rate, self.config.momentum, weight_decay=self.config.weight_decay, fused=True)


class BareLimit(BareLoop):
    """CLARINET's."""

    def __init__(self, config: RunConfig, data: TaskData) -> None:
        super().__init__(config, data)
        self.classifier = self.build_classifier()
        self.discriminator = prepare(Discriminator(self.classifier.width * self.classes))
        self.fg, self.d = list(self.classifier.parameters()), list(self.discriminator.parameters())
        self.fg_step = self.make_optimizer(self.fg, config.classifier_rate)
        self.d_step = self.make_optimizer(self.d, config.discriminator_rate)

    def iterate(self) -> None:
        source, target = self.classifier(self.source), self.classifier(self.target)
        losses = class_losses(source[1], self.labels, self.priors)
        loss, _ = ascent_loss(losses, by_counts=self.config.ascent_by_counts)
        complementary = torch.autograd.grad(loss, self.fg, retain_graph=True)
        adversarial = torch.autograd.grad(self.adversarial_loss(source, target), [*self.fg, *self.d])
        for optimizer, weights, gradients in (
            (self.fg_step, self.fg, complementary),
            (self.d_step, self.d, adversarial[len(self.fg) :]),
            (self.fg_step, self.fg, adversarial[: len(self.fg)]),
        ):
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient
            optimizer.step()

    def adversarial_loss(self, *domains: tuple[Tensor, Tensor]) -> Tensor:
        features, logits = (torch.cat(parts) for parts in zip(*domains, strict=True))
        log_t = log_scatter(logits, self.config.scatter)
        minus_h, t = minus_entropy(log_t, self.config.entropy_epsilon)
        pairs = domain_input(reverse_gradient(features, STRENGTH), t.detach() if self.config.detach_predictions else t)
        scores = self.discriminator.signed(self.discriminator(pairs))
        weights = entropy_weights(reverse_gradient(minus_h, STRENGTH)).view(2, -1)
        terms, detach_sums = self.config.domain_terms, self.config.detach_weight_sums
        return adversarial_loss(scores, weights, terms=terms, detach_sums=detach_sums)


class BareBasset(BareLoop):
    """Those of BASSET's student and teacher; the batch is jittered each time."""

    def __init__(self, config: RunConfig, data: TaskData) -> None:
        super().__init__(config, data)
        self.student = self.build_classifier()
        disable_dropout(self.student)
        self.teacher = Teacher(self.build_classifier(), self.classes)
        self.weights = list(self.student.parameters())
        self.optimizer = self.make_optimizer(self.weights, config.classifier_rate)
        self.random = torch.Generator().manual_seed(1)

    def iterate(self) -> None:
        config = self.config
        source, target = (
            self.student(jitter(images, config.jitter, self.random))[1] for images in (self.source, self.target)
        )
        labels = likeliest_allowed(self.teacher.predict(self.source), self.labels)
        predictions = self.teacher.balanced(self.teacher.predict(self.target))
        loss = forward_loss(source, self.labels) + functional.cross_entropy(source, labels)
        loss = loss + confident_cross_entropy(target, predictions, config.teacher_threshold)[0]
        loss = loss + config.information_weight * information_loss(target)
        for weight, gradient in zip(self.weights, torch.autograd.grad(loss, self.weights), strict=True):
            weight.grad = gradient
        self.optimizer.step()
        self.teacher.update(self.student, config.teacher_decay)


def prepare(network: Network) -> Network:
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    set_dropout_generator(network, torch.Generator().manual_seed(1))
    return network
