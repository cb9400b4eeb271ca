"""Runs with curves made without training: epochs of ten iterations, each with an evaluation and a confusion matrix."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from core.events import Event, Failed, Finished, PseudoLabelled, StageStarted
from core.methods import find_method
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, write_events

EPOCH = 10
"""Iterations."""


def make_trained_run(
    runs_dir: Path,
    id: str,  # noqa: A002
    accuracies: Sequence[float],
    *,
    end: str = "finished",
    classes: Sequence[str] = ("cat", "dog"),
    **settings: Any,
) -> RunDirectory:
    """Write a run with one accuracy for each epoch of the last stage; an earlier stage has two epochs of 99 %."""
    run = make_run(runs_dir, id, **settings)
    config = run.read_config()
    stages = [stage.name for stage in find_method(config.method).stages]
    label_hash = f"hash{config.seed}"
    identity: dict[str, Any] = {"method": config.method, "task": config.task, "seed": config.seed, "stages": stages}
    events: list[Event] = [started(**identity, label_hash=label_hash, classes=list(classes))]
    epoch = 0
    for index, stage in enumerate(stages):
        if index:
            events.append(_pseudo_labels(EPOCH * epoch))
        events.append(StageStarted(stage=stage, index=index + 1, iteration=EPOCH * epoch, epoch=epoch))
        for adapted, accuracy in enumerate(accuracies if stage == stages[-1] else (99.0, 99.0), 1):
            epoch += 1
            events += _epoch(epoch, adapted if stage != "gac" else None, stage, accuracy)
    write_events(run, [*events, _end(end, EPOCH * epoch, epoch)])
    return run


def make_label_free_run(runs_dir: Path, id: str) -> RunDirectory:  # noqa: A002
    """Write a run whose target has no labels; information is highest in epoch 2, risk lowest in epoch 3."""
    run = make_run(runs_dir, id)
    events: list[Event] = [started(method="clarinet", task="U->M", seed=1, stages=["clarinet"])]
    for epoch, (information, risk) in enumerate(((0.1, 0.9), (0.8, 0.5), (0.3, 0.2)), 1):
        place: dict[str, Any] = {"stage": "clarinet", "epoch": epoch}
        events.append(step(EPOCH * epoch, {"complementary_loss": 1.0}, **place))
        scores = {"target_information": information, "complementary_risk": risk}
        events.append(evaluation(EPOCH * epoch, None, **place, **scores))
    write_events(run, [*events, _end("finished", 3 * EPOCH, 3)])
    return run


def _epoch(epoch: int, adapted: int | None, stage: str, accuracy: float) -> list[Event]:
    last = EPOCH * epoch
    loss = "classification_loss" if stage not in ("gac", "clarinet") else "complementary_loss"
    measured = {loss: 1 / epoch} | ({} if stage == "gac" else {"adversarial_loss": 0.5})
    place: dict[str, Any] = {"stage": stage, "epoch": epoch, "adaptation_epoch": adapted}
    right = round(accuracy)
    matrix = [[right, 100 - right], [100 - right, right]]
    chosen = {"complementary_risk": 1 / epoch, "target_information": 1 / epoch, "source_accuracy": 95.0}
    steps = [step(at, measured, **place) for at in range(last - EPOCH + 1, last + 1)]
    return [*steps, evaluation(last, accuracy, confusion=matrix, **chosen, **place)]


def _pseudo_labels(iteration: int) -> PseudoLabelled:
    return PseudoLabelled(iteration=iteration, label_hash="pseudo", accuracy=90.0, given=False, labels=[])


def _end(end: str, iteration: int, epoch: int) -> Event:
    if end == "failed":
        return Failed(iteration=iteration, seconds=iteration / 64, message="the loss is not a number")
    if end == "running":
        return StageStarted(stage="more", index=9, iteration=iteration, epoch=epoch)
    return Finished(
        iteration=iteration, epoch=epoch, target_accuracy=None, source_accuracy=None, seconds=iteration / 64
    )
