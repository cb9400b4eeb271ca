"""What the tests of faults share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.feeding import directory


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    """A runs directory in which nothing lives on after the test."""
    with directory(tmp_path / "runs") as made:
        yield made
