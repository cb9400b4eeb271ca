"""A worker in a real terminal: it closes, Ctrl+C is pressed once and twice, and the run continues after a resume."""

import os
import pty
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from tests.support.forked_python import new_session, new_session_with_slow_checkpoints, start_worker
from tests.support.supervised import read_state
from tests.support.workers import events_named, make_task, read_events, tiny_run, wait_until


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    task = make_task(tmp_path)
    return tiny_run(tmp_path / "runs", task, "abc", "clarinet", epochs=100_000, checkpoint_minutes=1000)


class Terminal:
    """A pseudo-terminal whose foreground process is the worker of a run."""

    def __init__(self, run: RunDirectory, prepare: Callable[[], object] = new_session) -> None:
        self.master, slave = pty.openpty()
        self.worker = start_worker(run, log=Path(os.ttyname(slave)), prepare=prepare)
        wait_until(self.worker, run, lambda: events_named(run, "step"))
        os.close(slave)

    def read_until(self, text: str) -> str:
        """Return the output up to where `text` is in it."""
        output = ""
        while text not in output:
            output += os.read(self.master, 4096).decode(errors="replace")
        return output

    def press_ctrl_c(self) -> None:
        os.write(self.master, b"\x03")


@pytest.fixture
def terminals() -> Iterator[list[Terminal]]:
    opened: list[Terminal] = []
    yield opened
    for terminal in opened:
        terminal.worker.kill()
        terminal.worker.wait(timeout=60)
        with suppress(OSError):
            os.close(terminal.master)


def test_closing_the_terminal_saves_and_stops_the_run(run: RunDirectory, terminals: list[Terminal]) -> None:
    terminal = Terminal(run)
    terminals.append(terminal)
    os.close(terminal.master)
    assert terminal.worker.wait(timeout=60) == 128 + signal.SIGHUP
    last = read_events(run)[-1]
    assert (last["event"], run.has_checkpoint) == ("stopped", True)
    assert read_state(run) == "stopped"


def test_ctrl_c_says_that_it_saves(run: RunDirectory, terminals: list[Terminal]) -> None:
    terminal = Terminal(run)
    terminals.append(terminal)
    terminal.press_ctrl_c()
    terminal.read_until("Saving a checkpoint; press Ctrl+C again to abandon it\r\n")
    assert "abandoned" not in terminal.read_until("clarinet resume abc")
    assert terminal.worker.wait(timeout=60) == 130
    assert run.has_checkpoint


def test_second_ctrl_c_abandons_the_checkpoint_and_says_what_was_lost(
    run: RunDirectory, terminals: list[Terminal]
) -> None:
    terminal = Terminal(run, new_session_with_slow_checkpoints)
    terminals.append(terminal)
    terminal.press_ctrl_c()
    terminal.read_until("SAVES")
    terminal.press_ctrl_c()
    output = terminal.read_until("clarinet resume abc")
    assert terminal.worker.wait(timeout=60) == 130
    last = read_events(run)[-1]
    assert f"no checkpoint was saved: iterations 1 to {last['iteration']} are lost" in output
    assert "Traceback" not in output
    assert (last["event"], run.has_checkpoint, read_state(run)) == ("stopped", False, "stopped")
