"""Closing the terminal does not end the runs that were started in it."""

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import list_runs
from tests.support.supervised import read_logs, read_state, supervisor_pid, wait_until
from tests.support.workers import events_named, make_task


@pytest.fixture
def terminal() -> Iterator[list[str]]:
    """The command of a separate tmux server with one session. The path of its socket must be short."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("tmux is not installed")
    folder = tempfile.mkdtemp()
    tmux = [program, "-S", f"{folder}/tmux", "-f", "/dev/null"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    shell = ["new-session", "-d", "-s", "mine", "-x", "120", "-y", "40", "sh"]
    subprocess.run([*tmux, *shell], check=True, env=environment, timeout=60)
    try:
        yield tmux
    finally:
        subprocess.run([*tmux, "kill-server"], capture_output=True, timeout=60)
        shutil.rmtree(folder)


def test_runs_of_a_sweep_continue_after_their_terminal_closes(runs: Path, tmp_path: Path, terminal: list[str]) -> None:
    clarinet = f"{sys.executable} -P -c 'from clarinet_tui.cli.main import main; main()'"
    settings = "--preset smoke --epochs 2 --device cpu --set batch_size=8 --set source_size=0 --set threads=1"
    command = f"{clarinet} sweep --methods clarinet --tasks '{make_task(tmp_path)}' --seeds 1..2 {settings}"
    line = f"{command} --runs-dir {runs} --data-dir {runs}; touch {tmp_path / 'typed'}"
    subprocess.run([*terminal, "send-keys", "-t", "mine", line, "Enter"], check=True, timeout=60)
    wait_until(lambda: (tmp_path / "typed").exists(), runs)
    wait_until(lambda: any(run.lock.exists() for run in list_runs(runs)), runs)
    subprocess.run([*terminal, "kill-session", "-t", "mine"], check=True, timeout=60)
    assert subprocess.run([*terminal, "has-session", "-t", "mine"], capture_output=True, timeout=60).returncode
    wait_until(lambda: not read_queue(runs).entries, runs)
    first, second = list_runs(runs)
    for run in (first, second):
        assert read_state(run) == "finished", read_logs(runs)
        assert [event["event"] for event in events_named(run, "started") + events_named(run, "stopped")] == ["started"]
    for path in (first.log, first.environment, runs / "supervisor.log"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    supervisor = supervisor_pid(runs)
    assert supervisor is not None
    os.kill(supervisor, signal.SIGTERM)
    wait_until(lambda: supervisor_pid(runs) is None, runs)
