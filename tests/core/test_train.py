"""The events of the generator and their order; only the settings decide them."""

import dataclasses
import multiprocessing
import os
import shutil
import threading
import warnings
from collections.abc import Generator, Iterator, Sequence
from functools import partial
from itertools import pairwise, zip_longest
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks.memory import WARMUP, measure_while_training
from core import load_model
from core.config import RunConfig
from core.data.batches import ResidentImages, StreamedImages
from core.data.task_data import TaskData
from core.errors import InputError
from core.events import (
    Evaluated,
    Event,
    Finished,
    Noticed,
    PseudoLabelled,
    StageStarted,
    Started,
    Stepped,
    flatten_event,
)
from core.methods import METHODS, find_method
from core.methods.algorithm import Algorithm, Batch, StepMetrics
from core.methods.plan import make_plan
from core.metrics import METRICS
from core.models.checkpoint import NAME, load
from core.models.model import initial_model
from core.networks import Classifier
from core.training.evaluate import predict_logits
from core.training.train import MetricBuffer, train
from tests.support.tiny import CLASSES, repeatable, steps, tiny_config, tiny_data

DATA = tiny_data()
CUDNN: Any = torch.backends.cudnn  # without types


def events_of(config: RunConfig, data: TaskData = DATA, **more: object) -> list[Event]:
    return list(train(config, data=data, **more))  # type: ignore[arg-type]


def reproducible_fields(events: Sequence[Event]) -> list[dict[str, object]]:
    return [repeatable(event) for event in events]


@pytest.mark.parametrize("method", METHODS)
def test_every_iteration_is_yielded_once_and_in_order(method: str) -> None:
    config = tiny_config(method)
    events = events_of(config)
    started, finished = events[0], events[-1]
    assert not any("labels" in flatten_event(event) for event in events)
    assert isinstance(started, Started)
    assert isinstance(finished, Finished)
    assert [step.iteration for step in steps(events)] == list(range(1, started.iterations_total + 1))
    evaluations = [event for event in events if isinstance(event, Evaluated)]
    assert [event.epoch for event in evaluations] == list(range(1, started.epochs_total + 1))
    assert finished.target_accuracy == evaluations[-1].target_accuracy
    assert [e.stage for e in events if isinstance(e, StageStarted)] == started.stages
    for step in steps(events):
        assert set(step.metrics) <= set(METRICS)
        assert all(type(value) is float for value in step.metrics.values())
    for before, after in pairwise(events):
        if isinstance(after, Evaluated):
            assert isinstance(before, Stepped)
            assert before.iteration == after.iteration
            assert after.confusion is not None
            assert sum(map(sum, after.confusion)) == 20
            assert after.target_accuracy == pytest.approx(100 * sum(after.confusion[k][k] for k in range(4)) / 20)


def test_metrics_of_clarinet_in_each_phase() -> None:
    """λ starts with the first adversarial iteration."""
    warm, adapting = {"complementary_loss", "least_class_loss", "ascended"}, {"adversarial_loss", "lambda", "entropy"}
    strengths = []
    for step in steps(events_of(tiny_config(lambda_horizon=50))):
        assert warm <= set(step.metrics)
        if step.adaptation_epoch is None:
            assert not adapting & set(step.metrics)
        else:
            assert adapting | {"discriminator_accuracy"} <= set(step.metrics)
            strengths.append(step.metrics["lambda"])
    expected = [2 / (1 + np.exp(-10 * i / 50)) - 1 for i in range(1, len(strengths) + 1)]
    assert strengths == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("method", ["clarinet", "cdan-e", "gac+dann"])
def test_discriminator_has_its_own_optimizer(method: str, tmp_path: Path) -> None:
    config = tiny_config(method, optimizer="adamw", warmup_optimizer="same", discriminator_optimizer="sgd")
    events_of(config, checkpoint_dir=tmp_path)
    optimizers = load(tmp_path / NAME, config)["algorithm"]["optimizers"]
    assert {"exp_avg", "exp_avg_sq"} <= optimizers["classifier"]["state"][0].keys()
    assert optimizers["discriminator"]["state"][0].keys() == {"momentum_buffer"}


@pytest.mark.parametrize("method", ["clarinet", "gac+cdan-e"])
def test_rates_fall_linearly_within_each_phase(method: str) -> None:
    config = tiny_config(method, rate_decay="linear")
    phases: dict[tuple[str, bool], list[float]] = {}
    for step in steps(events_of(config)):
        phases.setdefault((step.stage, step.adaptation_epoch is None), []).append(step.metrics["classifier_rate"])
    assert len(phases) == (2 if method == "clarinet" else 3)
    for (stage, _), rates in phases.items():
        first = config.stage1.rate if stage == "gac" else config.classifier_rate
        assert rates == pytest.approx([first * (1 - i / len(rates)) for i in range(len(rates))], abs=1e-15)


@pytest.mark.parametrize("method", ["clarinet", "gac+dan"])
def test_same_seed_gives_same_numbers_despite_global_torch_state(method: str) -> None:
    first = events_of(tiny_config(method))
    torch.manual_seed(12345)
    second = []
    for event in train(tiny_config(method), data=DATA):
        torch.rand(3)  # draws of the caller from the global generator have no effect
        second.append(event)
    assert reproducible_fields(first) == reproducible_fields(second)
    other = events_of(tiny_config(method, seed=2))
    assert reproducible_fields(steps(first)[:1]) != reproducible_fields(steps(other)[:1])


def settings_in_effect() -> dict[str, object]:
    return {
        "threads": torch.get_num_threads(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "fill": torch.utils.deterministic.fill_uninitialized_memory,  # type: ignore[attr-defined]
        "convolutions": CUDNN.conv.fp32_precision,
        "products": torch.backends.cuda.matmul.fp32_precision,
        "warnings": warnings.showwarning,
    }


def test_global_generator_and_settings_of_torch_are_restored() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    before = settings_in_effect()
    events_of(tiny_config())
    assert torch.rand(1) == expected
    assert settings_in_effect() == before


@pytest.fixture
def threads() -> Iterator[int]:
    """The number of torch's threads, which is restored afterwards."""
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
def test_the_caller_and_two_runs_that_take_turns_have_their_own_settings(tmp_path: Path) -> None:
    """Whichever run ends first, or is closed; and a caller that changes a setting between two events keeps it."""
    configs = [tiny_config(epochs=1, threads=1), tiny_config("gac", threads=1, precision="tf32")]
    alone = [events_of(config) for config in configs]
    seen: list[list[object]] = [[], []]

    def record(number: int) -> bool:
        seen[number].append((torch.get_num_threads(), CUDNN.conv.fp32_precision))
        return False

    runs = [train(config, data=DATA, should_stop=partial(record, number)) for number, config in enumerate(configs)]
    closed = train(tiny_config(threads=3), data=DATA, checkpoint_dir=tmp_path)
    torch.set_num_threads(2)
    before = settings_in_effect()
    next(closed)
    together: list[list[Event]] = [[], []]
    for turn in zip_longest(*runs):
        for events, event in zip(together, turn, strict=True):
            events += [event] if event else []
        assert settings_in_effect() == before
        if len(together[0]) == 3:
            torch.set_num_threads(4)
            before = settings_in_effect()
            cast("Generator[Event]", closed).close()
    assert [reproducible_fields(events) for events in together] == [reproducible_fields(events) for events in alone]
    assert [set(settings) for settings in seen] == [{(1, "ieee")}, {(1, "tf32")}]
    assert torch.get_num_threads() == 4


def test_float32_is_ieee_unless_tf32_is_requested_and_products_are_deterministic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """torch's default computes convolutions in TF32, which has ten bits of mantissa."""
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG", raising=False)
    seen = []

    def stop_at_once() -> bool:
        seen.append((CUDNN.conv.fp32_precision, torch.backends.cuda.matmul.fp32_precision))
        return True

    for precision in ("32", "tf32", "bf16"):
        events_of(tiny_config(precision=precision), should_stop=stop_at_once)
    assert seen == [("ieee", "ieee"), ("tf32", "tf32"), ("ieee", "ieee")]
    assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == ":4096:8", "it is read when CUDA starts"


def test_operations_that_are_not_deterministic_are_noticed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def step(self: Algorithm, batch: Batch, iteration: int) -> StepMetrics:
        for text in (
            f"put_ does not have a deterministic implementation, but you set {iteration}",
            f"other {iteration}",
            "",
        ):
            warnings.warn(text, stacklevel=1)
        return train_batch(self, batch, iteration)

    train_batch = Algorithm.train_batch
    monkeypatch.setattr(Algorithm, "train_batch", step)
    before = warnings.showwarning
    with warnings.catch_warnings(record=True) as shown:
        events = events_of(tiny_config())
    notices = [event.message for event in events if isinstance(event, Noticed)]
    assert notices == ["put_ does not have a deterministic implementation: the same run may give other numbers"]
    assert "other 1" in [str(warning.message) for warning in shown]
    assert warnings.showwarning is before
    assert isinstance(events[-1], Finished)


def test_speed_counts_the_wait_for_the_device() -> None:
    """Two iterations were started within a second, and the device has computed them after ten."""
    (stage,) = make_plan(tiny_config(warmup_epochs=0), find_method("clarinet"), 40, 40)
    buffer = MetricBuffer(clock=lambda: 10.0)
    for iteration in (1, 2):
        buffer.add(stage, iteration, iteration / 2, StepMetrics({"x": torch.zeros(())}, {}))
    buffer.fetch(stage)
    assert [event.metrics["samples_per_second"] for event in buffer.pending] == [2 * 2 * 8 / 10] * 2


@pytest.mark.parametrize("method", ["gac+dan", "gac+dann", "gac+cdan-e"])
def test_given_pseudo_labels_replace_stage_1_which_is_gac(method: str) -> None:
    alone, made = events_of(tiny_config("gac")), events_of(tiny_config(method))
    first, second = ([step for step in steps(made) if (step.stage == "gac") is is_first] for is_first in (True, False))
    assert reproducible_fields(steps(alone)) == reproducible_fields(first)
    assert [type(event) for event in alone[-2:]] == [PseudoLabelled, Finished]
    (own,), (labels,) = ([event for event in run if isinstance(event, PseudoLabelled)] for run in (alone, made))
    assert own.labels == labels.labels
    given = events_of(tiny_config(method), pseudo_labels=labels.labels)
    again = next(event for event in given if isinstance(event, PseudoLabelled))
    assert again.given
    for name in ("label_hash", "accuracy", "iteration"):
        assert getattr(again, name) == getattr(labels, name)
    assert reproducible_fields(second) == reproducible_fields(steps(given))


def test_invalid_pseudo_labels_are_refused() -> None:
    with pytest.raises(InputError, match="expected 40 labels, got 3"):
        events_of(tiny_config("gac+dan"), pseudo_labels=[0, 1, 2])
    with pytest.raises(InputError, match="classes from 0 to 3"):
        events_of(tiny_config("gac+dan"), pseudo_labels=[9] * 40)
    with pytest.raises(InputError, match="clarinet takes none"):
        events_of(tiny_config("clarinet"), pseudo_labels=[0] * 40)
    with pytest.raises(InputError, match="also needs the weights of its stage 1"):
        events_of(tiny_config("fwd+basset-kept"), pseudo_labels=[0] * 40)


@pytest.mark.parametrize("method", ["gac+dan", "fwd+basset"])
def test_pseudo_labels_equal_known_true_labels(method: str) -> None:
    """Where all other classes are ruled out, stage 1 cannot give another label."""
    source = DATA.source_train
    assert source.ybar is not None
    ybar = source.ybar.copy()
    ybar[::3] = np.arange(CLASSES) != source.y[::3, None]
    data = dataclasses.replace(DATA, source_train=dataclasses.replace(source, ybar=ybar))
    events = events_of(tiny_config(method), data=data)
    labels = next(event.labels for event in events if isinstance(event, PseudoLabelled))

    assert labels[::3] == source.y[::3].tolist()
    assert labels != source.y.tolist(), "the other labels are estimates"


def test_complementary_labels_without_true_labels_train() -> None:
    source = dataclasses.replace(DATA.source_train, y=np.full(40, -1))
    data = dataclasses.replace(DATA, source_train=source, source_test=None)
    events = events_of(tiny_config("gac+cdan-e"), data)
    assert all(event.source_accuracy is None for event in events if isinstance(event, Evaluated))
    labelled = next(event for event in events if isinstance(event, PseudoLabelled))
    assert labelled.accuracy is None
    with pytest.raises(InputError, match="needs true source labels, but 40 are unknown"):
        events_of(tiny_config("source-only"), data)


@pytest.mark.parametrize("method", ["clarinet", "basset"])
def test_target_labels_do_not_change_training(method: str) -> None:
    train, test = (
        dataclasses.replace(images, y=np.full_like(images.y, -1)) for images in (DATA.target_train, DATA.target_test)
    )
    blind = dataclasses.replace(DATA, target_train=train, target_test=test)
    seen, unseen = events_of(tiny_config(method)), events_of(tiny_config(method), blind)
    assert reproducible_fields(steps(seen)) == reproducible_fields(steps(unseen))
    assert all(event.target_accuracy is None for event in unseen if isinstance(event, Evaluated))


def test_streamed_and_resident_images_give_the_same_numbers() -> None:
    before = set(threading.enumerate())
    resident = events_of(tiny_config("gac+dann"))
    streamed = events_of(tiny_config("gac+dann", memory_limit_gb=0, workers=1))
    assert reproducible_fields(resident) == reproducible_fields(streamed)
    for thread in set(threading.enumerate()) - before:
        thread.join(5)  # it may be about to end
        assert not thread.is_alive()
    assert multiprocessing.active_children() == []


def test_custom_shape_trains_in_bf16() -> None:
    small = tiny_data(source=8, target=8)
    shrunk = {
        name: dataclasses.replace(images, x=np.ascontiguousarray(images.x[:, ::2, ::2].repeat(2, axis=3)))
        for name, images in vars(small).items()
        if hasattr(images, "ybar")
    }
    data = dataclasses.replace(small, **shrunk)
    assert data.shape == (14, 14, 2)
    events = events_of(tiny_config(epochs=1, warmup_epochs=0, batch_size=4, precision="bf16"), data)
    assert isinstance(events[-1], Finished)


@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_compiled_networks_give_the_same_numbers() -> None:
    config = tiny_config(epochs=1)
    eager, compiled = (steps(events_of(c)) for c in (config, msgspec.structs.replace(config, compile=True)))
    assert {"adversarial_loss", "discriminator_accuracy"} <= compiled[-1].metrics.keys()
    for one, other in zip(eager, compiled, strict=True):
        for name in one.metrics.keys() - {"samples_per_second"}:
            assert other.metrics[name] == pytest.approx(one.metrics[name], abs=1e-4), (name, one.iteration)


@pytest.mark.parametrize("loss", ["free", "non-negative", "forward", "pairwise"])
def test_every_complementary_loss_trains(loss: str) -> None:
    events = events_of(tiny_config("gac", complementary_loss=loss))
    measured = steps(events)[0].metrics
    assert "complementary_loss" in measured
    assert "ascended" not in measured


def test_no_files_are_written_without_a_checkpoint_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    events_of(tiny_config(checkpoint_minutes=0))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("side", "count", "trained", "largest"), [(28, 600, 32, 500), (224, 60, 2, 13), (224, 100, 32, 64)]
)
def test_large_images_are_evaluated_in_batches_that_training_fits(
    side: int, count: int, trained: int, largest: int
) -> None:
    """500 photographs at once need 5 GB; both domains of a training batch fit."""

    class Recorder(Classifier):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            sizes.append(len(x))
            return x, torch.zeros(len(x), 2)

    sizes: list[int] = []
    images = np.zeros((count, side, side, 3), np.uint8)
    device = torch.device("cpu")
    for placed in (ResidentImages(images, device, True), StreamedImages(images, device, True, workers=0)):
        logits = predict_logits(Recorder(torch.nn.Identity(), 1, 2), placed, device, trained=trained)
        assert logits.shape == (count, 2)
        assert (max(sizes), sum(sizes)) == (largest, count)
        sizes.clear()


@pytest.mark.parametrize("decay", ["none", "linear"])
def test_only_the_backbone_is_slower(tmp_path: Path, decay: str) -> None:
    config = tiny_config(backbone_rate=1e-12, bottleneck=16, weight_decay=0.0, rate_decay=decay, optimizer="sgd")
    list(train(config, data=DATA, checkpoint_dir=tmp_path))
    model = load_model(tmp_path)
    before, after = initial_model(model.info).network.state_dict(), model.network.state_dict()
    moved = {name for name in before if not torch.allclose(before[name], after[name], atol=1e-7, rtol=0)}
    assert moved == {"extractor.1.weight", "extractor.1.bias", "head.weight", "head.bias"}


ITERATIONS = 1000


def test_memory_does_not_grow_with_iterations() -> None:
    first, *_, last = measure_while_training(WARMUP + ITERATIONS, every=ITERATIONS)
    assert last.iteration - first.iteration == ITERATIONS
    assert last.objects - first.objects < ITERATIONS / 2, "iterations leak objects"
    assert last.megabytes - first.megabytes < 4
