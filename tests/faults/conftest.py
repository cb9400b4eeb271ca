"""Fixtures for the tests of faults."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scale import SOAK
from tests.support.supervised import runs_directory

REPEATS = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Repeat each test in `make soak`, except in modules that count their own rounds."""
    if SOAK and not hasattr(metafunc.module, "rounds"):
        metafunc.fixturenames.append("repeat")
        metafunc.parametrize("repeat", range(REPEATS))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """A runs directory whose processes are killed after the test."""
    with runs_directory(tmp_path / "runs") as made:
        yield made
