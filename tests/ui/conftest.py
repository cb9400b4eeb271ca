"""The app on a directory of its own, with a fixed clock."""

import asyncio
import inspect
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.ui.app import ClarinetApp
from tests.support.app import make_app
from tests.support.supervised import kill_processes
from tests.support.ui_queue import hold_queue, still_machine


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Tests of the app are coroutines: each runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture
def runs_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A short relative path, so that the screen does not depend on where tests run; it is not there yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.delenv("CLARINET_GLYPHS", raising=False)
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("LC_ALL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    time.tzset()
    return Path("runs")


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    """A runs directory whose queue is paused; its supervisor and workers are stopped afterwards."""
    hold_queue(runs_dir)
    yield runs_dir
    kill_processes(runs_dir)


@pytest.fixture
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)


@pytest.fixture
def app(runs_dir: Path) -> ClarinetApp:
    return make_app(runs_dir)
