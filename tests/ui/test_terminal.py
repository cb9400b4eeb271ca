"""The app in a real terminal: start a run, watch it, quit, open the app again, and stop the run."""

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

from clarinet_tui.runs.directory import RunDirectory, list_run_ids
from clarinet_tui.runs.journal import read_last_event
from tests.support.disks import read_only
from tests.support.supervised import kill_processes
from tests.support.terminal import APP, Terminal, watch_quit_and_reopen
from tests.support.ui_queue import fill_queue, hold_queue, waiting
from tests.support.ui_runs import three_runs, write_run
from tests.support.workers import make_task, tiny_run

VIEW_TEXTS = {"3": "Accuracy %", "4": "Nothing to compare", "5": "One step against two", "6": "The queue is empty"}
"""What each view shows of one finished run."""


@pytest.fixture
def runs_dir(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "runs"
    kill_processes(tmp_path / "runs")


def test_start_quit_reopen_and_stop(terminal: Terminal, runs_dir: Path, tmp_path: Path) -> None:
    write_run(runs_dir, "aaa111")
    tiny_run(runs_dir, make_task(tmp_path), "bbb222", "clarinet", epochs=100_000)
    terminal.open(APP)
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
    watch_quit_and_reopen(terminal, run)
    terminal.press("s", "y")
    terminal.wait_for("was asked to stop")
    terminal.wait_until(lambda _: (read_last_event(run.journal) or {}).get("event") == "stopped", "the stop")
    terminal.wait_for("stopped")
    terminal.press("q")
    terminal.wait_until(lambda screen: "▸ 1 running" not in screen, "the end")


def test_a_directory_that_cannot_be_written_is_shown_in_every_view(terminal: Terminal, tmp_path: Path) -> None:
    runs_dir = tmp_path / "runs"
    write_run(runs_dir, "aaa111")
    with read_only(runs_dir):
        before = sorted(path.name for path in runs_dir.rglob("*"))
        terminal.open(APP)
        terminal.wait_for("aaa111")
        for key, text in VIEW_TEXTS.items():
            terminal.press(key)
            assert "Internal error" not in terminal.wait_for(text)
        terminal.press("1")
        terminal.wait_for("aaa111")
        terminal.press("d")
        terminal.wait_for("Delete run aaa111?")
        terminal.press("y")
        terminal.wait_for("queue.lock: cannot be written")
        terminal.press("q")
        terminal.wait_for("its history is built in a temporary file")
        assert sorted(path.name for path in runs_dir.rglob("*")) == before


SLOW_MAIN = "import sys; from clarinet_tui.ui.main import main; sys.setprofile(lambda *_: None); main()"
SLOW_APP = f"{sys.executable} -P -c '{SLOW_MAIN}' --runs-dir runs"
"""Every call of a function and its return take longer, so that keys wait for the app."""


def test_bursts_and_pastes_in_a_slow_app_trigger_no_action(terminal: Terminal, runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111")
    hold_queue(runs_dir)
    fill_queue(runs_dir, "bbb222")
    terminal.open(SLOW_APP)
    terminal.wait_for("bbb222")
    for _ in range(5):
        terminal.type("/Sstate:running")
        terminal.wait_for("/ Sstate:running")
        terminal.press("Escape")
        terminal.wait_until(lambda screen: "Sstate" not in screen and "aaa111" in screen, "the whole list")
    terminal.paste("Sdy\nq")
    terminal.type("/done")
    terminal.wait_for("/ done")
    assert waiting(runs_dir) == ["bbb222"]
    assert set(list_run_ids(runs_dir)) == {"aaa111", "bbb222"}


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
