"""A run that is stopped anywhere and resumed yields the same events as an uninterrupted one."""

import errno
import itertools
import math
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from core.config import RunConfig
from core.errors import InputError
from core.events import Checkpointed, Evaluated, Event, Failed, Finished, Noticed, Resumed, Stepped, Stopped
from core.methods import METHODS
from core.models.checkpoint import FORMAT, NAME, PREVIOUS, load
from core.models.model import MODEL_FILE
from core.training.train import train
from tests.support.tiny import repeatable, steps, tiny_config, tiny_data

DATA = tiny_data()
ATTEMPT_EVENTS = (Checkpointed, Stopped, Resumed)
"""Events of stopping and resuming, which an uninterrupted run does not yield."""
STAGE_EVENTS = ("stage", "pseudo-labels")


def run_fields(events: list[Event]) -> list[dict[str, object]]:
    return [repeatable(event) for event in events if not isinstance(event, ATTEMPT_EVENTS)]


def stop_after(calls: int) -> Callable[[], bool]:
    """Return a function that returns True once, at call number `calls`."""
    answers = itertools.chain([False] * (calls - 1), [True], itertools.repeat(False))
    return lambda: next(answers)


def run(config: RunConfig, folder: Path, **options: Any) -> list[Event]:
    return list(train(config, data=DATA, checkpoint_dir=folder, **options))


def test_speed_after_resuming_counts_only_this_attempt(tmp_path: Path) -> None:
    config = tiny_config()
    clock = itertools.count(step=10.0)
    before = steps(run(config, tmp_path, should_stop=stop_after(6), clock=lambda: next(clock)))
    speeds = [step.metrics["samples_per_second"] for step in before]
    after = steps(run(config, tmp_path, resume=True, clock=lambda: next(clock)))
    assert after[0].metrics["samples_per_second"] > min(speeds) / 2


@pytest.mark.parametrize("method", METHODS)
def test_stopped_and_resumed_equals_uninterrupted(method: str, tmp_path: Path) -> None:
    settings = {"optimizer": "adamw", "discriminator_optimizer": "sgd", "rate_decay": "linear", "epoch_iterations": 6}
    two_rates = {"backbone_rate": 0.1, "bottleneck": 16}
    all_streams = {"crop": 0.3, "flip": True, "recolour": True}
    changes = {"basset": two_rates | all_streams, "gac+dann": two_rates, "cdan-e": two_rates}
    config = tiny_config(method, **settings, **changes.get(method, {}))
    expected = run(config, tmp_path)
    total = len(steps(expected))
    assert isinstance(expected[-1], Finished)
    folder = tmp_path / "stopped"
    folder.mkdir()
    points = sorted(random.Random(method).sample(range(1, total - 1), 3))
    yielded = run(config, folder, should_stop=stop_after(points[0] + 1))
    for point, until in zip(points, [*points[1:], total + 1], strict=True):
        assert yielded[-1] == Stopped(iteration=point, seconds=yielded[-1].seconds)
        stop = stop_after(until - point + 1)
        after = run(config, folder, resume=True, should_stop=stop)
        assert after[0] == Resumed(from_iteration=point, seconds=after[0].seconds)
        yielded += after
    assert run_fields(yielded) == run_fields(expected)


@pytest.mark.parametrize("method", ["clarinet", "gac+cdan-e"])
def test_closed_at_any_event_and_resumed_equals_uninterrupted(method: str, tmp_path: Path) -> None:
    """Close again and again: after each event of STAGE_EVENTS, after each checkpoint, and at random."""
    config = tiny_config(method)
    expected = run_fields(run(config, tmp_path))
    stage_points = [number for number, event in enumerate(expected, start=1) if event["event"] in STAGE_EVENTS]
    folder = tmp_path / "closed"
    folder.mkdir()
    yielded: list[Event] = []
    for point in sorted({*stage_points, *random.Random(method).sample(range(1, len(expected) - 1), 6)}):
        while len(run_fields(yielded)) < point:
            events = train(config, data=DATA, checkpoint_dir=folder, resume=bool(yielded))
            for event in events:
                yielded.append(event)
                if isinstance(event, Checkpointed) or len(run_fields(yielded)) == point:
                    break
            events.close()  # type: ignore[attr-defined]
            assert len(yielded) < 10 * len(expected), "it does not advance"
    yielded += train(config, data=DATA, checkpoint_dir=folder, resume=True)
    assert run_fields(yielded) == expected


def test_killed_run_resumes_from_the_last_checkpoint(tmp_path: Path) -> None:
    config = tiny_config("gac+dann", checkpoint_minutes=0)
    expected = run(config, tmp_path / "..")
    events = train(config, data=DATA, checkpoint_dir=tmp_path)
    for event in events:
        if isinstance(event, Stepped) and event.iteration == 13:
            break
    state = (tmp_path / NAME).read_bytes()
    del events  # close() saves, a kill does not
    (tmp_path / NAME).write_bytes(state)
    after = run(config, tmp_path, resume=True)
    assert isinstance(after[0], Resumed)
    first = after[0].from_iteration + 1
    assert [repeatable(e) for e in steps(after)] == [repeatable(e) for e in steps(expected) if e.iteration >= first]


def test_full_disk_skips_a_checkpoint_and_training_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tiny_config(checkpoint_minutes=0.0)
    expected = list(train(config, data=DATA))
    refusals = iter([OSError(errno.ENOSPC, "No space left on device")] * 3)

    def fsync(file: int) -> None:
        if error := next(refusals, None):
            raise error

    monkeypatch.setattr("core.files.os.fsync", fsync)
    events = run(config, tmp_path)
    notices = [event.message for event in events if isinstance(event, Noticed)]
    assert notices == ["no disk space for a checkpoint (No space left on device): free some"] * 3
    assert run_fields([event for event in events if not isinstance(event, Noticed)]) == run_fields(expected)
    assert (tmp_path / NAME).exists()


def test_checkpoint_is_not_written_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / f".{NAME}.partial").symlink_to(outside)
    run(tiny_config(), folder)
    assert outside.read_text() == "mine"
    assert not (folder / NAME).is_symlink()


def test_last_two_checkpoints_are_kept(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_minutes=0)
    run(config, tmp_path)
    newest, before = load(tmp_path / NAME, config), load(tmp_path / PREVIOUS, config)
    assert newest["position"]["iteration"] > before["position"]["iteration"]
    assert {path.name for path in tmp_path.iterdir()} == {NAME, PREVIOUS, MODEL_FILE}


def test_truncated_checkpoint_is_replaced_by_the_previous_one(tmp_path: Path) -> None:
    config = tiny_config(checkpoint_minutes=0)
    run(config, tmp_path, should_stop=stop_after(5))
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(InputError, match="damaged or truncated"):
        load(path, config)
    after = run(config, tmp_path, resume=True)
    assert "resuming from the previous one" in str(after[1])
    assert isinstance(after[-1], Finished)


def test_checkpoint_without_a_newer_setting_resumes(tmp_path: Path) -> None:
    config = tiny_config()
    run(config, tmp_path, should_stop=stop_after(3))
    content = torch.load(tmp_path / NAME, weights_only=True)
    recorded = msgspec.json.decode(content["protocol"])
    del recorded["discriminator_optimizer"], recorded["stage1"]["momentum"]
    torch.save(content | {"protocol": msgspec.json.encode(recorded).decode()}, tmp_path / NAME)
    other = msgspec.structs.replace(config, discriminator_optimizer="adamw")
    with pytest.raises(
        InputError, match=r"other settings \(discriminator_optimizer: same in the checkpoint, adamw here\)"
    ):
        load(tmp_path / NAME, other)
    assert isinstance(run(config, tmp_path, resume=True)[-1], Finished)


def test_checkpoint_of_another_configuration_or_of_none_is_refused(tmp_path: Path) -> None:
    run(tiny_config(), tmp_path, should_stop=stop_after(3))
    with pytest.raises(InputError, match=r"other settings \(classifier_rate: 0.001 in the checkpoint, 0.5 here\)"):
        load(tmp_path / NAME, tiny_config(classifier_rate=0.5))
    with pytest.raises(InputError, match="no checkpoint"):
        load(tmp_path / "absent.pt", tiny_config())
    for protocol in ({}, {"protocol": 7}, {"protocol": "{"}, {"protocol": "[]"}):
        torch.save({"format": FORMAT, "state": {}} | protocol, tmp_path / NAME)
        with pytest.raises(InputError, match="does not record its settings"):
            load(tmp_path / NAME, tiny_config())


def test_checkpoint_with_code_is_refused(tmp_path: Path) -> None:
    victim = tmp_path / "touched"

    class Payload:
        def __reduce__(self) -> tuple[object, tuple[str, str]]:
            return (open, (str(victim), "w"))

    torch.save({"format": 1, "state": Payload()}, tmp_path / NAME)
    with pytest.raises(InputError, match="never loaded"):
        load(tmp_path / NAME, tiny_config())
    assert not victim.exists()


def test_loss_that_is_not_finite_fails_the_run_unless_it_may_continue_and_is_not_saved(tmp_path: Path) -> None:
    rates: dict[str, Any] = {"classifier_rate": 1e30, "warmup_epochs": 0}
    last = run(tiny_config(**rates), tmp_path)[-1]
    assert isinstance(last, Failed)
    assert (last.kind, last.frames) == ("not finite", [])
    assert f"iteration {last.iteration}" in last.message
    assert not all(map(math.isfinite, last.terms.values()))
    assert isinstance(run(tiny_config(**rates, on_nan="continue"), tmp_path)[-1], Finished)
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("method", ["gac", "clarinet", "basset"])
def test_a_model_that_diverges_in_its_last_step_fails_in_its_evaluation(method: str, tmp_path: Path) -> None:
    """The loss of the step is finite: nothing else would show it."""
    lengths: dict[str, Any] = {"epoch_iterations": 1, "epochs": 1, "warmup_epochs": 0}
    config = partial(tiny_config, method, **lengths, classifier_rate=1e36, stage1={"epochs": 1, "rate": 1e36})
    *_, step, evaluation, last = run(config(), tmp_path)
    assert isinstance(step, Stepped)
    assert step.is_finite
    assert isinstance(evaluation, Evaluated)
    assert (evaluation.target_accuracy, evaluation.source_accuracy) == (0, 0)
    assert isinstance(last, Failed)
    assert (last.kind, last.iteration, last.checkpoint) == ("not finite", 1, None)
    assert last.message.startswith("evaluation of epoch 1: target_loss is nan, ")
    assert not list(tmp_path.iterdir()), "neither a checkpoint nor a model"
    assert isinstance(run(config(on_nan="continue"), tmp_path)[-1], Finished)


def test_checkpoint_of_another_type_of_device_resumes_with_a_notice(tmp_path: Path) -> None:
    """A CUDA generator's state has 16 bytes."""
    config = tiny_config("basset", dropout=True, jitter=1.0)
    run(config, tmp_path, should_stop=stop_after(5))
    content = torch.load(tmp_path / NAME, weights_only=True)
    assert content["state"]["device"] == "cpu"
    for stream in ("dropout", "jitter"):
        content["state"]["algorithm"][stream] = torch.zeros(16, dtype=torch.uint8)
    content["state"]["device"] = "cuda"
    torch.save(content, tmp_path / NAME)
    resumed, notice, *after = train(config, data=DATA, checkpoint_dir=tmp_path, resume=True)
    assert isinstance(resumed, Resumed)
    assert isinstance(notice, Noticed)
    assert notice.message.startswith("the checkpoint was written on cuda and the run continues on cpu")
    assert isinstance(after[-1], Finished)
    torch.save(content, tmp_path / NAME)
    again = run(config, tmp_path, resume=True)[2:]
    assert list(map(repeatable, again)) == list(map(repeatable, after)), "the new streams depend on the seed alone"
