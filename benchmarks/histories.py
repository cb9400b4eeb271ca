"""Histories to look at: many short runs, or one long one, written as journals and ingested as the app does it."""

import math
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.soak_load import started
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.events import Evaluated, Finished, Stepped
from core.resolve import resolve

METHODS = ("clarinet", "gac+dann", "gac+cdan-e", "gac")
METRICS = ("complementary_loss", "adversarial_loss", "ascended", "lambda")
EVALUATIONS = 100
DAY = datetime(2026, 1, 1, tzinfo=UTC)


def many_runs(runs_dir: Path, runs: int, iterations: int = 20) -> None:
    """Finished runs of several methods, an hour apart. One journal is written, and every run has its copy."""
    journal = b""
    for number in range(runs):
        run = new_run(runs_dir, f"run{number:05}", METHODS[number % len(METHODS)], number)
        if not journal:
            write(run, iterations, evaluations=2)
            journal = run.journal.read_bytes()
        run.journal.write_bytes(journal)
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)


def long_run(runs_dir: Path, iterations: int, *, ingested: bool = True) -> RunDirectory:
    """A finished run of four metrics an iteration and a hundred evaluations, older than the many."""
    run = new_run(runs_dir, "longrun", "clarinet", 0, DAY - timedelta(days=1))
    write(run, iterations)
    if ingested:
        with Database.open(runs_dir) as db:
            ingest_run(db, run)
    return run


def new_run(runs_dir: Path, name: str, method: str, number: int, day: datetime = DAY) -> RunDirectory:
    config = resolve(preset="smoke", task="U->M", method=method, seed=number)
    return RunDirectory.create(runs_dir, config, id=name, now=day + timedelta(hours=number))


def write(run: RunDirectory, iterations: int, evaluations: int = EVALUATIONS) -> None:
    with JournalWriter(run.journal) as journal:
        journal.append(started(iterations))
        for event in course(iterations, evaluations):
            journal.append(event)
        journal.append(Finished(iteration=iterations, epoch=evaluations, target_accuracy=80.0, source_accuracy=95.0))


def course(iterations: int, evaluations: int) -> Iterator[Stepped | Evaluated]:
    """Losses that fall and jump, accuracies that rise."""
    chance, each = random.Random(1), max(1, iterations // evaluations)
    for at in range(1, iterations + 1):
        done, epoch = at / iterations, (at - 1) // each + 1
        measured = dict(
            zip(
                METRICS,
                (2 * math.exp(-3 * done) + chance.random(), 1 + chance.random() / 4, at % 3 / 2, done),
                strict=True,
            )
        )
        yield Stepped(
            iteration=at, epoch=epoch, adaptation_epoch=epoch, stage="clarinet", seconds=at / 100, measured=measured
        )
        if at % each == 0:
            yield evaluated(at, epoch, done)


def evaluated(at: int, epoch: int, done: float) -> Evaluated:
    return Evaluated(
        iteration=at,
        epoch=epoch,
        adaptation_epoch=epoch,
        stage="clarinet",
        seconds=at / 100,
        target_accuracy=80 - 60 * math.exp(-4 * done),
        source_accuracy=95 - 60 * math.exp(-6 * done),
    )
