"""A training step as a GPU sees it: it never waits for the device, and iterations differ in λ and rates alone."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.operations import OperationLog, count_launches
from core.data.batches import ResidentImages
from core.dropout import Dropout
from core.methods import METHODS, StageSpec, find_method
from core.methods.algorithm import Algorithm
from core.methods.basset import Basset
from core.methods.objectives import complementary_objective
from core.training.cuda_graph import DeviceNumbers
from core.training.evaluate import TestSet as LabelledImages
from core.training.evaluate import evaluate_domain
from core.training.train import MetricBuffer
from tests.support.operations import CLASSES, SHAPES, make_algorithm, make_batch
from tests.support.tiny import tiny_config

CPU = torch.device("cpu")
PIXELS = np.random.default_rng(1).integers(0, 256, (20, 5, 6, 3), dtype=np.uint8)
OPTIMIZERS = {f"aten._fused_{name}_.default" for name in ("sgd", "adam", "adamw")}
LAMBDA = "aten.mul.Tensor"
NUMBER = re.compile(r"-?\d+\.\d+(e-?\d+)?")


def distinct_stages() -> dict[str, tuple[str, StageSpec]]:
    """Return each stage that some method has, by its name and labels, and a method that has it."""
    stages: dict[str, tuple[str, StageSpec]] = {}
    for method in METHODS:
        for spec in find_method(method).stages:
            name = method if len(find_method(method).stages) == 1 else f"{spec.name} of {method}"
            if not any(spec == known for _, known in stages.values()):
                stages[name] = (method, spec)
    return stages


STAGES = distinct_stages()


def first_iterations(algorithm: Algorithm) -> Iterator[int]:
    """Yield the first iteration of the stage, and the first one of its adaptation."""
    stage = algorithm.problem.stage_plan
    yield from sorted({stage.iterations_before + 1, stage.last_iteration - stage.adaptation_iterations + 1})


def log_iteration(algorithm: Algorithm, shape: str, iteration: int) -> list[str]:
    with OperationLog() as log:
        algorithm.iterate(make_batch(algorithm.problem.stage_plan, shape), iteration)
    start = next(number for number, text in enumerate(log.operations) if "aten.convolution" in text)
    operations: list[str] = log.operations[start:]
    return operations  # without the test's own batch, and the draw before it


@pytest.mark.parametrize(("shape", "saves_launches"), [("grey", False), ("grey", True), ("colour", True)])
@pytest.mark.parametrize("stage", STAGES)
def test_no_step_waits_for_the_device(stage: str, shape: str, saves_launches: bool) -> None:
    """Fake tensors have no values: whatever needs one raises."""
    method, spec = STAGES[stage]
    algorithm = make_algorithm(tiny_config(method), shape, spec)
    algorithm.saves_launches = saves_launches
    with FakeTensorMode(allow_non_fake_inputs=True):
        train_without_values(algorithm, shape)


def train_without_values(algorithm: Algorithm, shape: str) -> None:
    stage = algorithm.problem.stage_plan
    for first in first_iterations(algorithm):
        buffer = MetricBuffer(lambda: 0.0)
        for iteration in (first, first + 1):
            metrics = algorithm.iterate(make_batch(stage, shape), iteration)
            buffer.add(stage, iteration, 0.0, metrics)


@pytest.mark.parametrize("wait", [Tensor.item, bool, lambda value: value.tolist(), Tensor.nonzero])
def test_a_step_that_waits_is_found(wait: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def objective(*arguments: Any) -> Any:
        loss, metrics = original(*arguments)
        wait(loss)
        return loss, metrics

    original = complementary_objective
    monkeypatch.setattr("core.methods.clarinet.complementary_objective", objective)
    algorithm = make_algorithm(tiny_config(), "grey")
    errors = (DataDependentOutputException, DynamicOutputShapeException)
    with pytest.raises(errors), FakeTensorMode(allow_non_fake_inputs=True):
        train_without_values(algorithm, "grey")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("stage", STAGES)
def test_iterations_differ_in_lambda_and_rates_alone(stage: str, shape: str) -> None:
    method, spec = STAGES[stage]
    algorithm = make_algorithm(tiny_config(method, rate_decay="linear", epochs=9), shape, spec)
    for first in first_iterations(algorithm):
        algorithm.iterate(make_batch(algorithm.problem.stage_plan, shape), first)
        logs = [log_iteration(algorithm, shape, first + offset) for offset in (1, 2)]
        changed = [pair for pair in zip(*logs, strict=True) if pair[0] != pair[1]]
        assert all(NUMBER.sub("", before) == NUMBER.sub("", after) for before, after in changed)
        names = {text.split(" ")[0] for pair in changed for text in pair}
        assert names, "the rates fall"
        allowed = OPTIMIZERS | ({LAMBDA} if algorithm.problem.stage_plan.adaptation_step_of(first) else set())
        assert names <= allowed
        assert not [operation for operation in logs[0] if "float64" in operation], "MPS has none"


class CastLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts how often each weight is converted to another type."""

    def __init__(self, weights: Iterable[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.casts = {weight.data_ptr(): 0 for weight in weights}

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is torch.ops.aten._to_copy.default and args[0].data_ptr() in self.casts:
            self.casts[args[0].data_ptr()] += 1
        return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("is_captured", [False, True])
@pytest.mark.parametrize(
    ("method", "precision", "shape"),
    [
        *((method, "bf16", "grey") for method in ("clarinet", "basset", "gac+dann", "gac+dan")),
        ("clarinet", "fp16", "grey"),
        ("clarinet", "bf16", "colour"),
    ],
)
def test_each_weight_is_converted_once_an_iteration(method: str, precision: str, shape: str, is_captured: bool) -> None:
    """Also with a pass for each domain, which batch normalisation of its own has."""
    algorithm = make_algorithm(tiny_config(method, precision=precision, batch_norm="separate"), shape)
    algorithm.saves_launches = True
    batch, first = make_batch(algorithm.problem.stage_plan, shape), list(first_iterations(algorithm))[-1]
    algorithm.iterate(batch, first)
    matrices = [weight for module in algorithm.modules.values() for weight in module.parameters() if weight.dim() > 1]
    with CastLog(matrices) as log:
        if is_captured:
            with DeviceNumbers(algorithm).set_to(first + 1):
                algorithm.train_batch(batch, first + 1)
        else:
            algorithm.iterate(batch, first + 1)
    assert set(log.casts.values()) == {1}


@pytest.mark.parametrize("method", ["clarinet", "gac+dann", "gac+cdan-e"])
def test_the_discriminator_gets_both_domains_at_once(method: str) -> None:
    algorithm = make_algorithm(tiny_config(method), "grey")
    rows: list[int] = []
    algorithm.modules["discriminator"].register_forward_hook(lambda _, inputs, scores: rows.append(len(inputs[0])))
    batch = make_batch(algorithm.problem.stage_plan, "grey")
    algorithm.iterate(batch, list(first_iterations(algorithm))[-1])
    assert rows == [2 * len(batch.source)]


@pytest.mark.parametrize(("saves_launches", "ceiling"), [(False, 182), (True, 144)])
def test_operations_of_an_iteration(saves_launches: bool, ceiling: int) -> None:
    """A GPU waits for launches. There were 245 before dropouts were drawn at once and domains joined."""
    algorithm = make_algorithm(tiny_config("clarinet", optimizer="sgd", preset="paper"), "grey")
    algorithm.saves_launches = saves_launches
    first = list(first_iterations(algorithm))[-1]
    algorithm.iterate(make_batch(algorithm.problem.stage_plan, "grey"), first)
    assert count_launches(log_iteration(algorithm, "grey", first + 1)) <= ceiling


@pytest.mark.parametrize("shape", SHAPES)
def test_one_draw_serves_all_dropouts(shape: str) -> None:
    algorithm = make_algorithm(tiny_config(), shape)
    stage = algorithm.problem.stage_plan
    first = list(first_iterations(algorithm))[-1]
    algorithm.iterate(make_batch(stage, shape), first)
    batch = make_batch(stage, shape)
    with OperationLog() as log:
        algorithm.iterate(batch, first + 1)
    assert sum("random_" in operation for operation in log.operations) == 1


def test_normalised_images_are_those_normalised_when_read() -> None:
    order = torch.randperm(20)
    for channels_last in (False, True):
        sets = [ResidentImages(PIXELS, CPU, channels_last, normalised) for normalised in (False, True)]
        for read, kept in zip(*(images.batches(order, 8) for images in sets), strict=True):
            assert torch.equal(read, kept)
            assert read.stride() == kept.stride()
        with OperationLog() as log:
            list(sets[1].batches(order[:8], 8))
        assert count_launches(log.operations) == 1


@pytest.mark.parametrize("shape", SHAPES)
def test_the_first_convolution_gets_channels_last_images(shape: str) -> None:
    """Its backward pass takes several times as long on other strides."""
    algorithm = make_algorithm(tiny_config(), shape)
    log = log_iteration(algorithm, shape, list(first_iterations(algorithm))[-1])
    height, width, channels = SHAPES[shape]
    convolutions = [text for text in log if "aten.convolution" in text]
    strides = f"{channels}, {height}, {width})({height * width * channels}, 1, {width * channels}, {channels})"
    first = [text for text in convolutions if f"{channels}, {height}, {width})" in text]
    assert len(first) >= 3, "forward, and two backward passes"
    assert all(strides in text for text in first)


@pytest.mark.parametrize("optimizer", ["sgd", "adam", "adamw"])
@pytest.mark.parametrize("channels_last", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_fused_optimizer_takes_the_step_of_a_plain_one(
    shape: str, channels_last: bool, optimizer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fused optimizer walks through memory: a gradient of other strides would move other weights."""
    config = tiny_config("cdan-e", channels_last=channels_last, optimizer=optimizer, classifier_rate=0.01)

    def weights_after_a_step() -> list[Tensor]:
        algorithm = make_algorithm(config, shape)
        batch = make_batch(algorithm.problem.stage_plan, shape)
        if not channels_last:
            assert batch.target is not None
            batch = replace(batch, source=batch.source.contiguous(), target=batch.target.contiguous())
        algorithm.iterate(batch, 1)
        return [parameter.detach() for parameter in (*algorithm.fg, *algorithm.d)]

    fused = weights_after_a_step()
    for name in ("SGD", "Adam", "AdamW"):
        plain = partial(getattr(torch.optim, name), foreach=False)
        monkeypatch.setattr(
            f"core.methods.algorithm.{name}",
            lambda groups, plain=plain, **more: plain(groups, **more | {"fused": False}),
        )
    for ours, expected in zip(fused, weights_after_a_step(), strict=True):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


def test_evaluation_has_no_float64() -> None:
    """MPS has none."""
    y, weights = torch.tensor([0, 1, -1, 3]), torch.eye(4)
    test_set = LabelledImages(ResidentImages(PIXELS, CPU, True), y, weights)
    with OperationLog() as log:
        domain = evaluate_domain(torch.eye(4), test_set, torch.full((4,), 0.25))
    assert domain.accuracy == 100
    assert not [operation for operation in log.operations if "float64" in operation]


def test_a_prediction_that_is_not_finite_is_wrong_and_never_a_class() -> None:
    logits = torch.eye(3)
    logits[0] = torch.nan  # argmax would be class 0, which is the label
    logits[2, 2] = torch.inf
    test_set = LabelledImages(ResidentImages(PIXELS, CPU, True), torch.arange(3))
    domain = evaluate_domain(logits, test_set, torch.full((3,), 1 / 3))
    assert domain.accuracy == pytest.approx(100 / 3)
    assert domain.confusion == [[0, 0, 0], [0, 1, 0], [0, 0, 0]]
    assert domain.loss is not None
    assert math.isnan(domain.loss)


@pytest.mark.parametrize("shape", SHAPES)
def test_compiled_networks_are_one_graph_each(shape: str) -> None:
    """A random draw inside a network would divide it: LeNet into 5 graphs, DTN into 7."""
    algorithm = make_algorithm(tiny_config(), shape)
    images = make_batch(algorithm.problem.stage_plan, shape).source
    pairs = torch.rand(len(images), algorithm.classifier.width * CLASSES)
    for network, x in ((algorithm.modules["classifier"], images), (algorithm.modules["discriminator"], pairs)):
        algorithm.dropout.assign(network, len(x))
        torch._dynamo.reset()
        explained = torch._dynamo.explain(network)(x)
        assert (explained.graph_count, explained.graph_break_count) == (1, 0), explained.break_reasons
        assert not any(part.factors is not None for part in network.modules() if isinstance(part, Dropout))
    torch._dynamo.reset()


def test_every_network_that_a_step_runs_is_compiled() -> None:
    algorithm = make_algorithm(tiny_config("basset", compile=True), "grey")
    assert isinstance(algorithm, Basset)
    assert algorithm.teacher is not None
    for network in (algorithm.classifier, algorithm.teacher.classifier):
        assert network._compiled_call_impl is not None
