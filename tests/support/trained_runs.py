"""Runs with curves made without training: epochs of ten iterations, each with an evaluation and a confusion matrix."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.analysis.run_records import RunRecords
from clarinet_tui.runs.directory import RunDirectory
from core.events import Event, StageStarted
from core.methods import find_method
from tests.support.events import end_events, epoch_events, pseudo_labels, started
from tests.support.histories import ingested, make_run, write_events

EPOCH = 10
"""Iterations."""


def read_runs(runs_dir: Path) -> RunRecords:
    return RunRecords(ingested(runs_dir), runs_dir)


def make_trained_run(
    runs_dir: Path,
    id: str,  # noqa: A002
    accuracies: Sequence[float | None],
    *,
    end: str = "finished",
    start: dict[str, Any] | None = None,
    shared: tuple[str, float] | None = None,
    commit: str | None = None,
    version: str = "0.1.0",
    **settings: Any,
) -> RunDirectory:
    """Write a run with one accuracy for each epoch of the last stage; an earlier stage has two epochs of 99 %.

    `start` are fields of its first event; `shared` are the run that trained its stage 1, and the seconds it took.
    """
    run = make_run(runs_dir, id, **settings)
    config = run.read_config()
    stages = [stage.name for stage in find_method(config.method).stages]
    identity = {"method": config.method, "task": config.task, "seed": config.seed, "stages": stages}
    identity |= {"label_hash": f"hash{config.seed}", "classes": ["cat", "dog"]}
    events: list[Event] = [started(**identity | (start or {}))]
    epoch = 0
    for index, stage in enumerate(stages, 1):
        if index > 1:
            origin, seconds = shared or ("", 0.0)
            given = {"given": shared is not None, "origin": origin, "origin_seconds": seconds}
            events.append(pseudo_labels(EPOCH * epoch, **given))
        events.append(StageStarted(stage=stage, index=index, iteration=EPOCH * epoch, epoch=epoch))
        for adapted, accuracy in enumerate(accuracies if index == len(stages) else (99.0, 99.0), 1):
            epoch += 1
            events += _epoch(epoch, adapted if stage != "gac" else None, stage, accuracy)
    write_events(run, [*events, *end_events(end, EPOCH * epoch, epoch)])
    environment: dict[str, Any] = {"versions": {"clarinet-tui": version}}
    environment["git"] = {"commit": commit, "patch": ""} if commit else None
    run.environment.write_bytes(msgspec.json.encode(environment))
    return run


def make_seeds(runs_dir: Path, name: str, accuracies: Sequence[float | None], **options: Any) -> None:
    """Write a run of one epoch for each seed from 1, named by its seed."""
    for seed, accuracy in enumerate(accuracies, start=1):
        make_trained_run(runs_dir, f"{name}{seed}", [accuracy], seed=seed, **options)


def _epoch(epoch: int, adapted: int | None, stage: str, accuracy: float | None) -> list[Event]:
    loss = "complementary_loss" if stage in ("gac", "clarinet") else "classification_loss"
    measured = {loss: 1 / epoch} | ({} if stage == "gac" else {"adversarial_loss": 0.5})
    scores: dict[str, Any] = {"complementary_risk": 1 / epoch, "target_information": 1 / epoch, "source_accuracy": 95.0}
    if accuracy is not None:
        right = round(accuracy)
        scores["confusion"] = [[right, 100 - right], [100 - right, right]]
    return epoch_events(stage, epoch, accuracy, lambda _: measured, steps=EPOCH, adapted=adapted, **scores)


def make_label_free_run(runs_dir: Path, id: str) -> RunDirectory:  # noqa: A002
    """Write a run whose target has no labels; information is highest in epoch 2, risk lowest in epoch 3."""
    run = make_run(runs_dir, id)
    events: list[Event] = [started()]
    for epoch, (information, risk) in enumerate(((0.1, 0.9), (0.8, 0.5), (0.3, 0.2)), 1):
        scores: dict[str, Any] = {"target_information": information, "complementary_risk": risk}
        events += epoch_events("clarinet", epoch, None, lambda _: {"complementary_loss": 1.0}, steps=EPOCH, **scores)
    write_events(run, [*events, *end_events("finished", 3 * EPOCH, 3)])
    return run
