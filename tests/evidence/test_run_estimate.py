"""The estimate of a run's length agrees with the plan that training follows."""

from pathlib import Path

import pytest

from clarinet_tui.evidence.run_estimate import Estimator, count_iterations
from core.methods import METHODS, find_method
from core.presets import PRESETS
from core.resolve import resolve
from core.training.plan import make_plan
from tests.support.workers import make_task


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_iterations_are_those_of_the_plan(tmp_path: Path, method: str, preset: str) -> None:
    config = resolve(method=method, preset=preset, task="M->U")
    source, target = min(60_000, config.source_size or 60_000), min(7291, config.target_size or 7291)
    plan = make_plan(config, find_method(method), source, target)
    assert count_iterations(config, tmp_path) == plan.iterations_total


def test_custom_data_is_counted_from_its_header(tmp_path: Path) -> None:
    config = resolve(preset="quick", task=make_task(tmp_path), epochs=3, warmup_epochs=0, batch_size=8)
    assert count_iterations(config, tmp_path) == 15
    (tmp_path / "photos" / "train.npz").unlink()
    assert Estimator(None, tmp_path, on_gpu=False).estimate(config) is None
