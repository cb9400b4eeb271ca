"""The process of a job with every signal of Slurm: what it passes on, and whether the run continues.

Slurm's programs and the worker are stand-ins here; `test_interruptions` has the real ones.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.attempts import FollowUp, read_events
from clarinet_tui.slurm.job import REQUEUED
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.slurm_runs import attempts_of
from tests.support.slurm_standin import write_program

JOB = "import sys; sys.executable = sys.argv.pop(1); from clarinet_tui.slurm import job; sys.exit(job.main())"
NAMES = {"SLURM_ARRAY_JOB_ID": "1", "SLURM_ARRAY_TASK_ID": "0", "SLURMD_NODENAME": "n1", "SLURM_JOB_NAME": "clarinet"}
GPU = {"CUDA_VISIBLE_DEVICES": "3"}
"""What Slurm sets for a job that has this GPU of the node."""
WORKER = 'trap "exit 0" USR1; echo "has GPU $CUDA_VISIBLE_DEVICES"; while :; do sleep 0.01; done'


def run_and_signal(run: RunDirectory, number: signal.Signals, state: str, requeue: str = "exit 0") -> tuple[int, str]:
    """Send a signal to a job whose worker trains; return its exit code, and the calls of scontrol and sbatch."""
    folder = run.runs_dir / "bin"
    now, calls = time.time(), folder / "calls"
    worker = write_program(folder, "worker", WORKER)
    write_program(folder, "squeue", f"echo '1_0|clarinet|{state}|None|{now - 3600:.0f}|1|{now + 60:.0f}|n1|1|0'")
    write_program(folder, "scontrol", f'echo scontrol "$@" >> {calls}; {requeue}')
    write_program(folder, "sbatch", f'echo sbatch "$@" >> {calls}; echo 2')
    arguments = [str(worker), run.id, "--runs-dir", str(run.runs_dir), "--data-dir", "data", "--array", "3"]
    with subprocess.Popen(
        [sys.executable, "-P", "-c", JOB, *arguments, "--max-requeues", "9"],
        env={**os.environ, **NAMES, **GPU, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        text=True,
    ) as job:
        assert job.stdout is not None
        while "has GPU 3" not in job.stdout.readline():
            assert job.poll() is None
        job.send_signal(number)
        exit_code = job.wait(60)
    return exit_code, calls.read_text() if calls.exists() else ""


@pytest.mark.parametrize(
    ("number", "state", "outcome", "calls"),
    [
        (signal.SIGUSR1, "RUNNING", "requeued", "scontrol requeue 1_0\n"),
        (signal.SIGUSR2, "RUNNING", "requeued", "scontrol requeue 1_0\n"),
        (signal.SIGTERM, "COMPLETING", "ended by Slurm", ""),
        (signal.SIGINT, "RUNNING", "stopped", ""),
    ],
    ids=["time limit", "USR2", "preempted or cancelled", "stopped by the user"],
)
def test_a_signal_saves_the_run(tmp_path: Path, number: signal.Signals, state: str, outcome: str, calls: str) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1)])
    exit_code, called = run_and_signal(run, number, state)
    assert (attempts_of(run), called) == ([outcome], calls)
    assert (exit_code == REQUEUED) is (outcome == "requeued")


def test_a_follow_up_job_continues_the_run_where_a_node_may_not_requeue(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1)])
    exit_code, called = run_and_signal(run, signal.SIGUSR2, "RUNNING", requeue="exit 1")
    script = tmp_path / ".slurm" / "clarinet" / "3.sh"
    submitted = f"sbatch --parsable --array=0 --dependency=afterany:1_0 {script}\n"
    assert (exit_code, called) == (REQUEUED, f"scontrol requeue 1_0\n{submitted}")
    assert [event.job for event in read_events(run) if isinstance(event, FollowUp)] == ["2_0"]
