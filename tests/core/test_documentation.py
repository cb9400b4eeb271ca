"""The examples in the documentation of the public Python functions."""

import doctest
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import core
from core.data import synthetic
from core.methods.algorithm import Algorithm
from tests.support.operations import make_algorithm, make_batch
from tests.support.tiny import tiny_config


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty folder with a picture, in which few digits are generated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLARINET_DATA", raising=False)
    monkeypatch.setattr(synthetic, "DEFAULT_SIZES", (200, 60))
    Image.fromarray(np.zeros((28, 28), dtype=np.uint8)).save("seven.png")


def run_example(documented: object, **names: object) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(documented, "example", globs=names)
    assert len(example.examples) >= 3
    report: list[str] = []
    assert doctest.DocTestRunner().run(example, out=report.append).failed == 0, "".join(report)


def test_train_and_load_model() -> None:
    run_example(core.train)
    run_example(core.load_model)


def test_resolve() -> None:
    run_example(core.resolve)


def test_algorithm() -> None:
    problem = make_algorithm(tiny_config("source-only"), "grey").problem
    run_example(Algorithm, problem=problem, batch=make_batch(problem.stage_plan, "grey"))
