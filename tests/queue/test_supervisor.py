"""The real supervisor: its process, the commands of --on-end that it runs, and those of --on-alarm that nobody sees."""

import os
import signal
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import QUEUE_FILE
from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK, SUPERVISOR_LOG, ensure_supervisor, find_supervisor
from clarinet_tui.runs.lock import signal_holder
from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    make_fault_run,
    read_worker_starts,
    running_supervisor,
    runs_directory,
    wait_until,
)

CODE = "import os; print(os.environ['CLARINET_STATE'], os.environ['CLARINET_RUN'], file=open('output', 'w'))"
TOKEN = "token-0451"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    with runs_directory(tmp_path / "runs") as made:
        yield made


def test_a_supervisor_that_ended_does_not_stay_in_the_process_table(runs: Path) -> None:
    ensure_supervisor(runs)
    wait_until(lambda: find_supervisor(runs), runs)
    supervisor = find_supervisor(runs)
    assert supervisor is not None
    assert [(runs / name).stat().st_mode & 0o077 for name in (SUPERVISOR_LOCK, SUPERVISOR_LOG)] == [0, 0]
    assert signal_holder(runs / SUPERVISOR_LOCK, supervisor, signal.SIGTERM)
    wait_until(lambda: not Path(f"/proc/{supervisor.pid}").exists(), runs)


@pytest.mark.parametrize(("behaviour", "state"), [("steps=100000 pause=0.01", "lost"), ("dies=3", "failed")])
def test_command_for_the_end_of_a_run_whose_worker_cannot_run_it(runs: Path, behaviour: str, state: str) -> None:
    run = make_fault_run(runs, "abc", behaviour)
    enqueue_directly(run, on_end=(sys.executable, "-c", CODE))
    with running_supervisor(runs):
        if state == "lost":
            wait_until(lambda: count_steps(run), runs)
            os.kill(int(read_worker_starts(run)[0][0]), signal.SIGKILL)
        output = runs / "output"
        wait_until(lambda: output.exists() and output.read_text().endswith("\n"), runs)
    assert output.read_text() == f"{state} abc\n"


def test_the_command_for_alarms_is_in_no_process_list(runs: Path) -> None:
    run = make_fault_run(runs, "one", "steps=100000")
    enqueue_directly(run, on_alarm=("curl", f"https://example.org/?{TOKEN}"))
    with running_supervisor(runs) as supervisor:
        wait_until(lambda: read_worker_starts(run), runs)
        worker = read_worker_starts(run)[0][0]
        for pid in (worker, str(supervisor.pid)):
            assert TOKEN not in Path(f"/proc/{pid}/cmdline").read_text()
        assert TOKEN in Path(f"/proc/{worker}/environ").read_text(), "which only its user can read"
    readable = [path for path in runs.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert runs / QUEUE_FILE not in readable
    assert [path for path in readable if TOKEN.encode() in path.read_bytes()] == []
