"""The app in a real terminal: start a run, watch it, quit, open the app again, and stop the run."""

import os
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from clarinet_tui.runs.atomic_files import file_size
from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from clarinet_tui.runs.journal_reader import read_last_event
from tests.support.ui_queue import dismissed
from tests.support.ui_runs import write_run
from tests.support.workers import make_task, tiny_run

TIMEOUT = 180.0
COLUMNS, LINES = 120, 36


class Terminal:
    """A window of tmux, with a server of its own."""

    def __init__(self, folder: Path) -> None:
        self._socket, self._folder = f"clarinet-{uuid.uuid4().hex[:8]}", folder

    def _tmux(self, *words: str) -> str:
        # Not the environment of C, into which pytest's readline has put a size.
        words, known = ("tmux", "-L", self._socket, *words), dict(os.environ)
        return subprocess.run(words, capture_output=True, text=True, cwd=self._folder, env=known).stdout

    def open(self, *words: str) -> None:
        """Starts a shell with the command in it; the shell stays when the command has ended."""
        size = ("-x", str(COLUMNS), "-y", str(LINES))
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, "sh")
        self._tmux("set", "-g", "status", "off")
        self._tmux("resize-window", *size)
        self.type(" ".join(words), "Enter")

    def type(self, text: str, *keys: str) -> None:
        self._tmux("send-keys", "-l", text)
        self.press(*keys)

    def press(self, *keys: str) -> None:
        for key in keys:
            self._tmux("send-keys", key)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def wait_until(self, condition: Callable[[str], object], name: str) -> str:
        deadline = time.monotonic() + TIMEOUT
        while not condition(screen := self.screen()):
            assert time.monotonic() < deadline, f"{name} was not reached:\n{screen}"
            time.sleep(0.1)
        return screen

    def wait_for(self, text: str) -> str:
        return self.wait_until(lambda screen: text in screen, text)

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux to open a terminal with")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("TMUX", "COLUMNS", "LINES", "CLARINET_RUNS", "CLARINET_DATA", "CLARINET_DB"):
        monkeypatch.delenv(name, raising=False)
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


@pytest.fixture
def runs_dir(tmp_path: Path) -> Iterator[Path]:
    yield from dismissed(tmp_path / "runs")


def epoch(screen: str) -> int:
    """How far the run in view is, as the screen says it."""
    found = re.search(r"epoch (\d+)/", screen)
    return int(found[1]) if found else 0


def test_start_quit_reopen_and_stop(terminal: Terminal, runs_dir: Path, tmp_path: Path) -> None:
    app = f"{sys.executable} -P -m clarinet_tui.ui.main --runs-dir runs"
    write_run(runs_dir, "aaa111")
    tiny_run(runs_dir, make_task(tmp_path), "bbb222", "clarinet", epochs=100_000)
    terminal.open(app)
    terminal.wait_for("aaa111")
    terminal.wait_for("bbb222")

    terminal.press("/")
    terminal.wait_for("method:clarinet task:")
    terminal.type("preset:smoke -state:finished", "Enter")
    terminal.wait_until(lambda screen: "bbb222" in screen and "aaa111" not in screen, "the filter")
    terminal.press("e")
    terminal.wait_for("photos->")
    terminal.press("Tab", "Tab", "Tab")
    terminal.wait_for("Seeds: 1..5 means five seeds")
    terminal.type("5")
    terminal.wait_for("--seeds 5")
    terminal.press("C-s")
    terminal.wait_for("is queued")
    (run,) = (RunDirectory(runs_dir, name) for name in list_run_ids(runs_dir) if name not in ("aaa111", "bbb222"))
    terminal.wait_for(run.id)

    terminal.wait_until(lambda screen: "▸ 1 running" in screen, "the running run")
    terminal.press("g", "Enter")
    first = epoch(terminal.wait_until(lambda screen: epoch(screen) and "● target" in screen, "the first curve"))
    terminal.wait_until(lambda screen: epoch(screen) > first, "the moving curve")

    terminal.press("q")
    terminal.wait_for("1 run continues")
    written = file_size(run.journal)
    terminal.wait_until(lambda _: file_size(run.journal) > written, "the run continuing without the app")

    terminal.type(f"{app} {run.id}", "Enter")
    terminal.wait_until(lambda screen: epoch(screen) > first, "the run in a new app")
    terminal.press("s")
    terminal.wait_for("was asked to stop")
    terminal.wait_until(lambda _: (read_last_event(run.journal) or {}).get("event") == "stopped", "the stop")
    terminal.wait_for("stopped")
    terminal.press("q")
    terminal.wait_until(lambda screen: "▸ 1 running" not in screen, "the end")
