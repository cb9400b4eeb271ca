"""Pictures of the views that act on runs: `pytest --snapshot-update` makes them anew; look at the diff."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.queue.queue_file import change_queue
from clarinet_tui.ui.app import ClarinetApp
from tests.support.nvml import FREE, build
from tests.support.ui_queue import fill_queue, still_machine
from tests.support.ui_runs import three_runs
from tests.ui.conftest import SIZES, make_app, screen_text, until
from tests.ui.test_snapshots import STILL, Compare


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture(autouse=True)
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)


def says(app: ClarinetApp, words: str) -> bool:
    return words in screen_text(app)


def seen(*steps: str) -> Callable[[Pilot[None]], object]:
    """Does the steps, which are keys, `#field` to go there, or ` words` to wait for; then lets nothing more happen."""

    async def act(pilot: Pilot[None]) -> None:
        app = pilot.app
        assert isinstance(app, ClarinetApp)
        await until(pilot, lambda: app.session.snapshot and app.session.snapshot.settled, "the history")
        for step in steps:
            if step.startswith("#"):
                app.screen.query_one(step).focus()
            elif step.startswith(" "):
                await until(pilot, partial(says, app, step[1:]), step)
            else:
                await pilot.press(step)
        app.feed.stop()
        app.machine_feed.stop()
        shown: list[str] = []
        while len(shown) < STILL or len(set(shown[-STILL:])) > 1:
            await pilot.pause(0.05)
            shown.append(screen_text(app))

    return act


@pytest.mark.parametrize("size", SIZES)
def test_launch(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    steps = ("2", " time unknown", " ○ cpu", " clarinet: The paper's method")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_launch_filled(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    steps = ["2", " ○ cpu", "#seeds", *"1..5", "#preset", "right", "right", "right", "space", " about 40s"]
    steps += ["#setting-lines", *"jjjjjjjjjj", "enter", *"9", "enter", " --epochs 9"]
    steps += ["#tasks", "space", " USPS is missing", "#device", "down", "space", " --device cuda:0"]
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_launch_with_errors(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    steps = ["2", " ○ cpu", "#seeds", *"1..", ' got "1.."', "#setting-lines", "j", "enter", "x", "enter", " and 1 more"]
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_devices(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen("6", " The queue is empty"))


@pytest.mark.parametrize("size", SIZES)
def test_devices_and_queue(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    three_runs(runs_dir)
    fill_queue(runs_dir, "ddd444", "eee555", "fff666", "ggg777")
    change_queue(runs_dir, lambda queue: queue.change(["eee555"], paused=True).change(["ddd444"], on=FREE, begun=1.0))
    steps = ("6", " 1 started, 3 waiting", " starting", "j", "j")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen(*steps))


@pytest.mark.parametrize("size", SIZES)
def test_question(runs_dir: Path, size: tuple[int, int], snap_compare: Compare) -> None:
    steps = ("2", " ○ cpu", "#tasks", "space", " USPS is missing", "ctrl+s", " Start without this data?")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=seen(*steps))
