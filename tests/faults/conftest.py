"""What the tests of faults share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.scale import SOAK
from tests.support.supervised import directory

TURNS = 5


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In `make soak` everything is tried several times; tests that leave more to chance count their own rounds."""
    if SOAK and not hasattr(metafunc.module, "rounds"):
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(TURNS))


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """A runs directory in which nothing lives on after the test."""
    with directory(tmp_path / "runs") as made:
        yield made
