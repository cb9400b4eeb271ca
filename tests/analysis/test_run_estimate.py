"""The estimate of a run's length agrees with the plan that training follows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.analysis.run_estimate import Estimator, RunEstimate
from clarinet_tui.history.ingest import ingest_all
from core.config import RunConfig
from core.events import Evaluated, Event, Finished, StageStarted
from core.methods import METHODS, find_method
from core.methods.plan import make_plan
from core.presets import PRESETS
from core.resolve import resolve
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events
from tests.support.known import known
from tests.support.workers import make_task


def count_iterations(config: RunConfig, data_dir: Path) -> int:
    estimate = known(Estimator(None, data_dir, on_gpu=False).estimate(config))
    assert estimate.runs == 0
    return estimate.iterations


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_iterations_are_those_of_the_plan(tmp_path: Path, method: str, preset: str) -> None:
    config = resolve(method=method, preset=preset, task="M->U")
    source, target = min(60_000, config.source_size or 60_000), min(7291, config.target_size or 7291)
    plan = make_plan(config, find_method(method), source, target)
    assert count_iterations(config, tmp_path) == plan[-1].last_iteration


def test_custom_data_is_counted_from_its_header(tmp_path: Path) -> None:
    config = resolve(preset="quick", task=make_task(tmp_path), epochs=3, warmup_epochs=0, batch_size=8)
    assert count_iterations(config, tmp_path) == 15
    (tmp_path / "photos" / "train.npz").unlink()
    assert Estimator(None, tmp_path, on_gpu=False).estimate(config) is None


def evaluate(iteration: int, seconds: float, stage: str, adaptation_epoch: int | None) -> Evaluated:
    return evaluation(iteration, seconds=seconds, stage=stage, epoch=1, adaptation_epoch=adaptation_epoch)


def finish(runs: Path, name: str, method: str, *events: Event, first: int = 1) -> None:
    """Write a run of 100 iterations on the CPU, or the last of them."""
    end = Finished(iteration=100, epoch=2, target_accuracy=50.0, source_accuracy=None, seconds=280.0)
    write_events(
        make_run(runs, name, method=method, task="Y->D", device="cpu"),
        [started(method=method, task="Y->D"), step(first), *events, step(100), end],
    )


@pytest.fixture
def estimator(tmp_path: Path) -> Iterator[Estimator]:
    """An estimator with a run of clarinet, one of gac, and one of gac+dann that was given its labels."""
    runs = tmp_path / "runs"
    finish(runs, "one", "clarinet", evaluate(40, 40.0, "clarinet", None), evaluate(100, 280.0, "clarinet", 1))
    finish(runs, "gac", "gac", evaluate(100, 700.0, "gac", None))
    stage = StageStarted(stage="dann", index=2, iteration=40, epoch=1, seconds=100.0)
    finish(runs, "two", "gac+dann", stage, evaluate(100, 280.0, "dann", 1), first=41)
    with open_history(runs) as database:
        ingest_all(database, runs)
        yield Estimator(database, tmp_path / "data", on_gpu=False)


def test_each_phase_has_its_own_speed(tmp_path: Path, estimator: Estimator) -> None:
    for epochs, warmup in ((2, 1), (7, 1), (2, 5)):
        config = resolve(preset="smoke", method="clarinet", task="Y->D", epochs=epochs, warmup_epochs=warmup)
        estimate = known(estimator.estimate(config))
        an_epoch = estimate.iterations / (epochs + warmup)
        assert estimate.seconds == pytest.approx(an_epoch * (warmup + 4 * epochs))
        assert estimate.runs == 1
        on_gpu = known(Estimator(estimator._database, tmp_path / "data", on_gpu=True).estimate(config))
        assert on_gpu.runs == 0, "another device is not the basis"


def test_stage_1_is_measured_on_other_methods_and_paid_once(estimator: Estimator) -> None:
    configs = [resolve(preset="smoke", method=method, task="Y->D") for method in ("gac+dann", "gac+dann", "clarinet")]
    first, second, _ = estimator.estimate_all(configs)
    assert first is not None
    assert second is not None
    per_epoch = first.iterations / (configs[0].stage1.epochs + configs[0].warmup_epochs + configs[0].epochs)
    assert first.stage1_seconds == pytest.approx(7.0 * per_epoch * configs[0].stage1.epochs)
    assert second.seconds == pytest.approx(first.seconds - first.stage1_seconds)
    assert second.seconds == pytest.approx(3.0 * per_epoch * (configs[0].warmup_epochs + configs[0].epochs))


def test_a_folder_without_counted_images_has_as_many_as_its_last_run(tmp_path: Path, estimator: Estimator) -> None:
    task = make_task(tmp_path)
    (tmp_path / "photos" / "train.npz").unlink()
    sizes = {"source_size": 0, "target_size": 0, "batch_size": 100}
    settings: dict[str, Any] = {"task": task, "epochs": 3, "warmup_epochs": 0, "device": "cpu", **sizes}
    config = resolve(preset="smoke", **settings)
    assert estimator.estimate(config) is None
    runs = tmp_path / "runs"
    end = Finished(iteration=10, epoch=1, target_accuracy=50.0, source_accuracy=None, seconds=20.0)
    sized = msgspec.structs.replace(started(task=config.task), source_size=1000, target_size=500)
    write_events(make_run(runs, "own", **settings), [sized, step(1), step(10), end])
    with open_history(runs) as database:
        ingest_all(database, runs)
        estimate = Estimator(database, tmp_path, on_gpu=False).estimate(config)
    assert estimate == RunEstimate(iterations=30, seconds=60.0, runs=1)
