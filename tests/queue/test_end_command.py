"""`--on-end` of runs whose worker dies or does not start: the supervisor runs it."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.support.supervised import (
    count_steps,
    enqueue_directly,
    make_fault_run,
    read_worker_starts,
    running_supervisor,
    runs_directory,
    wait_until,
)

CODE = "import os; print(os.environ['CLARINET_STATE'], os.environ['CLARINET_RUN'], file=open('said', 'w'))"


@pytest.mark.parametrize(("behaviour", "state"), [("steps=100000 pause=0.01", "lost"), ("dies=3", "failed")])
def test_command_for_the_end_of_a_run_whose_worker_cannot_run_it(tmp_path: Path, behaviour: str, state: str) -> None:
    with runs_directory(tmp_path / "runs") as runs_dir:
        run = make_fault_run(runs_dir, "abc", behaviour)
        enqueue_directly(run, on_end=(sys.executable, "-c", CODE))
        with running_supervisor(runs_dir):
            if state == "lost":
                wait_until(lambda: count_steps(run), runs_dir)
                os.kill(int(read_worker_starts(run)[0][0]), signal.SIGKILL)
            said = runs_dir / "said"
            wait_until(lambda: said.exists() and said.read_text().endswith("\n"), runs_dir)
    assert said.read_text() == f"{state} abc\n"
