"""The command: its arguments, its errors, and what it does not import."""

import os
import sys
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.main import main
from core.config import RunConfig
from tests.support.cli import imported_modules


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["zzz"], "no run in"),
        ([f"aaa{number}" for number in range(9)], "at most 8 runs"),
        (["aaa1"], "use `clarinet ls` to list runs without one"),
        *((["--fps", rate], "expected a number from 0.2 to 10") for rate in ("0", "0.1", "11", "nan", "fast")),
    ],
)
def test_an_error_ends_with_2_and_a_message(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(9):
        RunDirectory.create(tmp_path, RunConfig(), id=f"aaa{number}")
    monkeypatch.setenv("CLARINET_RUNS", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_history_that_another_user_has_put_there_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give files to another user")
    (tmp_path / "clarinet.0.db").touch()
    for path in (tmp_path / "clarinet.0.db", tmp_path):
        os.chown(path, 64101, -1)
    monkeypatch.setattr("clarinet_tui.ui.main._terminal_problem", lambda: "")
    monkeypatch.delenv("CLARINET_DB", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["--runs-dir", str(tmp_path)])
    assert ended.value.code == 2
    assert "clarinet.0.db: belongs to user 64101" in capsys.readouterr().err


@pytest.mark.parametrize(("options", "interval"), [((), 0.25), (("--fps", "0.5"), 2.0)])
def test_the_database_of_the_environment_and_the_rate_reach_the_feed(
    options: tuple[str, ...], interval: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[ClarinetApp] = []
    monkeypatch.setattr(ClarinetApp, "run", lambda app: opened.append(app))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("sys.stdin", sys.stdout)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("CLARINET_DB", "here.db")
    monkeypatch.setenv("TEXTUAL_FPS", "60")
    with pytest.raises(SystemExit) as ended:
        main(["--runs-dir", str(tmp_path), *options])
    assert ended.value.code == 0
    assert opened[0].state.history_feed.database == Path("here.db")
    assert opened[0].state.history_feed.interval == interval
    assert (opened[0].animation_level == "none") == (interval > 1)


def test_the_first_paint_imports_no_slow_module() -> None:
    slow = {"torch", "numpy", "scipy", "sqlite_utils", "sqlite3", "psutil", "core", "textual.widgets._log"}
    assert slow & imported_modules("import clarinet_tui.ui.main, clarinet_tui.ui.app") == set()


def test_charts_and_history_need_no_torch() -> None:
    modules = "clarinet_tui.ui.feed.history_reader, clarinet_tui.ui.screens.live, clarinet_tui.ui.widgets.run_charts"
    assert {"torch", "scipy", "matplotlib"} & imported_modules(f"import {modules}") == set()
