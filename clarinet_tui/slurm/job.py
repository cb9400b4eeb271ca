"""The process of a Slurm job: starts the run's worker, passes signals on to it, and requeues the job if needed.

The batch script becomes this process with `exec`, so Slurm's signals reach it. USR1 (the time limit is near), USR2 and
TERM mean: save, and continue in another attempt. INT is `clarinet stop`: save, and end.
"""

import argparse
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import file_size, modified_time
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.journal_writer import append_failure
from clarinet_tui.runs.lock import LockHeldError
from clarinet_tui.runs.state import RunState
from clarinet_tui.runs.worker_command import worker_arguments
from clarinet_tui.runs.worker_log import TimestampedStream, quote_last_line
from clarinet_tui.slurm import commands
from clarinet_tui.slurm.attempts import (
    AttemptEnded,
    AttemptStarted,
    FollowUp,
    Lease,
    SlurmJob,
    append_event,
    count_failures,
    describe_limit,
    hold_lease,
    read_events,
)
from clarinet_tui.slurm.jobs import SUBMISSIONS
from clarinet_tui.slurm.options import WARNING_SECONDS
from clarinet_tui.text import printable
from core.errors import InputError
from core.events import PERMANENT_FAILURES, Failed, FailureKind

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
REQUEUED, LOCKED = 75, 73
"""Exit codes of a job that continues in another attempt, and of one whose run is locked."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="clarinet-slurm-job", description=__doc__)
    parser.add_argument("run")
    parser.add_argument("--runs-dir", type=Path, required=True)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--array", type=int, required=True, help="number of the array in its submission")
    parser.add_argument("--max-requeues", type=int, default=0)
    parser.add_argument("--retries", type=int, default=0)
    arguments = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, {*SIGNALS, signal.SIGCHLD})  # they are waited for
    for number in SIGNALS:
        signal.signal(number, signal.SIG_DFL)  # the batch script ignores some of them
    signal.signal(signal.SIGCHLD, lambda number, frame: None)  # an ignored signal would not be waited for
    sys.stdout = sys.stderr = TimestampedStream(sys.stdout)
    try:
        return run_job(RunDirectory(arguments.runs_dir, arguments.run), SlurmJob.current(), arguments)
    except InputError as error:
        print(f"clarinet: {printable(str(error))}")
        return 2


def run_job(run: RunDirectory, job: SlurmJob, arguments: argparse.Namespace) -> int:
    if (read_last_event(run.journal) or {}).get("event") == RunState.FINISHED:
        return 0
    with ExitStack() as stack:
        lease = acquire(stack, run, job)
        if lease is None:
            print(f"clarinet: Slurm job {job.id} ends: another node still trains run {run.id}")
            return LOCKED
        if limit := describe_limit(read_events(run), modified_time(run.checkpoint), arguments.max_requeues):
            record_failure(run, limit)
            return 1
        checkpoint = modified_time(run.checkpoint)
        started = AttemptStarted(time=time.time(), job=job.id, name=job.name, node=job.node, checkpoint=checkpoint)
        append_event(run, started)
        print(f"Slurm job {job.id} on {job.node} starts run {run.id}")
        journal_size = file_size(run.journal)
        worker = Worker(run, job, arguments.data_dir)
        worker.wait(lease)
        if lease.is_taken:
            print(f"clarinet: Slurm job {job.id} ends: another node has taken over run {run.id}")
            return LOCKED
        exit_code = worker.process.returncode
        if exit_code > 0 and not worker.is_signalled and file_size(run.journal) == journal_size:
            # It ended by itself before it wrote to its journal, such as without a library of the node.
            message = f"the worker ended with exit code {exit_code}{quote_last_line(run)}"
            record_failure(run, message, FailureKind.NOT_STARTED)
        outcome = decide(run, job, arguments.retries, is_stopped_by_user=worker.is_stopped_by_user)
        append_event(run, AttemptEnded(time=time.time(), exit_code=exit_code, outcome=outcome))
        print(f"Slurm job {job.id}: {outcome}")
        if outcome != "requeued":
            return 0 if outcome == "finished" else exit_code if exit_code > 0 else 1
        return requeue(run, job, arguments)


def acquire(stack: ExitStack, run: RunDirectory, job: SlurmJob) -> Lease | None:
    """Wait for the lease of the run and for its worker's lock; return None on a signal, or if another node keeps them.

    The lock is released again for the worker; the lease is held until the job ends.
    """
    deadline = time.monotonic() + 600.0
    while True:
        try:
            with run.hold_lock():
                pass
            return stack.enter_context(hold_lease(run, job.owner))
        except LockHeldError as error:
            if time.monotonic() > deadline:
                return None
            print(f"waiting: {printable(str(error))}")
        if signal.sigtimedwait(SIGNALS, 5.0):
            return None


class Worker:
    """The worker and the signals that it gets."""

    def __init__(self, run: RunDirectory, job: SlurmJob, data_dir: Path) -> None:
        self._job = job
        self.is_stopped_by_user = self.is_signalled = False
        arguments = worker_arguments(run, data_dir, queued=True)
        self.process = subprocess.Popen(
            [sys.executable, "-P", *arguments],
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_UNBLOCK, {*SIGNALS, signal.SIGCHLD}) and None,
        )

    def wait(self, lease: Lease) -> None:
        """Wait for the worker; a signal makes it save and end, the one for the time limit not too early.

        A worker whose run another node has taken over is killed, so that it writes nothing more.
        """
        stop_at = float("inf")
        while self.process.poll() is None:
            if lease.is_taken:
                self.process.kill()
            received = signal.sigtimedwait({*SIGNALS, signal.SIGCHLD}, max(0.0, min(0.5, stop_at - time.time())))
            number = received.si_signo if received else 0
            self.is_signalled |= number in SIGNALS
            if number == signal.SIGINT:
                self.is_stopped_by_user = True
            if number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR2):
                stop_at = 0.0
            elif number == signal.SIGUSR1:
                stop_at = min(stop_at, time.time() + self._spare_seconds())
            if time.time() >= stop_at:
                stop_at = float("inf")
                # A worker may get USR1 many times. Slurm may send it TERM as well, and a second TERM would end it.
                self.process.send_signal(signal.SIGUSR1)

    def _spare_seconds(self) -> float:
        """Return how long the worker may go on: Slurm warns up to a minute early, and jobs may be short."""
        job = commands.find_job(self._job.id)
        if job is None or job.end is None or job.start is None:
            return 0.0
        needed = min(WARNING_SECONDS, (job.end - job.start) / 4)
        return max(0.0, job.end - time.time() - needed)


def requeue(run: RunDirectory, job: SlurmJob, arguments: argparse.Namespace) -> int:
    """Let the job start again, or submit another one where the node may not requeue its own; return its exit code."""
    if limit := describe_limit(read_events(run), modified_time(run.checkpoint), arguments.max_requeues):
        record_failure(run, limit)
        return 1
    try:
        commands.call("scontrol", "requeue", job.id)
    except commands.SlurmError as error:
        print(f"{error}; a follow-up job continues the run")
        script = run.runs_dir / SUBMISSIONS / job.name / f"{arguments.array}.sh"
        array_job = commands.submit(str(script), f"--array={job.task}", f"--dependency=afterany:{job.id}")
        append_event(run, FollowUp(time=time.time(), job=f"{array_job}_{job.task}", name=job.name))
    return REQUEUED


def decide(run: RunDirectory, job: SlurmJob, retries: int, *, is_stopped_by_user: bool) -> str:
    """Return the outcome; a cancelled job must not come back, and a preempted one comes back without our help."""
    event = read_last_event(run.journal) or {}
    if event.get("event") == RunState.FINISHED:
        return "finished"
    if event.get("event") == RunState.FAILED:
        may_retry = event.get("kind") not in PERMANENT_FAILURES and count_failures(read_events(run)) < retries
        return "requeued" if may_retry else "failed"
    if is_stopped_by_user:
        return "stopped"
    queued = commands.find_job(job.id)
    is_ended = queued is not None and queued.state != "RUNNING" and queued.reason != "TimeLimit"
    return "ended by Slurm" if is_ended else "requeued"


def record_failure(run: RunDirectory, reason: str, kind: str = "") -> None:
    """Record a failure in the journal."""
    message = f"{reason}; `clarinet resume {run.id}` tries it again"
    iteration = (read_last_event(run.journal) or {}).get("iteration")
    failed = Failed(iteration=iteration or 0, message=message, kind=kind)
    with run.hold_lock():
        append_failure(run.journal, failed)
    print(f"clarinet: {message}")


if __name__ == "__main__":
    sys.exit(main())
