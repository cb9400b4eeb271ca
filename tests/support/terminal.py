"""A real terminal: a window of tmux that is typed into and read."""

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

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import file_size

TIMEOUT = 180.0
COLUMNS, LINES = 120, 36


APP = f"{sys.executable} -P -m clarinet_tui.ui.main --runs-dir runs"
VARIABLES = ("TMUX", "COLUMNS", "LINES", "CLARINET_RUNS", "CLARINET_DATA", "CLARINET_DB", "CLARINET_ON")


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

    def paste(self, text: str) -> None:
        """Paste as a terminal does: in brackets if the program asks for them."""
        self._tmux("set-buffer", text)
        self._tmux("paste-buffer", "-p")

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p")

    def title(self) -> str:
        return self._tmux("display-message", "-p", "#{pane_title}")

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


def open_terminal(folder: Path, patch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """Yield a terminal in the folder, without variables that change what the app does."""
    if shutil.which("tmux") is None:
        pytest.skip("there is no tmux to open a terminal with")
    patch.setenv("OMP_NUM_THREADS", "1")
    patch.setenv("TERM", "xterm-256color")
    for name in VARIABLES:
        patch.delenv(name, raising=False)
    opened = Terminal(folder)
    yield opened
    opened.close()


def watch_quit_and_reopen(terminal: Terminal, run: RunDirectory) -> None:
    """Watch the run on the screen train, quit the app, and open it again with the run, which has continued."""
    first = shown_epoch(
        terminal.wait_until(lambda screen: shown_epoch(screen) and "● target" in screen, "the first curve")
    )
    terminal.wait_until(lambda screen: shown_epoch(screen) > first, "the moving curve")
    terminal.press("q")
    terminal.wait_for("1 run continues")
    written = file_size(run.journal)
    terminal.wait_until(lambda _: file_size(run.journal) > written, "the run continuing without the app")
    terminal.type(f"{APP} {run.id}", "Enter")
    terminal.wait_until(lambda screen: shown_epoch(screen) > first, "the run in a new app")


def shown_epoch(screen: str) -> int:
    """Return the epoch of the run on the screen; 0 without one."""
    found = re.search(r"epoch (\d+)/", screen)
    return int(found[1]) if found else 0
