"""A straightforward CLARINET with the preset `paper`, not optimized for speed, for comparison in `benchmarks.loop`.

It has a DataLoader that transforms image by image, a Python loop over the classes, `.item()` in every iteration, two
backward passes over the whole graph, and torch's own dropout and optimizers.
"""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD
from torch.utils.data import DataLoader, Dataset

from core.config import RunConfig
from core.data.task_data import ImageSet, TaskData
from core.data.torchvision_import import torchvision

Item = tuple[Tensor, int]


class LabelledImages(Dataset[Item]):
    """Images with one complementary label each, transformed as with torchvision's datasets."""

    def __init__(self, images: ImageSet) -> None:
        self.images = images
        self.labels = [0] * len(images) if images.ybar is None else [int(row.argmax()) for row in images.ybar]
        transforms = torchvision().transforms
        self.transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> Item:
        image: NDArray[np.uint8] = self.images.x[index].squeeze()
        return self.transform(Image.fromarray(image)), self.labels[index]


class Features(nn.Module):
    """G for 28×28 digits."""

    def __init__(self) -> None:
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 20, 5),
            nn.MaxPool2d(2),
            nn.ReLU(),
            nn.Conv2d(20, 50, 5),
            nn.Dropout2d(0.5),
            nn.MaxPool2d(2),
            nn.ReLU(),
        )
        self.linear = nn.Sequential(nn.Linear(800, 500), nn.ReLU(), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        features: Tensor = self.linear(self.convolutions(x).view(len(x), 800))
        return features


class ReverseGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, strength: float) -> Tensor:
        ctx.strength = strength  # type: ignore[attr-defined]
        return x.clone()

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, gradient: Tensor) -> tuple[Tensor, None]:
        return -ctx.strength * gradient, None  # type: ignore[attr-defined]


class Straightforward:
    def __init__(self, config: RunConfig, data: TaskData, workers: int) -> None:
        self.config = config
        self.classes = len(data.classes)
        self.source = repeat_batches(data.source_train, config.batch_size, workers)
        self.target = repeat_batches(data.target_train, config.batch_size, workers)
        assert data.source_train.ybar is not None
        self.priors = torch.from_numpy(data.source_train.ybar.mean(axis=0)).float()
        self.features, self.head = Features(), nn.Linear(500, self.classes)
        self.discriminator = nn.Sequential(
            nn.Linear(500 * self.classes, 500),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(500, 500),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(500, 1),
        )
        self.weights = [*self.features.parameters(), *self.head.parameters()]
        momentum, decay = config.momentum, config.weight_decay
        self.classifier_step = SGD(self.weights, config.classifier_rate, momentum, weight_decay=decay)
        self.discriminator_step = SGD(
            self.discriminator.parameters(), config.discriminator_rate, momentum, weight_decay=decay
        )
        self.history: list[tuple[float, float, float, float]] = []

    def run(self, iterations: int) -> int:
        for _ in range(iterations):
            self.iterate()
        return iterations

    def iterate(self) -> None:
        (source, ybar), (target, _) = next(self.source), next(self.target)
        features = self.features(torch.cat((source, target)))
        logits = self.head(features)
        loss, least_class_loss = self.complementary_loss(logits[: len(source)], ybar)
        adversarial, entropy = self.adversarial_loss(features, logits, len(source))

        complementary_gradients = self.gradients(loss)
        adversarial_gradients = self.gradients(adversarial)
        self.discriminator_step.step()
        for gradients in (complementary_gradients, adversarial_gradients):
            for weight, gradient in zip(self.weights, gradients, strict=True):
                weight.grad = gradient
            self.classifier_step.step()
        self.history.append((loss.item(), least_class_loss, adversarial.item(), entropy.item()))

    def gradients(self, loss: Tensor) -> list[Tensor]:
        self.classifier_step.zero_grad()
        self.discriminator_step.zero_grad()
        loss.backward(retain_graph=True)  # type: ignore[no-untyped-call]
        return [weight.grad.clone() for weight in self.weights if weight.grad is not None]

    def complementary_loss(self, logits: Tensor, ybar: Tensor) -> tuple[Tensor, float]:
        """Eq. 5 class by class, with gradient ascent where the loss of a class is negative."""
        losses = -functional.log_softmax(logits, dim=1)
        values, scaled = [], []
        for k in range(self.classes):
            value = torch.zeros(())
            for j in range(self.classes):
                chosen = losses[ybar == j]
                if len(chosen) > 0:
                    value = value + self.priors[j] * chosen[:, k].mean()
            own = losses[ybar == k]
            if len(own) > 0:
                value = value - (self.classes - 1) * self.priors[k] * own[:, k].mean()
            values.append(value)
            scaled.append(value * len(own))
        least = min(value.item() for value in scaled)
        if least < 0:
            return -torch.stack([torch.clamp(value, max=0) for value in scaled]).sum(), least
        return torch.stack(values).sum(), least

    def adversarial_loss(self, features: Tensor, logits: Tensor, split: int) -> tuple[Tensor, Tensor]:
        strength = 2 / (1 + math.exp(-10 * (len(self.history) + 1) / self.config.lambda_horizon)) - 1
        scattered = functional.softmax(logits / self.config.scatter, dim=1)
        entropy = -(scattered * torch.log(scattered + self.config.entropy_epsilon)).sum(dim=1)
        weights = 1 + torch.exp(-ReverseGradient.apply(entropy, strength))  # type: ignore[no-untyped-call]
        pair = torch.bmm(scattered.detach().unsqueeze(2), features.unsqueeze(1)).view(len(features), -1)
        probability = torch.sigmoid(self.discriminator(ReverseGradient.apply(pair, strength))).squeeze(1)  # type: ignore[no-untyped-call]
        domain = torch.cat((torch.ones(split), torch.zeros(len(features) - split)))
        source, target = weights[:split], weights[split:]
        shares = torch.cat((source / source.sum().detach(), target / target.sum().detach()))
        losses = functional.binary_cross_entropy(probability, domain, reduction="none")
        return (shares * losses).sum() / 2, entropy.mean()


def repeat_batches(images: ImageSet, batch_size: int, workers: int) -> Iterator[list[Tensor]]:
    loader = DataLoader(LabelledImages(images), batch_size, shuffle=True, drop_last=True, num_workers=workers)
    while True:
        yield from loader
