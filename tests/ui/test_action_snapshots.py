"""SVG snapshots of the views that act on runs; `pytest --snapshot-update` updates them."""

from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.ui.launch_form import list_settings
from tests.support.app import SIZES, make_app
from tests.support.nvml import FREE, build
from tests.support.ui_queue import fill_queue, still_machine
from tests.support.ui_runs import three_runs
from tests.support.ui_snapshots import SnapCompare, step_and_freeze


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)


SETTINGS = [setting.name for setting in list_settings()]


@pytest.mark.parametrize("size", SIZES)
def test_launch(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    steps = ("2", " less than a minute", " ○ cpu", " clarinet: The paper's method")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_launch_filled(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    steps = ["2", " ○ cpu", "#seeds", *"1..5", "#preset", "right", "space"]
    steps += ["#device", *["down"] * 5, "space", " --device cpu", " about 40s"]
    steps += ["#setting-lines", *"j" * SETTINGS.index("epochs"), "enter", *"9", "enter", " about 1m28"]
    steps += ["#tasks", "space", " USPS is missing"]
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_launch_with_errors(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    steps = ["2", " ○ cpu", "#seeds", *"1..", ' got "1.."', "#setting-lines", "j", "enter", "x", "enter", " and 1 more"]
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_devices(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze("6", " The queue is empty"))


@pytest.mark.parametrize("size", SIZES)
def test_devices_and_queue(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    fill_queue(runs_dir, "ddd444", "eee555", "fff666", "ggg777")
    update_queue(
        runs_dir,
        lambda queue: queue.with_changes(["eee555"], paused=True).with_changes(
            ["ddd444"], device_key=FREE, started_at=1.0
        ),
    )
    steps = ("6", " 1 started, 3 waiting", " starting", "j", "j")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_question(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    steps = ("2", " ○ cpu", "#tasks", "space", " USPS is missing", "ctrl+s", " Start without this data?")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=step_and_freeze(*steps))
