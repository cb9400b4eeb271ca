"""SVG snapshots of each view; `pytest --snapshot-update` updates them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.themes import CONTRAST, LIGHT
from clarinet_tui.ui.widgets.run_detail import PANES
from tests.support.app import SIZES, make_app
from tests.support.nvml import FREE
from tests.support.ui_queue import fill_queue
from tests.support.ui_runs import (
    board_runs,
    five_seeds,
    sample_hardware,
    sweep_runs,
    three_runs,
    write_family_run,
    write_reference_runs,
    write_run,
)
from tests.support.ui_snapshots import RunBefore, SnapCompare, press_and_freeze, step_and_freeze

Check = Callable[[ClarinetApp, RunBefore], None]
RIGHT = ("l", "l", "l", "l")
TITLE = "arget accuracy %"


@pytest.fixture(params=SIZES, ids=["80x24", "160x48"])
def check(request: pytest.FixtureRequest, snap_compare: SnapCompare) -> Check:
    """Brings an app into a state, and compares its screen with the snapshot of this size."""

    def compare(app: ClarinetApp, run_before: RunBefore) -> None:
        assert snap_compare(app, terminal_size=request.param, run_before=run_before)

    return compare


def test_empty(runs_dir: Path, check: Check) -> None:
    check(make_app(runs_dir), press_and_freeze("No runs yet"))


def test_history(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    check(make_app(runs_dir), press_and_freeze("■ source"))


def test_filter(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    keys = ("slash", *"state:fa", "tab", "space", *"method:g", "tab", "tab")
    check(make_app(runs_dir), press_and_freeze("0 match", *keys))


@pytest.mark.parametrize("theme", [LIGHT, CONTRAST])
def test_themes(runs_dir: Path, theme: str, check: Check) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    app.theme = theme
    check(app, press_and_freeze("■ source"))


@pytest.mark.parametrize(
    ("pane", "text"),
    [("about", "error"), ("settings", "Differs"), ("confusion", "    ·"), ("log", "failed: ")],
    ids=["about", "settings", "confusion", "log"],
)
def test_panes(runs_dir: Path, pane: str, text: str, check: Check) -> None:
    three_runs(runs_dir)
    check(make_app(runs_dir), press_and_freeze(text, "j", *"p" * list(PANES).index(pane)))


@pytest.mark.parametrize("run", ["ccc333", "bbb222"], ids=["running", "failed"])
def test_live(runs_dir: Path, run: str, check: Check) -> None:
    three_runs(runs_dir)
    check(make_app(runs_dir, run), press_and_freeze("■ source"))


def test_live_hardware(runs_dir: Path, snap_compare: SnapCompare) -> None:
    sample_hardware(three_runs(runs_dir)[0])
    app, keys = make_app(runs_dir, "aaa111"), press_and_freeze("Process memory GiB", "H")
    assert snap_compare(app, terminal_size=(160, 48), run_before=keys)


def test_live_with_references(runs_dir: Path, check: Check) -> None:
    write_reference_runs(runs_dir)
    check(make_app(runs_dir, "run5"), press_and_freeze("■ source"))


def test_live_log(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    check(make_app(runs_dir, "ccc333"), press_and_freeze("5 of 5", "p", "slash", *"epoch"))


def test_overlay(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111", "bbb222", "ccc333")
    check(app, press_and_freeze("◆ ccc333", "j", first="■ bbb222"))


@pytest.mark.usefixtures("machine")
def test_launch(runs_dir: Path, check: Check) -> None:
    check(make_app(runs_dir), step_and_freeze("2", " less than a minute", " ○ cpu", " clarinet: The paper's method"))


@pytest.mark.usefixtures("machine")
def test_launch_filled(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    steps = ["2", " ○ cpu", "#seeds", *"1..5", "#preset", "right", "space"]
    steps += ["#device", *["down"] * 5, "space", " --device cpu", " about 40s"]
    steps += ["#setting-lines", "enter", *"9", "enter", " about 1m28"]
    check(make_app(runs_dir), step_and_freeze(*steps, "#tasks", "space", " USPS is missing"))


@pytest.mark.usefixtures("machine")
def test_launch_with_errors(runs_dir: Path, check: Check) -> None:
    steps = ["2", " ○ cpu", "#seeds", *"1..", ' got "1.."', "#setting-lines", "j", "enter", "x", "enter", " and 1 more"]
    check(make_app(runs_dir), step_and_freeze(*steps))


@pytest.mark.usefixtures("machine")
def test_launch_question(runs_dir: Path, check: Check) -> None:
    steps = ("2", " ○ cpu", "#tasks", "space", " USPS is missing", "ctrl+s", " Start without this data?")
    check(make_app(runs_dir), step_and_freeze(*steps))


@pytest.mark.usefixtures("machine")
def test_devices(runs_dir: Path, check: Check) -> None:
    check(make_app(runs_dir), step_and_freeze("6", " The queue is empty"))


@pytest.mark.usefixtures("machine")
def test_devices_and_queue(runs_dir: Path, check: Check) -> None:
    three_runs(runs_dir)
    fill_queue(runs_dir, "ddd444", "eee555", "fff666", "ggg777")
    update_queue(
        runs_dir,
        lambda queue: queue.with_changes(["eee555"], paused=True).with_changes(
            ["ddd444"], device_key=FREE, started_at=1.0
        ),
    )
    check(make_app(runs_dir), step_and_freeze("6", " 1 started, 3 waiting", " starting", "j", "j"))


@pytest.mark.usefixtures("machine")
def test_board_empty(runs_dir: Path, check: Check) -> None:
    check(make_app(runs_dir), step_and_freeze("5", " No runs yet"))


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    "steps",
    [
        (*RIGHT, "j", " cmu4"),
        ("o", " ORACLE", "a", "l", " num5"),
        (*RIGHT, "j", "j", " csm2", "f", " Queue 3 runs?"),
    ],
    ids=["methods", "ablations by the oracle", "question"],
)
def test_board(runs_dir: Path, steps: tuple[str, ...], check: Check) -> None:
    board_runs(runs_dir)
    check(make_app(runs_dir), step_and_freeze("5", " smoke 22", *steps))


def test_sweep(runs_dir: Path, check: Check) -> None:
    sweep_runs(runs_dir)
    check(make_app(runs_dir), step_and_freeze(" hi3", "w", " rates · clarinet", "j", "l"))


def test_nothing_to_compare(runs_dir: Path, check: Check) -> None:
    write_run(runs_dir, "aaa111")
    check(make_app(runs_dir), press_and_freeze("Nothing to compare yet", "4"))


def test_compare_two_runs(runs_dir: Path, check: Check) -> None:
    write_family_run(runs_dir, "clar1", "clarinet", 1)
    write_family_run(runs_dir, "cdan1", "gac+cdan-e", 1)
    check(make_app(runs_dir), press_and_freeze(TITLE, "space", "space", "c"))


@pytest.mark.parametrize(
    ("text", "keys"),
    [(TITLE, ("4",)), ("Target accuracy %", ("4", "v")), ("GAC+CDAN_E", ("4", "P", "j"))],
    ids=["charts", "one chart", "numbers"],
)
def test_compare_seeds(runs_dir: Path, text: str, keys: tuple[str, ...], check: Check) -> None:
    five_seeds(runs_dir)
    check(make_app(runs_dir), press_and_freeze(text, *keys))


def test_compare_while_runs_go_on(runs_dir: Path, check: Check) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    write_family_run(runs_dir, "clar6", "clarinet", 6, until=5, end="running", age=60)
    check(make_app(runs_dir), press_and_freeze("interim", "4", "P"))


def test_compare_other_labels(runs_dir: Path, check: Check) -> None:
    for seed in (1, 2):
        write_family_run(runs_dir, f"clar{seed}", "clarinet", seed)
        write_family_run(runs_dir, f"dann{seed}", "gac+dann", seed, draw="another" if seed == 2 else None)
    check(make_app(runs_dir), press_and_freeze("has no counterpart", "4", "P"))


def test_compare_with_an_invalid_query(runs_dir: Path, check: Check) -> None:
    five_seeds(runs_dir, ("clarinet", "gac+dann"))
    steps = ("4", " newest task", "slash", "space", *"colour:x", "space", " A query is invalid")
    check(make_app(runs_dir), step_and_freeze(*steps))
