"""Runs for tests, written to real journals with fixed numbers."""

import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clarinet_tui.history.queries import RunRow
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import GIB
from core.config import RunConfig
from core.events import Alarmed, Evaluated, Event, Failed, Finished, Sampled, Stepped
from tests.support.ui_start import started

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC).timestamp()
STEPS = 25
CONFUSION = [[32 if true == taken else 4 * ((true, taken) == (4, 9)) for taken in range(10)] for true in range(10)]
"""Of ten digits, only fours are sometimes taken for nines."""


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
    created = datetime.fromtimestamp(NOW - age, UTC)
    directory = RunDirectory.create(runs_dir, config, id=run, now=created)
    last = until or epochs
    with JournalWriter(directory.journal, now=lambda: NOW - age) as journal:
        journal.append(started(config, epochs, STEPS))
        for epoch in range(1, last + 1):
            for event in _epoch(epoch, epochs, broken_from, gain):
                journal.append(event)
        _end(journal, end, last)
    return directory


def go_on(directory: RunDirectory, epoch: int, epochs: int) -> None:
    """Append one epoch to a running run."""
    with JournalWriter(directory.journal, now=lambda: NOW) as journal:
        for event in _epoch(epoch, epochs, None):
            journal.append(event)


def _epoch(epoch: int, epochs: int, broken_from: int | None, gain: float = 0.0) -> list[Event]:
    events: list[Event] = []
    for step in range(STEPS):
        iteration = (epoch - 1) * STEPS + step + 1
        done = iteration / (epochs * STEPS)
        loss = 0.3 + 2.0 * math.exp(-4 * done) + 0.4 * math.sin(iteration * 1.7)
        measured = {
            "complementary_loss": math.nan if broken_from and iteration >= broken_from else loss,
            "adversarial_loss": 1.3 + 0.1 * math.sin(iteration),
            "ascended": float(iteration % 3 == 0),
            "lambda": done,
        }
        events.append(
            Stepped(
                seconds=iteration * 0.1,
                iteration=iteration,
                epoch=epoch,
                adaptation_epoch=epoch,
                stage="clarinet",
                measured=measured,
            )
        )
    events.append(
        Evaluated(
            seconds=epoch * STEPS * 0.1,
            iteration=epoch * STEPS,
            epoch=epoch,
            adaptation_epoch=epoch,
            stage="clarinet",
            target_accuracy=gain + 80 - 60 * math.exp(-4 * epoch / epochs),
            source_accuracy=95 - 60 * math.exp(-6 * epoch / epochs),
            confusion=CONFUSION,
        )
    )
    return events


def _end(journal: JournalWriter, end: str, epoch: int) -> None:
    iteration, seconds = epoch * STEPS, epoch * STEPS * 0.1
    if end == "finished":
        journal.append(
            Finished(seconds=seconds, iteration=iteration, epoch=epoch, target_accuracy=78.9, source_accuracy=94.9)
        )
    if end == "failed":
        journal.append(Failed(seconds=seconds, iteration=iteration, message="the loss is not a number"))


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


def run_row(**changes: object) -> RunRow:
    """Return a row of the history in which everything else is unknown."""
    known: dict[str, object] = dict.fromkeys(RunRow.__dataclass_fields__)
    known |= {
        "id": "aaa111",
        "state": RunState.RUNNING,
        "created": 0.0,
        "tags": (),
        "notes": (),
        "note": "",
        "name": "",
    }
    known |= {"family": "one-step", "iterations_given": 0, "alarms": (), "problems": ()}
    return RunRow(**(known | changes))  # type: ignore[arg-type]
