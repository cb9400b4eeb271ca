"""Synthetic runs for the benchmarks: their events, journals, and histories of many short runs or a long one."""

import math
import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all, ingest_run
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from core.config import Tag, nest_settings, setting_specs, setting_values, settings_tagged
from core.errors import InputError
from core.events import Evaluated, Finished, Started, Stepped
from core.resolve import resolve

METHODS = ("clarinet", "gac+dann", "gac+cdan-e", "gac")
CHART_METRICS = ("complementary_loss", "adversarial_loss", "ascended", "lambda")
LOAD_METRICS = ("complementary_loss", "least_class_loss", "ascended", "adversarial_loss", "lambda", "entropy")
EVALUATIONS = 100
VALUES = 7
"""Values of a setting in which runs differ."""
FIRST_DAY = datetime(2026, 1, 1, tzinfo=UTC)


def make_many_runs(runs_dir: Path, runs: int, iterations: int = 20, varied: int = 0) -> None:
    """Create finished runs, which may differ in as many settings, and ingest them."""
    make_journals(runs_dir, runs, iterations, evaluations=2, varied=varied)
    with Database.open(runs_dir) as db:
        ingest_all(db, runs_dir)


def make_journals(runs_dir: Path, runs: int, iterations: int, evaluations: int, varied: int = 0) -> None:
    """Create finished runs of several methods, an hour apart, each with a copy of one journal.

    Runs that differ in settings are of one method.
    """
    journal, names = b"", varying_settings("basset")[:varied] if varied else []
    for number in range(runs):
        method = "basset" if names else METHODS[number % len(METHODS)]
        settings = {name: vary(name, method, number) for name in names}
        run = make_run(runs_dir, f"run{number:05}", method, number, **settings)
        if not journal:
            write_journal(run, iterations, evaluations)
            journal = run.journal.read_bytes()
        run.journal.write_bytes(journal)


def make_long_run(runs_dir: Path, iterations: int, *, ingest: bool = True) -> RunDirectory:
    """Create a finished run with four metrics and a hundred evaluations, older than the many runs."""
    run = make_run(runs_dir, "longrun", "clarinet", 0, FIRST_DAY - timedelta(days=1))
    write_journal(run, iterations)
    if ingest:
        with Database.open(runs_dir) as db:
            ingest_run(db, run)
    return run


def make_run(
    runs_dir: Path, name: str, method: str, number: int, day: datetime = FIRST_DAY, **settings: Any
) -> RunDirectory:
    config = resolve(nest_settings(settings), preset="smoke", task="U->M", method=method, seed=number)
    return RunDirectory.create(runs_dir, config, id=name, now=day + timedelta(hours=number))


def varying_settings(method: str) -> list[str]:
    """Return the settings that affect the numbers, and of which the method accepts all values of `vary`."""
    ignored = settings_tagged(Tag.IDENTITY, Tag.NO_EFFECT, Tag.ROUNDING) | {"stage1.seed"}
    names = []
    for spec in setting_specs():
        with suppress(InputError):
            for number in range(VALUES):
                resolve(nest_settings({spec.name: vary(spec.name, method, number)}), preset="smoke", method=method)
            names += [] if spec.name in ignored or vary(spec.name, method, 1) is None else [spec.name]
    return names


def vary(name: str, method: str, number: int) -> Any:
    """Return one of several values near the default of a number, either value of a boolean, and None for texts."""
    value, step = _defaults(method)[name], number % VALUES
    if isinstance(value, bool):
        return bool(step % 2)
    if isinstance(value, int):
        return value + step
    if isinstance(value, float):
        return value * (1 - step / 50) if value else step / 50
    return None


@cache
def _defaults(method: str) -> dict[str, Any]:
    return setting_values(resolve(preset="smoke", method=method))


def write_journal(run: RunDirectory, iterations: int, evaluations: int = EVALUATIONS) -> None:
    with JournalWriter(run.journal) as journal:
        journal.append(started(iterations))
        for event in training_events(iterations, evaluations):
            journal.append(event)
        journal.append(Finished(iteration=iterations, epoch=evaluations, target_accuracy=80.0, source_accuracy=95.0))


def training_events(iterations: int, evaluations: int) -> Iterator[Stepped | Evaluated]:
    """Yield steps with noisy falling losses, and evaluations with rising accuracies."""
    rng, every = random.Random(1), max(1, iterations // evaluations)
    for iteration in range(1, iterations + 1):
        progress, epoch = iteration / iterations, (iteration - 1) // every + 1
        values = (2 * math.exp(-3 * progress) + rng.random(), 1 + rng.random() / 4, iteration % 3 / 2, progress)
        measured = dict(zip(CHART_METRICS, values, strict=True))
        common: dict[str, Any] = {"iteration": iteration, "epoch": epoch, "adaptation_epoch": epoch}
        common |= {"stage": "clarinet", "seconds": iteration / 100}
        yield Stepped(**common, metrics=measured)
        if iteration % every == 0:
            target, source = 80 - 60 * math.exp(-4 * progress), 95 - 60 * math.exp(-6 * progress)
            yield Evaluated(**common, target_accuracy=target, source_accuracy=source)


def started(iterations: int) -> Started:
    return Started(
        method="clarinet",
        task="U->M",
        seed=1,
        device="cpu",
        classes=["0", "1"],
        shape=[28, 28, 1],
        source_size=100,
        target_size=100,
        test_size=50,
        parameters=1000,
        label_hash="abc",
        priors=[0.5, 0.5],
        stages=["clarinet"],
        epochs_total=1,
        iterations_total=iterations,
        notes=[],
    )


def random_step(iteration: int, rng: random.Random) -> Stepped:
    measured = {name: rng.random() for name in LOAD_METRICS}
    return Stepped(
        iteration=iteration,
        epoch=1,
        adaptation_epoch=1,
        stage="clarinet",
        seconds=iteration / 2000,
        metrics=measured,
    )


def steady_evaluation(iteration: int) -> Evaluated:
    return Evaluated(
        iteration=iteration,
        epoch=1,
        adaptation_epoch=1,
        stage="clarinet",
        seconds=iteration / 2000,
        target_accuracy=50.0,
        source_accuracy=None,
    )
