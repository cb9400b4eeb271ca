"""Runs for tests of the app, written to real journals with fixed numbers."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clarinet_tui.history.queries import RunRow
from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import GIB
from core.config import RunConfig
from core.events import Alarmed, Event, Sampled, StageStarted, Started
from core.methods import find_method
from tests.support.events import end_events, epoch_events, pseudo_labels, started
from tests.support.histories import make_run, write_events
from tests.support.supervised import enqueue_directly
from tests.support.trained_runs import make_trained_run

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC).timestamp()
SECOND = 0.1
"""Of an iteration."""
STEPS = 25
CONFUSION = [[32 if true == taken else 4 * ((true, taken) == (4, 9)) for taken in range(10)] for true in range(10)]
"""Of ten digits, only fours are sometimes taken for nines."""
FAMILY_STEPS = 10
FAMILY_EPOCHS = 12
STAGE1 = 6
"""Epochs of the first stage of a two-step run."""
HEIGHTS = {"clarinet": 84.0, "gac+dan": 70.0, "gac+dann": 76.0, "gac+cdan-e": 79.0}
"""Approximate final accuracy of each method."""
COMPLETE = (84.1, 83.0, 84.9, 82.6, 83.8)


def _create(runs_dir: Path, run: str, age: float, config: RunConfig) -> RunDirectory:
    return RunDirectory.create(runs_dir, config, id=run, now=datetime.fromtimestamp(NOW - age, UTC))


def _started(config: RunConfig, epochs: int, steps: int, **fields: Any) -> Started:
    about: dict[str, Any] = {"method": config.method, "task": config.task, "seed": config.seed}
    about |= {"classes": list("0123456789"), "priors": [0.1] * 10, "parameters": 431_080}
    about |= {"source_size": 6000, "target_size": 1437, "test_size": 360, "label_hash": f"draw{config.seed}"}
    about |= {"epochs_total": epochs, "iterations_total": epochs * steps}
    return started(**about | {"notes": ["source images are rendered from fonts"]} | fields)


def write_run(
    runs_dir: Path,
    run: str,
    *,
    method: str = "clarinet",
    seed: int = 1,
    epochs: int = 8,
    until: int | None = None,
    end: str = "finished",
    age: float = 3600.0,
    broken_from: int | None = None,
    name: str = "",
    gain: float = 0.0,
    **settings: Any,
) -> RunDirectory:
    """A run of `epochs` epochs that has come `until` one of them and ended so, or goes on ("running").

    Its target accuracy is higher than that of others by its gain.
    """
    config = RunConfig(method=method, seed=seed, preset="smoke", name=name, **settings)
    directory = _create(runs_dir, run, age, config)
    last = until or epochs
    events: list[Event] = [_started(config, epochs, STEPS)]
    for epoch in range(1, last + 1):
        events += _epoch(epoch, epochs, broken_from, gain)
    reached = {"target_accuracy": 78.9, "source_accuracy": 94.9}
    write_events(directory, [*events, *end_events(end, last * STEPS, last, SECOND, **reached)], NOW - age)
    return directory


def go_on(directory: RunDirectory, epoch: int, epochs: int) -> None:
    """Append one epoch to a running run."""
    write_events(directory, _epoch(epoch, epochs, None), NOW)


def _epoch(epoch: int, epochs: int, broken_from: int | None, gain: float = 0.0) -> list[Event]:
    def measure(iteration: int) -> dict[str, float]:
        done = iteration / (epochs * STEPS)
        loss = 0.3 + 2.0 * math.exp(-4 * done) + 0.4 * math.sin(iteration * 1.7)
        return {
            "complementary_loss": math.nan if broken_from and iteration >= broken_from else loss,
            "adversarial_loss": 1.3 + 0.1 * math.sin(iteration),
            "ascended": float(iteration % 3 == 0),
            "lambda": done,
        }

    target = gain + 80 - 60 * math.exp(-4 * epoch / epochs)
    scores = {"source_accuracy": 95 - 60 * math.exp(-6 * epoch / epochs), "confusion": CONFUSION}
    return epoch_events("clarinet", epoch, target, measure, steps=STEPS, adapted=epoch, seconds=SECOND, **scores)


def write_family_run(
    runs_dir: Path,
    run: str,
    method: str,
    seed: int,
    *,
    until: int = FAMILY_EPOCHS,
    end: str = "finished",
    age: float = 3600.0,
    draw: str | None = None,
    task: str = "U->M",
) -> RunDirectory:
    """A run that has come `until` an epoch of its last stage; `draw` is another draw of complementary labels."""
    config = RunConfig(method=method, seed=seed, preset="smoke", task=task)
    directory = _create(runs_dir, run, age, config)
    stages = [stage.name for stage in find_method(method).stages]
    before = STAGE1 * (len(stages) - 1)
    fields = {"stages": stages, "label_hash": draw or f"draw{seed}"}
    events: list[Event] = [_started(config, FAMILY_EPOCHS + before, FAMILY_STEPS, **fields)]
    events.append(StageStarted(stage=stages[0], index=1, iteration=0, epoch=0))
    if before:
        for epoch in range(1, before + 1):
            events += _family_epoch("gac", seed, stages[0], epoch, 0)
        iteration = before * FAMILY_STEPS
        events.append(pseudo_labels(iteration, seconds=iteration * SECOND, accuracy=72.0 + seed))
        events.append(StageStarted(stage=stages[1], index=2, iteration=iteration, epoch=before))
    for epoch in range(1, until + 1):
        events += _family_epoch(method, seed, stages[-1], epoch, before)
    reached = {"target_accuracy": _accuracy(method, seed, until), "source_accuracy": 95.0}
    last = before + until
    write_events(directory, [*events, *end_events(end, last * FAMILY_STEPS, last, SECOND, **reached)], NOW - age)
    return directory


def more_epochs(directory: RunDirectory, method: str, seed: int, epochs: range) -> None:
    """Append epochs to a one-step run."""
    stage = find_method(method).stages[-1].name
    write_events(directory, [event for epoch in epochs for event in _family_epoch(method, seed, stage, epoch, 0)], NOW)


def five_seeds(runs_dir: Path, methods: tuple[str, ...] = ("clarinet", "gac+dan", "gac+dann", "gac+cdan-e")) -> None:
    for method in methods:
        for seed in range(1, 6):
            write_family_run(runs_dir, f"{method.removeprefix('gac+')[:4]}{seed}", method, seed, age=3600 - seed)


def _accuracy(method: str, seed: int, epoch: int) -> float:
    own = len(method) + ord(method[-1])
    wave = 2.6 * math.sin(2.1 * seed + 0.6 * epoch + own) + 1.5 * math.sin(5 * seed + own)
    return round(HEIGHTS.get(method, 60.0) * (1 - math.exp(-0.28 * epoch)) + wave, 2)


def _family_epoch(method: str, seed: int, stage: str, epoch: int, before: int) -> list[Event]:
    """Return an epoch of a stage; `before` are the epochs of the stage before it."""
    is_second = method.startswith("gac+")

    def measure(iteration: int) -> dict[str, float]:
        loss = 0.3 + 2 * math.exp(-iteration / 40) + 0.2 * math.sin(iteration * 1.7 + seed)
        name = "classification_loss" if is_second else "complementary_loss"
        return {name: loss, "adversarial_loss": 1.3 + 0.1 * math.sin(iteration + seed)}

    return epoch_events(
        stage,
        before + epoch,
        _accuracy(method, seed, epoch),
        measure,
        steps=FAMILY_STEPS,
        adapted=None if method == "gac" else epoch,
        seconds=SECOND,
        source_accuracy=90 - 40 * math.exp(-0.4 * epoch),
        pseudo_label_accuracy=72.0 + seed if is_second else None,
    )


def board_runs(runs_dir: Path) -> None:
    """Two presets; on U→M five seeds of CLARINET and one of another protocol, on M→U some of each state."""
    for seed, accuracy in enumerate(COMPLETE, start=1):
        make_trained_run(runs_dir, f"cum{seed}", [accuracy], seed=seed)
        make_trained_run(runs_dir, f"gum{seed}", [accuracy - 12], seed=seed, method="gac+cdan-e")
        make_trained_run(runs_dir, f"num{seed}", [accuracy - 2], seed=seed, method="clarinet-no-t")
    make_trained_run(runs_dir, "odd1", [91.0], seed=1, epochs=9)
    for seed in (1, 2):
        make_trained_run(runs_dir, f"cmu{seed}", [90.0 + seed], seed=seed, task="M->U")
    make_trained_run(runs_dir, "cmu3", [None], seed=3, task="M->U", end="failed")
    make_trained_run(runs_dir, "cmu4", [61.5], seed=4, task="M->U", end="running")
    make_trained_run(runs_dir, "csm1", [55.5], seed=1, task="S->M", end="running")
    make_trained_run(runs_dir, "own1", [70.0], seed=1, task="Y->D", preset="quick")
    update_queue(runs_dir, lambda queue: queue.with_paused(True))
    enqueue_directly(make_run(runs_dir, "csm2", seed=2, task="S->M"), device="auto")


def raise_alarm(directory: RunDirectory, kind: str = "collapse", iteration: int = 50, *, over: bool = False) -> None:
    """Append an alarm to a run's journal, or its end."""
    message = "96 % of the target images are predicted as one class."
    advice = "Lower classifier_rate, or raise the epochs before the adaptation."
    with JournalWriter(directory.journal, now=lambda: NOW) as journal:
        journal.append(Alarmed(seconds=5.0, kind=kind, message=message, advice=advice, iteration=iteration, over=over))


def sample_hardware(directory: RunDirectory, count: int = 60, *, has_gpu: bool = True) -> None:
    """Append samples of the hardware to a run's journal, one every ten seconds."""
    seconds = iter(range(0, 10 * count, 10))
    with JournalWriter(directory.journal, now=lambda: NOW + next(seconds)) as journal:
        for number in range(count):
            use = 50 + 40 * math.sin(number / 4)
            sample = Sampled(
                iteration=number,
                gpu_use=use if has_gpu else None,
                gpu_memory=int((1.2 + number / 100) * GIB) if has_gpu else None,
                power=60 + 2 * use if has_gpu else None,
                temperature=45 + min(number, 30) if has_gpu else None,
                cpu=100 + use / 10,
                memory=2 * GIB,
            )
            journal.append_sample(sample)


def three_runs(runs_dir: Path) -> list[RunDirectory]:
    """Finished, failed and running, oldest first."""
    return [
        write_run(runs_dir, "aaa111", age=7200),
        write_run(runs_dir, "bbb222", method="gac+cdan-e", until=3, end="failed", age=3600, broken_from=60),
        write_run(runs_dir, "ccc333", seed=2, until=5, end="running", age=60),
    ]


def write_reference_runs(runs_dir: Path) -> None:
    """On M→U: three finished seeds, one of another protocol, and seed 5, which is running."""
    for seed, gain in {1: -6.0, 2: 0.0, 3: 6.0}.items():
        write_run(runs_dir, f"run{seed}", seed=seed, gain=gain, task="M->U", age=9000 - seed)
    write_run(runs_dir, "run4", seed=4, gain=15.0, task="M->U", classifier_rate=0.1, age=8000)
    write_run(runs_dir, "run5", seed=5, task="M->U", until=5, end="running", age=60)


def sweep_runs(runs_dir: Path) -> None:
    """The sweep `rates`, two rates with three seeds, of which one has failed and one is running; and another run."""
    for seed in (1, 2, 3):
        for rate, gain in ((0.003, -6.0), (0.03, 2.0)):
            name, unusual = f"{'lo' if gain < 0 else 'hi'}{seed}", {}
            if name == "hi2":
                unusual = {"until": 3, "end": "failed"}
            if name == "hi3":
                unusual = {"until": 4, "end": "running"}
            settings: dict[str, Any] = {"seed": seed, "gain": gain + seed, "age": 9000 - 60 * seed, **unusual}
            write_run(runs_dir, name, task="M->U", classifier_rate=rate, sweep="rates", **settings)
    write_run(runs_dir, "other1", task="M->U", age=60)


def run_row(**changes: object) -> RunRow:
    """Return a row of the history in which everything else is unknown."""
    known: dict[str, object] = dict.fromkeys(RunRow.__dataclass_fields__)
    known |= {"id": "aaa111", "state": RunState.RUNNING, "family": "one-step", "created": 0.0, "iterations_given": 0}
    known |= dict.fromkeys(("tags", "notes", "alarms", "problems"), ()) | {"note": "", "name": "", "settings": {}}
    return RunRow(**(known | changes))  # type: ignore[arg-type]
