"""The terminal goes away, with everything that was started in it: the runs do not."""

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
from clarinet_tui.runs.directory import all_runs
from tests.support.supervised import logs, present, state, until
from tests.support.workers import make_task, said


@pytest.fixture
def terminal() -> Iterator[list[str]]:
    """The words of a tmux of our own, with one session. The path of its socket must be short."""
    program = shutil.which("tmux")
    if program is None:
        pytest.skip("there is no tmux to open a terminal in")
    folder = tempfile.mkdtemp()
    words = [program, "-S", f"{folder}/tmux", "-f", "/dev/null"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TMUX")}
    shell = ["new-session", "-d", "-s", "mine", "-x", "120", "-y", "40", "sh"]
    subprocess.run([*words, *shell], check=True, env=environment, timeout=60)
    try:
        yield words
    finally:
        subprocess.run([*words, "kill-server"], capture_output=True, timeout=60)
        shutil.rmtree(folder)


def test_runs_of_a_sweep_outlive_their_terminal(runs: Path, tmp_path: Path, terminal: list[str]) -> None:
    clarinet = f"{sys.executable} -P -c 'from clarinet_tui.cli.main import main; main()'"
    settings = "--preset smoke --epochs 2 --device cpu --set batch_size=8 --set source_size=0 --set threads=1"
    words = f"{clarinet} sweep --methods clarinet --tasks '{make_task(tmp_path)}' --seeds 1..2 {settings}"
    line = f"{words} --runs-dir {runs} --data-dir {runs}; touch {tmp_path / 'typed'}"
    subprocess.run([*terminal, "send-keys", "-t", "mine", line, "Enter"], check=True, timeout=60)
    until(lambda: (tmp_path / "typed").exists(), runs)
    until(lambda: any(run.lock.exists() for run in all_runs(runs)), runs)
    subprocess.run([*terminal, "kill-session", "-t", "mine"], check=True, timeout=60)
    assert subprocess.run([*terminal, "has-session", "-t", "mine"], capture_output=True, timeout=60).returncode
    until(lambda: not read_queue(runs).entries, runs)
    first, second = all_runs(runs)
    for run in (first, second):
        assert state(run) == "finished", logs(runs)
        assert [event["event"] for event in said(run, "started") + said(run, "stopped")] == ["started"]
    for path in (first.log, first.environment, runs / "supervisor.log"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    supervisor = present(runs)
    assert supervisor is not None
    os.kill(supervisor, signal.SIGTERM)
    until(lambda: present(runs) is None, runs)
