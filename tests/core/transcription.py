"""The paper in plain Python: loops for classes, ifs for branches, powers for T, SGD by hand; nothing from `core`."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.autograd import grad
from torch.nn.functional import conv2d, max_pool2d, relu

from tests.support.tiny import CLASSES

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
