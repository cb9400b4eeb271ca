"""A thousand runs on a cluster: `python -m benchmarks.cluster [--runs N] [--training N]`.

Writes run directories of which some train as Slurm jobs, appends a second of training to each of these, and lets the
history follow: once with nothing new, once with the new iterations. Slurm is not asked.
"""

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.histories import make_journals, make_run, started, training_events
from clarinet_tui.history.database import Database
from clarinet_tui.history.states import update_history
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.slurm.jobs import Job, Jobs, update_jobs

RATE = 20
"""Iterations that each run trains in a second."""
GOAL = 1.0
"""Seconds for a look at 1000 runs, of which 100 have trained for a second."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--training", type=int, default=100, help="how many of them train")
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        runs_dir = Path(folder)
        make_journals(runs_dir, arguments.runs - arguments.training, 1000, evaluations=10)
        training = [make_run(runs_dir, f"job{number:05}", "clarinet", number) for number in range(arguments.training)]
        add_jobs(runs_dir, training)
        for run in training:
            with JournalWriter(run.journal) as journal:
                journal.append(started(1000))
        with Database.open(runs_dir) as db:
            follow(db, runs_dir)
            idle = follow(db, runs_dir)
            for run in training:
                train_a_second(run)
            wall = follow(db, runs_dir)
    verdict = "met" if wall <= GOAL else "MISSED"
    print(f"a look at {arguments.runs} runs, {arguments.training} of them Slurm jobs: {idle:.2f} s without news")
    new = RATE * arguments.training
    print(f"the same with {new} new iterations: {wall:.2f} s, {new / wall:.0f} a second; goal ≤ {GOAL:g} s: {verdict}")


def add_jobs(runs_dir: Path, runs: list[RunDirectory]) -> None:
    """List the runs as jobs that run, as Slurm has answered."""
    now = time.time()
    jobs = tuple(
        Job(run=run.id, id=f"1_{task}", name="clarinet-00000000", submitted_at=now, state="RUNNING")
        for task, run in enumerate(runs)
    )
    update_jobs(runs_dir, lambda _: Jobs(answered_at=now, jobs=jobs))


def train_a_second(run: RunDirectory) -> None:
    with JournalWriter(run.journal) as journal:
        for event in training_events(RATE, 1):
            journal.append(event)


def follow(db: Database, runs_dir: Path) -> float:
    """Update the history, and return the seconds that it takes; Slurm's answer stays recent."""
    update_jobs(runs_dir, lambda jobs: msgspec.structs.replace(jobs, checked_at=time.time()))
    begun = time.perf_counter()
    update_history(db, runs_dir)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
