"""The first listing of many runs: `python -m benchmarks.first_ingest [--runs N] [--iterations N]`.

Writes run directories with copies of one journal, ingests them into a new history as the first `clarinet ls` does, and
prints the time, the CPU time of all processes, and how often progress was shown.
"""

import argparse
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.histories import make_journals
from clarinet_tui.history.database import Database
from clarinet_tui.history.ingest import ingest_all

GOAL = 20.0
"""Seconds for 5000 runs of 1000 iterations on two cores that do nothing else."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_ingest", description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--iterations", type=int, default=1000)
    arguments = parser.parse_args()
    with TemporaryDirectory() as folder:
        make_journals(Path(folder), arguments.runs, arguments.iterations, evaluations=10)
        steps: list[int] = []
        with Database.open(Path(folder)) as db:
            before, wall = os.times(), time.perf_counter()
            ingest_all(db, Path(folder), lambda done, total: steps.append(done))
            wall, after = time.perf_counter() - wall, os.times()
            (count,) = db.tuples("SELECT count(*) FROM iterations")[0]
    assert count == arguments.runs * arguments.iterations
    cpu = sum(after[:4]) - sum(before[:4])
    goal = GOAL * count / 5_000_000
    print(
        f"first ingest of {arguments.runs} runs of {arguments.iterations} iterations: {wall:.1f} s, "
        f"CPU {cpu:.1f} s on {len(os.sched_getaffinity(0))} cores, progress {len(set(steps))} times; "
        f"goal ≤ {goal:g} s: {'met' if wall <= goal else 'MISSED'}"
    )


if __name__ == "__main__":
    main()
