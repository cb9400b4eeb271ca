"""SVG snapshots of the board; `pytest --snapshot-update` updates them."""

from pathlib import Path

import pytest

from tests.support.app import SIZES, make_app
from tests.support.nvml import build
from tests.support.ui_queue import still_machine
from tests.support.ui_runs import board_runs
from tests.support.ui_snapshots import SnapCompare, step_and_freeze

RIGHT = ("l", "l", "l", "l")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)


@pytest.mark.parametrize("size", SIZES)
def test_empty(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze("5", " No runs yet"))


@pytest.mark.parametrize("size", SIZES)
def test_board(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    board_runs(runs_dir)
    steps = ("5", " smoke 22", *RIGHT, "j", " cmu4")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_ablations_by_the_oracle(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    board_runs(runs_dir)
    steps = ("5", " smoke 22", "o", " ORACLE", "a", "l", " num5")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_question(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    board_runs(runs_dir)
    steps = ("5", " smoke 22", *RIGHT, "j", "j", " csm2", "f", " Queue 3 runs?")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))
