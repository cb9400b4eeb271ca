"""BASSET's step against a literal one, its parts one by one, and its averaged teacher."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from core.data.labels import class_priors, label_weights
from core.methods import find_method
from core.methods.algorithm import Batch, StageProblem
from core.methods.basset import Basset, Teacher
from core.methods.plan import make_plan
from tests.support.tiny import CLASSES, tiny_config, tiny_data

DATA = tiny_data()
PARTS = {
    "teacher_weight": "teacher_loss",
    "relabel_weight": "relabel_loss",
    "information_weight": "information_loss",
    "confusion_weight": "confusion_loss",
}


def basset(method: str = "basset", **settings: Any) -> Basset:
    config = tiny_config(method, **{"jitter": 0.0, "teacher_threshold": 0.3, **settings})
    stages = make_plan(config, find_method(method), len(DATA.source_train), len(DATA.target_train))
    mask = DATA.source_train.ybar
    assert mask is not None
    priors = torch.from_numpy(class_priors(mask)).float()
    return Basset(StageProblem(config, stages[-1], (28, 28, 1), CLASSES, priors, torch.device("cpu")))


def teacher_of(algorithm: Basset) -> Teacher:
    assert algorithm.teacher is not None
    return algorithm.teacher


def batch(labels: bool = False) -> Batch:
    def images(x: Any) -> Tensor:
        return torch.from_numpy(x[:8]).permute(0, 3, 1, 2).float() / 127.5 - 1

    mask = DATA.source_train.ybar
    assert mask is not None
    weights = None if labels else torch.from_numpy(label_weights(mask))[:8]
    y = torch.from_numpy(DATA.source_train.y)[:8] if labels else None
    return Batch(images(DATA.source_train.x), images(DATA.target_train.x), weights=weights, labels=y)


def literal_loss(algorithm: Basset, data: Batch, weight: float) -> Tensor:
    """The loss of an adaptation step in probabilities and loops; student and teacher have the same weights."""
    config, classifier = algorithm.config, algorithm.classifier
    assert data.target is not None
    source, target = (classifier(images)[1].softmax(dim=1) for images in (data.source, data.target))
    with torch.no_grad():
        mean = 0.99 / CLASSES + 0.01 * target.mean(dim=0)
        aligned = [row / mean / (row / mean).sum() for row in target]
        if data.weights is None:
            allowed = []
        else:
            allowed = [(p * (w == 0)).argmax() for p, w in zip(source, data.weights, strict=True)]

    def confident(predictions: Tensor, labels: list[Tensor]) -> Tensor:
        terms = [
            -p[q.argmax()].log() for p, q in zip(predictions, labels, strict=True) if q.max() > config.teacher_threshold
        ]
        return torch.stack(terms).sum() / len(predictions)

    if data.labels is not None:
        loss = torch.stack([-p[y].log() for p, y in zip(source, data.labels, strict=True)]).mean()
    else:
        assert data.weights is not None
        wrong = [-(1 - p[w.argmax()]).log() for p, w in zip(source, data.weights, strict=True)]
        loss = config.complementary_weight * torch.stack(wrong).mean()
        relabelled = [-p[label].log() for p, label in zip(source, allowed, strict=True)]
        loss = loss + config.relabel_weight * torch.stack(relabelled).mean()
    entropy = -(target * target.log()).sum(dim=1).mean()
    balance = -(target.mean(dim=0) * target.mean(dim=0).log()).sum()
    loss += weight * config.information_weight * (entropy - balance)
    loss += weight * config.teacher_weight * confident(target, aligned)
    return loss


@pytest.mark.parametrize(("method", "labels"), [("basset", False), ("fwd+basset", True)])
def test_adaptation_step_is_the_literal_one(method: str, labels: bool) -> None:
    settings = {
        "classifier_rate": 0.05,
        "complementary_weight": 1.3,
        "relabel_weight": 0.7,
        "teacher_threshold": 0.265,
        "lambda_horizon": 20,
    }
    algorithm, reference = (basset(method, **settings) for _ in range(2))
    data, config = batch(labels), algorithm.config
    weight = 2 / (1 + math.exp(-10 * 3 / 20)) - 1
    before = [parameter.detach().clone() for parameter in algorithm.fg]
    gradients = torch.autograd.grad(literal_loss(reference, data, weight), reference.fg)
    metrics = algorithm.step(data, 3)
    assert metrics.on_host["lambda"] == pytest.approx(weight)
    assert 0 < metrics.on_device["target_confident"].item() < 1
    teacher = list(teacher_of(algorithm).classifier.parameters())
    for parameter, averaged, old, gradient in zip(algorithm.fg, teacher, before, gradients, strict=True):
        expected = old - 0.05 * (gradient + config.weight_decay * old)
        torch.testing.assert_close(parameter.detach(), expected, rtol=1e-4, atol=1e-6)
        decay = config.teacher_decay
        torch.testing.assert_close(averaged, decay * old + (1 - decay) * parameter.detach(), rtol=1e-5, atol=1e-7)
    assert not torch.equal(before[0], algorithm.fg[0])


def test_warmup_uses_the_source_alone_and_its_own_optimizer() -> None:
    algorithm = basset()
    metrics = algorithm.step(batch(), 0)
    assert metrics.on_host == {"classifier_rate": algorithm.config.warmup_rate}
    assert set(metrics.on_device) == {"complementary_loss", "least_class_loss", "surrogate_loss"}
    assert not algorithm.optimizer.state


@pytest.mark.parametrize("part", PARTS)
def test_each_part_can_be_switched_on_alone(part: str) -> None:
    off: dict[str, Any] = dict.fromkeys(PARTS, 0.0)
    assert not set(PARTS.values()) & set(basset(**off).step(batch(), 5).on_device)
    alone = basset(**{**off, part: 0.5})
    assert set(PARTS.values()) & set(alone.step(batch(), 5).on_device) == {PARTS[part]}
    assert (alone.teacher is not None) == (part in ("teacher_weight", "relabel_weight"))
    if alone.teacher is None:
        assert alone.predictor is alone.classifier


def test_discriminator_is_optional() -> None:
    assert "discriminator" not in basset().modules
    algorithm = basset(discriminator=True)
    before = [parameter.detach().clone() for parameter in algorithm.d]
    metrics = algorithm.step(batch(), 5)
    assert {"adversarial_loss", "discriminator_accuracy"} < set(metrics.on_device)
    assert not any(torch.equal(old, new) for old, new in zip(before, algorithm.d, strict=True))


def test_the_teacher_is_evaluated_and_never_trained() -> None:
    algorithm = basset()
    teacher = teacher_of(algorithm)
    assert algorithm.predictor is teacher.classifier
    assert not any(parameter.requires_grad for parameter in teacher.parameters())
    for mine, teachers in zip(algorithm.fg, teacher.classifier.parameters(), strict=True):
        assert torch.equal(mine, teachers), "both start from the same weights"


def test_the_teacher_sees_the_images_without_jitter() -> None:
    algorithm = basset(jitter=1.0)
    data = batch()
    jittered = algorithm.augment(data, 1)
    assert jittered.clean_source is data.source
    assert jittered.clean_target is data.target
    assert not torch.equal(jittered.source, data.source)
    assert data.target is not None
    expected = [teacher_of(algorithm).predict(images) for images in (data.source, data.target)]
    for algorithm.saves_launches in (False, True):  # apart, and in one pass
        predicted = algorithm._predict(teacher_of(algorithm), jittered)
        assert list(predicted) == ["source", "target"]
        for ours, theirs in zip(predicted.values(), expected, strict=True):
            torch.testing.assert_close(ours, theirs)


def test_the_state_has_the_teacher_its_balance_and_the_stream_of_the_jitter() -> None:
    algorithm, other = basset(jitter=1.0), basset(jitter=1.0)
    for step in (1, 2, 3):
        algorithm.step(algorithm.augment(batch(), step), step)
    other.load_state(algorithm.state())
    one, two = (each.step(each.augment(batch(), 4), 4).on_device for each in (algorithm, other))
    assert {name: value.item() for name, value in one.items()} == {name: value.item() for name, value in two.items()}
    assert set(algorithm.state()["modules"]) == {"classifier", "teacher"}
    assert "mean_prediction" in algorithm.state()["modules"]["teacher"]
