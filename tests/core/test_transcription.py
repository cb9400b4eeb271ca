"""CLARINET, its ablations and every second stage against a transcription of the paper: loops, ifs, and SGD by hand.

The transcription has nothing from `core` but the first weights and the order of the images. Dropout is off.
"""

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import grad
from torch.nn.functional import conv2d, max_pool2d, relu

from core.checkpoint import NAME, load
from core.config import RunConfig
from core.data.batches import Shuffled
from core.data.sets import ImageSet, TaskData
from core.events import Stepped
from core.networks import Dropout
from core.resolve import resolve
from core.train import train
from tests.core.tiny import CLASSES, steps, tiny_data

TOLERANCE = 1e-4
MOVED = 50 * TOLERANCE
"""Weights and losses must move by much more than the tolerance, or agreeing means nothing."""
SEEDS = (5, 3, 7)
UNPREDICTED = ("classifier_rate", "discriminator_rate", "samples_per_second")
Weights = list[Tensor]
Metrics = dict[str, float]


@dataclass(frozen=True)
class Reading:
    """How the paper is read, from the table of facts; the defaults are the preset `paper`."""

    l: float = 0.5  # noqa: E741
    weight_decay: float = 5e-4
    ascent_by_counts: bool = True
    halved: bool = True
    detached_t: bool = True
    detached_sums: bool = True
    epsilon: float = 1e-5
    one_forward: bool = True
    one_sgd: bool = True
    warmup_target: bool = True
    ascends: bool = True
    late_entropy: int = 0
    """Iterations that the entropy's own λ starts later."""
    warmup_rate: float = 0.0
    """A rate, and an SGD, of warm-up's own; 0 is none."""
    classifier_rate: float = 0.01
    discriminator_rate: float = 0.1
    horizon: int = 30


PAPER = Reading()
LITERAL = Reading(
    weight_decay=5e-5,
    ascent_by_counts=False,
    halved=False,
    detached_t=False,
    detached_sums=False,
    epsilon=0.0,
    one_forward=False,
    one_sgd=False,
    warmup_target=False,
    discriminator_rate=0.05,
)
READINGS = {"paper": PAPER, "literal": LITERAL}


def inverted(images: ImageSet) -> ImageSet:
    """Images that D learns to tell from those that were not inverted at once."""
    return replace(images, x=255 - images.x)


def coloured(images: ImageSet) -> ImageSet:
    """Three channels, 32×32."""
    return replace(images, x=np.pad(images.x, ((0, 0), (2, 2), (2, 2), (0, 0))).repeat(3, axis=3))


DATA = tiny_data(source=32, target=40)  # 4 and 5 batches of 8: the source restarts in every epoch
DATA = replace(DATA, target_train=inverted(DATA.target_train))
SMALL = tiny_data(source=16, target=16)
COLOUR = replace(SMALL, source_train=coloured(SMALL.source_train), source_test=None)
COLOUR = replace(COLOUR, target_train=coloured(SMALL.target_train), target_test=coloured(SMALL.target_test))


# -- networks ---------------------------------------------------------------------------------------------------------


@dataclass
class Net:
    """Weights, and what batch-norm remembers, as lists of tensors in the order of the layers."""

    weights: Weights
    running: Weights = field(default_factory=list)

    def copy(self) -> "Net":
        return Net(list(self.weights), [value.clone() for value in self.running])

    def leaves(self) -> Weights:
        self.weights = [weight.detach().requires_grad_() for weight in self.weights]
        return self.weights


def lenet(net: Net, x: Tensor) -> tuple[Tensor, Tensor]:
    w1, b1, w2, b2, w3, b3, w4, b4 = net.weights
    x = relu(max_pool2d(conv2d(x, w1, b1), 2))
    x = relu(max_pool2d(conv2d(x, w2, b2), 2))
    g = relu(x.reshape(len(x), 800) @ w3.T + b3)
    return g, g @ w4.T + b4


def dtn(net: Net, x: Tensor) -> tuple[Tensor, Tensor]:
    for layer in range(3):
        w, b, scale, shift = net.weights[4 * layer : 4 * layer + 4]
        x = relu(batch_norm(net, layer, conv2d(x, w, b, stride=2, padding=2), scale, shift))
    w, b, scale, shift, w_head, b_head = net.weights[12:]
    g = relu(batch_norm(net, 3, x.reshape(len(x), 4096) @ w.T + b, scale, shift))
    return g, g @ w_head.T + b_head


def batch_norm(net: Net, layer: int, x: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    over = [0, 2, 3][: x.dim() - 1]
    shape = (1, -1, 1, 1)[: x.dim()]
    count = x.numel() // x.shape[1]
    mean = x.sum(over) / count
    variance = ((x - mean.reshape(shape)) ** 2).sum(over) / count
    remembered = net.running[2 * layer : 2 * layer + 2]
    for old, new in zip(remembered, (mean, variance * count / (count - 1)), strict=True):
        old.copy_(0.9 * old + 0.1 * new.detach())
    normal = (x - mean.reshape(shape)) / torch.sqrt(variance + 1e-5).reshape(shape)
    return normal * scale.reshape(shape) + shift.reshape(shape)


def probability_of_source(d: Weights, x: Tensor) -> Tensor:
    w1, b1, w2, b2, w3, b3 = d
    x = relu(relu(x @ w1.T + b1) @ w2.T + b2)
    return 1 / (1 + torch.exp(-(x @ w3.T + b3)[:, 0]))


def softmax(z: Tensor) -> Tensor:
    return torch.exp(z) / torch.exp(z).sum(1, keepdim=True)


# -- losses -----------------------------------------------------------------------------------------------------------


def class_losses(z: Tensor, ybar: list[int], priors: list[float]) -> list[Tensor]:
    """Eq. 5, subset by subset; an empty one is skipped."""
    subsets = [[i for i, label in enumerate(ybar) if label == k] for k in range(CLASSES)]
    losses = -torch.log(softmax(z))
    values = []
    for k in range(CLASSES):
        value = torch.zeros(())
        if subsets[k]:
            own = torch.stack([losses[i, k] for i in subsets[k]]).sum()
            value = value - (CLASSES - 1) * priors[k] / len(subsets[k]) * own
        for j in range(CLASSES):
            if subsets[j]:
                every = torch.stack([losses[i, k] for i in subsets[j]]).sum()
                value = value + priors[j] / len(subsets[j]) * every
        values.append(value)
    return values


def complementary(reading: Reading, z: Tensor, ybar: list[int], priors: list[float]) -> tuple[Tensor, Metrics]:
    """Lines 7 to 13: what is minimised, and what is measured."""
    losses = class_losses(z, ybar, priors)
    whole = torch.stack(losses).sum()
    metrics = {"complementary_loss": whole.item(), "least_class_loss": min(loss.item() for loss in losses)}
    if not reading.ascends:
        loss = cross_entropy(z, ybar)
        return loss, metrics | {"classification_loss": loss.item()}
    if reading.ascent_by_counts:
        losses = [loss * ybar.count(k) for k, loss in enumerate(losses)]
    if min(losses) >= 0:
        return whole, metrics | {"ascended": 0.0}
    negative = torch.stack([loss for loss in losses if loss < 0]).sum()
    return -negative, metrics | {"ascended": 1.0}  # to add γ1·∇L_neg is to descend -L_neg


def cross_entropy(z: Tensor, labels: list[int]) -> Tensor:
    return torch.stack([-torch.log(softmax(z)[i, label]) for i, label in enumerate(labels)]).mean()


def domain_term(share: Tensor, weights: Tensor, detached_sums: bool) -> Tensor:
    """One fraction of Eq. 9, with the minus that it lacks."""
    total = weights.sum().item() if detached_sums else weights.sum()
    return -(weights * torch.log(share)).sum() / total


def accuracy(source: Tensor, target: Tensor) -> float:
    right: list[bool] = [p > 0.5 for p in source.tolist()] + [p <= 0.5 for p in target.tolist()]
    return 100 * sum(right) / len(right)


def rising(i: int, horizon: int) -> float:
    return 2 / (1 + math.exp(-10 * max(0, i) / horizon)) - 1


@dataclass(frozen=True)
class Term:
    """What adaptation measured, its gradient for θ_FG (λ and its sign included) and D's own."""

    metrics: Metrics
    for_fg: Sequence[Tensor]
    for_d: Sequence[Tensor] = ()


def adversarial(reading: Reading, fg: Weights, d: Weights, g: Tensor, z: Tensor, split: int, i: int) -> Term:
    """Line 15, and the reversal by hand: the gradients at D's input and at H go back to θ_FG times -λ."""
    t = softmax(z) ** (1 / reading.l)
    t = t / t.sum(1, keepdim=True)
    h = -(t * torch.log(t + reading.epsilon)).sum(1)
    given = t.detach() if reading.detached_t else t
    pair = torch.cat([given[:, k : k + 1] * g for k in range(CLASSES)], dim=1)

    at_d, at_h = pair.detach().requires_grad_(), h.detach().requires_grad_()
    p = probability_of_source(d, at_d)
    weights = 1 + torch.exp(-at_h)
    source = domain_term(p[:split], weights[:split], reading.detached_sums)
    target = domain_term(1 - p[split:], weights[split:], reading.detached_sums)
    loss = (source + target) / 2 if reading.halved else source + target
    pair_slope, h_slope, *for_d = grad(loss, [at_d, at_h, *d])

    strength = rising(i, reading.horizon)
    h_strength = rising(i - reading.late_entropy, reading.horizon)
    metrics = {
        "adversarial_loss": loss.item(),
        "lambda": strength,
        "discriminator_accuracy": accuracy(p[:split], p[split:]),
        "entropy": (h[:split].mean().item() + h[split:].mean().item()) / 2,
    }
    return Term(metrics, grad([pair, h], fg, [-strength * pair_slope, -h_strength * h_slope]), for_d)


def dann(reading: Reading, fg: Weights, d: Weights, g: Tensor, z: Tensor, split: int, i: int) -> Term:
    """D sees the features alone: the mean of the cross-entropies of the two domains."""
    at_d = g.detach().requires_grad_()
    p = probability_of_source(d, at_d)
    loss = (-torch.log(p[:split]).mean() - torch.log(1 - p[split:]).mean()) / 2
    slope, *for_d = grad(loss, [at_d, *d])
    strength = rising(i, reading.horizon)
    metrics = {
        "adversarial_loss": loss.item(),
        "lambda": strength,
        "discriminator_accuracy": accuracy(p[:split], p[split:]),
    }
    return Term(metrics, gradients_of(g, fg, -strength * slope), for_d)


def dan(reading: Reading, fg: Weights, d: Weights, g: Tensor, z: Tensor, split: int, i: int) -> Term:
    """Five kernels over neighbouring pairs; their bandwidth is the mean squared distance / 4, times 1, 2, 4, 8, 16."""
    distance = [[((g[a] - g[b]) ** 2).sum() for b in range(len(g))] for a in range(len(g))]
    bandwidth = sum(value.item() for row in distance for value in row) / (len(g) ** 2 - len(g)) / 4

    def kernel(a: int, b: int) -> Tensor:
        return torch.stack([torch.exp(-distance[a][b] / (bandwidth * 2**u)) for u in range(5)]).sum()

    pairs = [(a, (a + 1) % split) for a in range(split)]
    mmd = torch.stack(
        [kernel(a, b) + kernel(split + a, split + b) - kernel(a, split + b) - kernel(b, split + a) for a, b in pairs]
    ).mean()
    strength = rising(i, reading.horizon)
    return Term({"mmd": mmd.item(), "lambda": strength}, gradients_of(mmd, fg, torch.tensor(strength)))


def gradients_of(result: Tensor, weights: Weights, slope: Tensor) -> Sequence[Tensor]:
    """F is no part of what the features alone decide: its gradient is 0."""
    return grad(result, weights, slope, allow_unused=True, materialize_grads=True)


# -- training ---------------------------------------------------------------------------------------------------------


class Sgd:
    """θ ← θ - rate·v, where v ← 0.9·v + gradient + decay·θ."""

    def __init__(self, rate: float, decay: float) -> None:
        self.rate, self.decay = rate, decay
        self.velocity: Weights = []

    def step(self, net: Net, gradients: Sequence[Tensor]) -> None:
        slopes = [slope + self.decay * weight.detach() for slope, weight in zip(gradients, net.weights, strict=True)]
        before = self.velocity or [torch.zeros_like(slope) for slope in slopes]
        self.velocity = [0.9 * v + slope for v, slope in zip(before, slopes, strict=True)]
        net.weights = [weight.detach() - self.rate * v for weight, v in zip(net.weights, self.velocity, strict=True)]


@dataclass(frozen=True)
class Minibatch:
    """Images of both domains, and the source's labels: complementary or pseudo."""

    source: Tensor
    target: Tensor
    labels: list[int]


See = Callable[[Net, Tensor], tuple[Tensor, Tensor]]


def algorithm_1(
    reading: Reading, see: See, fg: Net, d: Net, batches: list[Minibatch], warmup: int, priors: list[float]
) -> Iterator[Metrics]:
    classifier = Sgd(reading.classifier_rate, reading.weight_decay)
    warming = Sgd(reading.warmup_rate, reading.weight_decay) if reading.warmup_rate else classifier
    discriminator = Sgd(reading.discriminator_rate, reading.weight_decay)
    adversary = classifier if reading.one_sgd else Sgd(reading.discriminator_rate, reading.weight_decay)
    for i, batch in enumerate(batches, start=1 - warmup):
        split, both = len(batch.source), torch.cat((batch.source, batch.target))
        together = reading.one_forward if i > 0 else reading.warmup_target
        weights = fg.leaves()
        g, z = see(fg, both if together else batch.source)
        loss, metrics = complementary(reading, z[:split], batch.labels, priors)
        gradients = grad(loss, weights, retain_graph=True)
        if i > 0 and reading.one_forward:
            term = adversarial(reading, weights, d.leaves(), g, z, split, i)
        (warming if i <= 0 else classifier).step(fg, gradients)
        if i > 0 and not reading.one_forward:
            term = adversarial(reading, fg.leaves(), d.leaves(), *see(fg, both), split, i)
        if i > 0:
            discriminator.step(d, term.for_d)
            adversary.step(fg, term.for_fg)
            metrics |= term.metrics
        yield metrics


Adapt = Callable[[Reading, Weights, Weights, Tensor, Tensor, int, int], Term]


def second_stage(adapt: Adapt, reading: Reading, fg: Net, d: Net, batches: list[Minibatch]) -> Iterator[Metrics]:
    """Cross-entropy with pseudo-labels and a term of adaptation: one step of their sum."""
    classifier = Sgd(reading.classifier_rate, reading.weight_decay)
    discriminator = Sgd(reading.discriminator_rate, reading.weight_decay)
    for i, batch in enumerate(batches, start=1):
        split = len(batch.source)
        weights = fg.leaves()
        g, z = lenet(fg, torch.cat((batch.source, batch.target)))
        loss = cross_entropy(z[:split], batch.labels)
        gradients = grad(loss, weights, retain_graph=True)
        term = adapt(reading, weights, d.leaves(), g, z, split, i)
        classifier.step(fg, [slope + more for slope, more in zip(gradients, term.for_fg, strict=True)])
        discriminator.step(d, term.for_d)
        yield {"classification_loss": loss.item()} | term.metrics


# -- the product ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Trained:
    """What the product did: its iterations, its weights before and after them, and the images that each one took."""

    steps: list[Stepped]
    first: dict[str, Net]
    last: dict[str, Net]
    batches: list[Minibatch]


@dataclass
class Product:
    """The product with dropout off, which tells what it took from where."""

    folder: Path
    taken: dict[str, list[list[int]]]

    def train(self, config: RunConfig, data: TaskData = DATA, pseudo_labels: list[int] | None = None) -> Trained:
        """From the first weights, which a run that is stopped at once saves, to the last."""
        everything = {"data": data, "pseudo_labels": pseudo_labels, "checkpoint_dir": self.folder}
        list(train(config, should_stop=lambda: True, **everything))  # type: ignore[arg-type]
        first = self._nets(config)
        for rows in self.taken.values():
            rows.clear()
        events = list(train(config, **everything))  # type: ignore[arg-type]
        labels = pseudo_labels or complementary_labels(data)
        batches = [
            Minibatch(pixels(data.source_train, source), pixels(data.target_train, target), [labels[i] for i in source])
            for source, target in zip(self.taken["source"], self.taken["target"], strict=True)
        ]
        return Trained(steps(events), first, self._nets(config), batches)

    def _nets(self, config: RunConfig) -> dict[str, Net]:
        found = {"discriminator": Net([])}
        for name, state in load(self.folder / NAME, config)["algorithm"]["modules"].items():
            running = [state[key] for key in state if "running" in key]
            found[name] = Net([state[key] for key in state if key.endswith(("weight", "bias"))], running)
        return found


@pytest.fixture
def product(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Product:
    taken: dict[str, list[list[int]]] = {"source": [], "target": []}
    epoch = Shuffled.epoch

    def noted(self: Shuffled, *arguments: int) -> Iterator[tuple[Tensor, Tensor]]:
        for images, rows in epoch(self, *arguments):
            taken[self.name.split("/")[1]].append(rows.tolist())
            yield images, rows

    monkeypatch.setattr(Shuffled, "epoch", noted)
    monkeypatch.setattr(Dropout, "forward", lambda self, x: x)
    return Product(tmp_path, taken)


def pixels(images: ImageSet, rows: list[int]) -> Tensor:
    return torch.tensor(images.x[rows].transpose(0, 3, 1, 2) / 127.5 - 1, dtype=torch.float32)


def complementary_labels(data: TaskData) -> list[int]:
    assert data.source_train.ybar is not None
    return [row.tolist().index(True) for row in data.source_train.ybar]


def configured(method: str, reading: Reading, seed: int, **settings: Any) -> RunConfig:
    """Rates and λ that make the numbers move in a few small batches; all else is the preset's own."""
    small = {
        "task": "M->U",
        "warmup_epochs": 1,
        "batch_size": 8,
        "stage1": {"batch_size": 8},
        "evaluate_every": 100,
        "classifier_rate": reading.classifier_rate,
        "discriminator_rate": reading.discriminator_rate,
        "lambda_horizon": reading.horizon,
    }
    return resolve(small | settings, method=method, seed=seed, threads=1)


# -- the comparison ---------------------------------------------------------------------------------------------------


def compare(
    trained: Trained, transcribed: Iterator[Metrics], fg: Net, d: Net, tolerance: float = TOLERANCE
) -> list[Metrics]:
    """The transcription's metrics, once they have been found equal to the product's, and all weights with them."""
    expected = []
    for event, metrics in zip(trained.steps, transcribed, strict=True):
        measured = {name: value for name, value in event.measured.items() if name not in UNPREDICTED}
        assert measured == pytest.approx(metrics, rel=0, abs=tolerance), f"iteration {event.iteration}"
        expected.append(metrics)
    for name, ours in (("classifier", fg), ("discriminator", d)):
        last = trained.last[name]
        for theirs, our in zip(last.weights + last.running, ours.weights + ours.running, strict=True):
            torch.testing.assert_close(theirs, our.detach(), rtol=0, atol=tolerance)
    return expected


def has_moved(trained: Trained) -> bool:
    return all(
        (after - before).abs().max() > MOVED
        for name, first in trained.first.items()
        for before, after in zip(first.weights, trained.last[name].weights, strict=True)
    )


def clarinet(
    reading: Reading, trained: Trained, data: TaskData = DATA, see: See = lenet, tolerance: float = TOLERANCE
) -> list[Metrics]:
    labels = complementary_labels(data)
    priors = [labels.count(k) / len(labels) for k in range(CLASSES)]
    warmup = sum(event.adaptation_epoch is None for event in trained.steps)
    fg, d = trained.first["classifier"].copy(), trained.first["discriminator"].copy()
    return compare(trained, algorithm_1(reading, see, fg, d, trained.batches, warmup, priors), fg, d, tolerance)


def agrees(reading: Reading, trained: Trained) -> bool:
    try:
        clarinet(reading, trained)
    except AssertionError:
        return False
    return True


def with_some_seed(agree: Callable[[int], None]) -> None:
    """What is wrong is wrong for every seed; that rounding puts one of a million activations on the other side of its
    relu, which twenty steps make visible, is not."""
    for seed in SEEDS[:-1]:
        with contextlib.suppress(AssertionError):
            return agree(seed)
    return agree(SEEDS[-1])


@pytest.mark.parametrize("preset", READINGS)
def test_twenty_iterations_of_clarinet(preset: str, product: Product) -> None:
    reading = READINGS[preset]

    def agree(seed: int) -> None:
        trained = product.train(configured("clarinet", reading, seed, preset=preset, epochs=3))
        expected = clarinet(reading, trained)
        assert len(expected) == 20
        assert {metrics["ascended"] for metrics in expected} == {0.0, 1.0}
        opposed = [metrics["adversarial_loss"] for metrics in expected[5:]]
        assert max(opposed) - min(opposed) > MOVED
        assert has_moved(trained)

    with_some_seed(agree)


@pytest.mark.parametrize(
    ("method", "settings", "reading"),
    [
        ("clarinet-ce", {}, replace(PAPER, ascends=False)),
        ("clarinet-no-t", {}, replace(PAPER, l=1.0)),
        ("clarinet", {"entropy_lambda_delay": 1}, replace(PAPER, late_entropy=5)),
        ("clarinet", {"warmup_rate": 0.02}, replace(PAPER, warmup_rate=0.02)),
    ],
)
def test_ablations_and_variants(method: str, settings: dict[str, Any], reading: Reading, product: Product) -> None:
    def agree(seed: int) -> None:
        trained = product.train(configured(method, reading, seed, epochs=2, **settings))
        assert len(clarinet(reading, trained)) == 15

    with_some_seed(agree)


@pytest.mark.parametrize("preset", READINGS)
def test_batch_norm_sees_what_the_preset_says(preset: str, product: Product) -> None:
    """The paper's colour network: `paper` forwards the target in warm-up too, and both domains at once in adaptation.

    Batch-norm over so few images enlarges rounding, and the wrong images far more.
    """
    reading = replace(READINGS[preset], classifier_rate=3e-5, discriminator_rate=0.01)

    def agree(seed: int) -> None:
        trained = product.train(configured("clarinet", reading, seed, preset=preset, task="S->M", epochs=1), COLOUR)
        assert len(clarinet(reading, trained, COLOUR, dtn, tolerance=1e-3)) == 4
        for other in (
            replace(reading, warmup_target=not reading.warmup_target),
            replace(reading, one_forward=not reading.one_forward),
        ):
            with pytest.raises(AssertionError):
                clarinet(other, trained, COLOUR, dtn, tolerance=1e-2)

    with_some_seed(agree)


@pytest.mark.parametrize(
    ("method", "adapt", "horizon"), [("gac+cdan-e", adversarial, 30), ("gac+dann", dann, 30), ("gac+dan", dan, 10)]
)
def test_stage_2_steps_along_the_summed_loss(method: str, adapt: Adapt, horizon: int, product: Product) -> None:
    """DAN's λ rises over the whole of the training: ten iterations."""
    reading = Reading(l=1.0, discriminator_rate=0.02, horizon=horizon)
    given = [int(label) for label in np.random.default_rng(1).integers(0, CLASSES, len(DATA.source_train))]
    settings = {"lambda_horizon": 0} if adapt is dan else {}

    def agree(seed: int) -> None:
        config = configured(method, reading, seed, warmup_epochs=0, epochs=2, **settings)
        trained = product.train(config, pseudo_labels=given)
        fg, d = trained.first["classifier"].copy(), trained.first["discriminator"].copy()
        assert len(compare(trained, second_stage(adapt, reading, fg, d, trained.batches), fg, d)) == 10

    with_some_seed(agree)


@pytest.mark.parametrize("preset", READINGS)
def test_the_comparison_notices_any_other_reading(preset: str, product: Product) -> None:
    reading = READINGS[preset]
    trained = product.train(configured("clarinet", reading, SEEDS[0], preset=preset, epochs=3))
    others: list[dict[str, Any]] = [
        {"l": 0.6},
        {"weight_decay": 5e-4 + 5e-5 - reading.weight_decay},
        {"ascent_by_counts": not reading.ascent_by_counts},
        {"halved": not reading.halved},
        {"detached_t": not reading.detached_t},
        {"detached_sums": not reading.detached_sums},
        {"epsilon": 1e-4},
        {"one_forward": not reading.one_forward},
        {"one_sgd": not reading.one_sgd},
        {"late_entropy": 5},
        {"horizon": reading.horizon + 1},
    ]
    for other in others:
        assert not agrees(replace(reading, **other), trained), other
