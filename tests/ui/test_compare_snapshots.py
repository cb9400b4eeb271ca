"""SVG snapshots of the Compare view."""

from pathlib import Path

import pytest

from tests.support.app import SIZES, make_app
from tests.support.ui_runs import five_seeds, write_family_run, write_run
from tests.support.ui_snapshots import SnapCompare, press_and_freeze, step_and_freeze

pytestmark = pytest.mark.parametrize("size", SIZES)
TITLE = "arget accuracy %"


def test_nothing_to_compare(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    write_run(runs_dir, "aaa111")
    assert snap_compare(
        make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("Nothing to compare yet", "4")
    )


def test_two_runs(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    write_family_run(runs_dir, "clar1", "clarinet", 1)
    write_family_run(runs_dir, "cdan1", "gac+cdan-e", 1)
    assert snap_compare(
        make_app(runs_dir), terminal_size=size, run_before=press_and_freeze(TITLE, "space", "space", "c")
    )


def test_seeds(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    five_seeds(runs_dir)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze(TITLE, "4"))


def test_seeds_in_one_chart(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    five_seeds(runs_dir)
    assert snap_compare(
        make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("Target accuracy %", "4", "v")
    )


def test_numbers(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    five_seeds(runs_dir)
    keys = ("4", "P", "j")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("GAC+CDAN_E", *keys))


def test_while_runs_go_on(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    write_family_run(runs_dir, "clar6", "clarinet", 6, until=5, end="running", age=60)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("interim", "4", "P"))


def test_other_labels(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    for seed in (1, 2):
        write_family_run(runs_dir, f"clar{seed}", "clarinet", seed)
        write_family_run(runs_dir, f"dann{seed}", "gac+dann", seed, draw="another" if seed == 2 else None)
    assert snap_compare(
        make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("has no counterpart", "4", "P")
    )


def test_a_query_that_cannot_be_understood(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    steps = ("4", " newest task", "slash", "space", *"colour:x", "space", " A query is invalid")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))
