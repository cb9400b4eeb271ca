"""A history for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.history.database import Database
from tests.support.histories import open_history


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    """The history of the runs in `tmp_path`."""
    with open_history(tmp_path) as opened:
        yield opened
