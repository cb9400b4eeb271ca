"""Runs of both families for tests of Compare, written to real journals with fixed numbers."""

import math
from datetime import UTC, datetime
from pathlib import Path

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.config import RunConfig
from core.events import Evaluated, Event, Finished, PseudoLabelled, StageStarted, Stepped
from core.methods import find_method
from tests.support.ui_runs import NOW
from tests.support.ui_start import started

STEPS = 10
EPOCHS = 12
STAGE1 = 6
"""Epochs of the first stage of a two-step run."""
HEIGHTS = {"clarinet": 84.0, "gac+dan": 70.0, "gac+dann": 76.0, "gac+cdan-e": 79.0}
"""Approximate final accuracy of each method."""


def write_family_run(
    runs_dir: Path,
    run: str,
    method: str,
    seed: int,
    *,
    until: int = EPOCHS,
    end: str = "finished",
    age: float = 3600.0,
    draw: str | None = None,
    task: str = "U->M",
) -> RunDirectory:
    """A run that has come `until` an epoch of its last stage; `draw` is another draw of complementary labels."""
    config = RunConfig(method=method, seed=seed, preset="smoke", task=task)
    directory = RunDirectory.create(runs_dir, config, id=run, now=datetime.fromtimestamp(NOW - age, UTC))
    stages = [stage.name for stage in find_method(method).stages]
    beginning = started(config, EPOCHS + STAGE1 * (len(stages) - 1), STEPS)
    fields = {name: getattr(beginning, name) for name in beginning.__struct_fields__}
    fields |= {"stages": stages, "label_hash": draw or f"draw{seed}"}
    with JournalWriter(directory.journal, now=lambda: NOW - age) as journal:
        journal.append(type(beginning)(**fields))
        for event in _way(method, seed, stages, until):
            journal.append(event)
        last = until + STAGE1 * (len(stages) - 1)
        if end == "finished":
            reached = _accuracy(method, seed, until)
            journal.append(
                Finished(
                    seconds=last * STEPS * 0.1,
                    iteration=last * STEPS,
                    epoch=last,
                    target_accuracy=reached,
                    source_accuracy=95.0,
                )
            )
    return directory


def more_epochs(directory: RunDirectory, method: str, seed: int, epochs: range) -> None:
    """Append epochs to a one-step run."""
    with JournalWriter(directory.journal, now=lambda: NOW) as journal:
        for epoch in epochs:
            for event in _epoch(method, seed, find_method(method).stages[-1].name, epoch, epoch, epoch):
                journal.append(event)


def five_seeds(runs_dir: Path, methods: tuple[str, ...] = ("clarinet", "gac+dan", "gac+dann", "gac+cdan-e")) -> None:
    for method in methods:
        for seed in range(1, 6):
            write_family_run(runs_dir, f"{method.removeprefix('gac+')[:4]}{seed}", method, seed, age=3600 - seed)


def _way(method: str, seed: int, stages: list[str], until: int) -> list[Event]:
    events: list[Event] = [StageStarted(stage=stages[0], index=1, iteration=0, epoch=0)]
    offset = 0
    if len(stages) > 1:
        offset = STAGE1
        for epoch in range(1, STAGE1 + 1):
            events += _epoch("gac", seed, stages[0], epoch, epoch, None)
        events.append(
            PseudoLabelled(
                iteration=STAGE1 * STEPS,
                seconds=STAGE1 * STEPS * 0.1,
                label_hash="pseudo",
                accuracy=72.0 + seed,
                given=False,
                labels=[],
            )
        )
        events.append(StageStarted(stage=stages[1], index=2, iteration=STAGE1 * STEPS, epoch=STAGE1))
    for epoch in range(1, until + 1):
        events += _epoch(method, seed, stages[-1], epoch, offset + epoch, epoch)
    return events


def _accuracy(method: str, seed: int, epoch: int) -> float:
    own = len(method) + ord(method[-1])
    wave = 2.6 * math.sin(2.1 * seed + 0.6 * epoch + own) + 1.5 * math.sin(5 * seed + own)
    return round(HEIGHTS.get(method, 60.0) * (1 - math.exp(-0.28 * epoch)) + wave, 2)


def _epoch(method: str, seed: int, stage: str, epoch: int, counted: int, adaptation: int | None) -> list[Event]:
    events: list[Event] = []
    for step in range(1, STEPS + 1):
        iteration = (counted - 1) * STEPS + step
        loss = 0.3 + 2 * math.exp(-iteration / 40) + 0.2 * math.sin(iteration * 1.7 + seed)
        name = "classification_loss" if method.startswith("gac+") else "complementary_loss"
        events.append(
            Stepped(
                seconds=iteration * 0.1,
                iteration=iteration,
                epoch=counted,
                adaptation_epoch=adaptation,
                stage=stage,
                measured={name: loss, "adversarial_loss": 1.3 + 0.1 * math.sin(iteration + seed)},
            )
        )
    events.append(
        Evaluated(
            seconds=counted * STEPS * 0.1,
            iteration=counted * STEPS,
            epoch=counted,
            adaptation_epoch=adaptation,
            stage=stage,
            target_accuracy=_accuracy(method, seed, epoch),
            source_accuracy=90 - 40 * math.exp(-0.4 * epoch),
            pseudo_label_accuracy=72.0 + seed if method.startswith("gac+") else None,
        )
    )
    return events
