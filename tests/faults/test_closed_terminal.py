"""Closing the terminal does not end the runs that were started in it."""

import os
import signal
import stat
import sys
from pathlib import Path

from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.runs.directory import list_runs
from tests.support.supervised import read_logs, read_state, supervisor_pid, wait_until
from tests.support.terminal import Terminal
from tests.support.workers import events_named, make_task


def test_runs_of_a_sweep_continue_after_their_terminal_closes(runs: Path, tmp_path: Path, terminal: Terminal) -> None:
    clarinet = f"{sys.executable} -P -c 'from clarinet_tui.cli.main import main; main()'"
    settings = "--preset smoke --epochs 2 --device cpu --set batch_size=8 --set source_size=0 --set threads=1"
    command = f"{clarinet} sweep --methods clarinet --tasks '{make_task(tmp_path)}' --seeds 1..2 {settings}"
    terminal.open(f"{command} --runs-dir {runs} --data-dir {runs}; touch {tmp_path / 'typed'}")
    wait_until(lambda: (tmp_path / "typed").exists(), runs)
    wait_until(lambda: any(run.lock.exists() for run in list_runs(runs)), runs)
    terminal.close()
    assert terminal.screen() == "", "it is closed"
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
