"""SVG snapshots of each view; `pytest --snapshot-update` updates them."""

from pathlib import Path

import pytest

from clarinet_tui.ui.themes import CONTRAST, LIGHT
from clarinet_tui.ui.widgets.run_detail import PANES
from tests.support.app import SIZES, make_app
from tests.support.ui_runs import sample_hardware, three_runs, write_reference_runs
from tests.support.ui_snapshots import SnapCompare, press_and_freeze


@pytest.mark.parametrize("size", SIZES)
def test_empty(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("No runs yet"))


@pytest.mark.parametrize("size", SIZES)
def test_history(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_live(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir, "ccc333"), terminal_size=size, run_before=press_and_freeze("■ source"))


def test_live_hardware(runs_dir: Path, snap_compare: SnapCompare) -> None:
    sample_hardware(three_runs(runs_dir)[0])
    app, keys = make_app(runs_dir, "aaa111"), press_and_freeze("Process memory GiB", "H")
    assert snap_compare(app, terminal_size=(160, 48), run_before=keys)


@pytest.mark.parametrize("size", SIZES)
def test_live_of_a_failed_run(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    assert snap_compare(make_app(runs_dir, "bbb222"), terminal_size=size, run_before=press_and_freeze("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_live_with_references(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    write_reference_runs(runs_dir)
    assert snap_compare(make_app(runs_dir, "run5"), terminal_size=size, run_before=press_and_freeze("■ source"))


@pytest.mark.parametrize("size", SIZES)
def test_overlay(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir, "aaa111", "bbb222", "ccc333")
    assert snap_compare(app, terminal_size=size, run_before=press_and_freeze("◆ ccc333", "j", first="■ bbb222"))


@pytest.mark.parametrize("size", SIZES)
def test_live_log(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    keys = ("p", "slash", *"epoch")
    app = make_app(runs_dir, "ccc333")
    assert snap_compare(app, terminal_size=size, run_before=press_and_freeze("5 of 5", *keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("pane", "words"), [("about", "error"), ("settings", "Differs"), ("confusion", " 89 "), ("log", "failed: ")]
)
def test_panes(runs_dir: Path, size: tuple[int, int], pane: str, words: str, snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    keys = "p" * list(PANES).index(pane)
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze(words, "j", *keys))


@pytest.mark.parametrize("size", SIZES)
def test_filter(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    keys = ("slash", *"state:fa", "tab", "space", *"method:g", "tab", "tab")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=press_and_freeze("0 match", *keys))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("theme", [LIGHT, CONTRAST])
def test_themes(runs_dir: Path, size: tuple[int, int], theme: str, snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    app = make_app(runs_dir)
    app.theme = theme
    assert snap_compare(app, terminal_size=size, run_before=press_and_freeze("■ source"))
