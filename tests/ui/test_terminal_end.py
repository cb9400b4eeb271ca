"""Terminals that cannot show the app, and a terminal that vanishes while it shows the app."""

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.ui_runs import three_runs

TIMEOUT = 60.0


class Opened:
    """The app on a terminal of its own, which is not its controlling terminal: there is no SIGHUP when it closes."""

    def __init__(self, runs_dir: Path, **environment: str) -> None:
        self.master, slave = pty.openpty()
        command = [sys.executable, "-P", "-m", "clarinet_tui.ui.main", "--runs-dir", str(runs_dir)]
        variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", **environment}
        variables.pop("PYTHONUNBUFFERED", None)  # buffers that cannot be written are part of the test
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=variables, start_new_session=True
        )
        os.close(slave)
        self.output = ""

    def read(self) -> None:
        """Read what has arrived; the end of a closed terminal is an error on Linux."""
        if select.select([self.master], [], [], 0.05)[0]:
            with suppress(OSError):
                self.output += os.read(self.master, 65536).decode(errors="replace")

    def read_until(self, text: str) -> None:
        deadline = time.monotonic() + TIMEOUT
        while text not in self.output:
            assert time.monotonic() < deadline, self.output
            self.read()


@pytest.fixture
def opened(runs_dir: Path) -> Iterator[Opened]:
    three_runs(runs_dir)
    terminal = Opened(runs_dir)
    yield terminal
    terminal.process.kill()
    terminal.process.wait()


def test_the_app_ends_when_its_terminal_vanishes(opened: Opened) -> None:
    opened.read_until("aaa111")
    os.close(opened.master)
    assert opened.process.wait(TIMEOUT) == 0


def test_a_dumb_terminal_gets_a_sentence(runs_dir: Path) -> None:
    terminal = Opened(runs_dir, TERM="dumb")
    terminal.read_until("use `clarinet ls`")
    assert terminal.process.wait(TIMEOUT) == 2
    assert "clarinet-tui: needs a terminal that can move its cursor, and TERM is dumb" in terminal.output
    assert "\x1b" not in terminal.output
    os.close(terminal.master)


def test_an_input_that_is_no_terminal_gets_a_sentence(runs_dir: Path) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-P", "-m", "clarinet_tui.ui.main", "--runs-dir", str(runs_dir)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, text=True)
    os.close(master)
    os.close(slave)
    assert done.returncode == 2
    assert "needs a terminal" in done.stderr
