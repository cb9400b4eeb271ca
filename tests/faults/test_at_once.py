"""Supervisors, and workers of one run, that are started at the same instant: one of each remains."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clarinet_tui.queue.queue_file import change_queue, read_queue
from clarinet_tui.runs.lock import read_holder
from tests.support.scale import rounds
from tests.support.supervised import begun, feed, logs, make, present, put, until, word
from tests.support.workers import start

Process = subprocess.Popen[Any]


def test_one_of_several_supervisors_remains_and_begins_each_run_once(runs: Path) -> None:
    change_queue(runs, lambda queue: queue.with_slots({"cpu": 4}))
    for turn in range(rounds(2, 20)):
        every = [make(runs, f"run{turn}x{number}", "steps=3") for number in range(2)]
        put(*every)
        with together([feed(runs) for _ in range(3)]) as crowd:
            left, *others = survivor_first(crowd, runs)
            assert [one.returncode for one in others] == [0, 0]
            until(lambda: not read_queue(runs).entries, runs)
            assert present(runs) == left.pid
        assert [(word(run), len(begun(run))) for run in every] == [("finished", 1)] * 2, logs(runs)


def test_one_of_two_workers_remains(runs: Path) -> None:
    run = make(runs, "one")
    for _ in range(rounds(2, 20)):
        with together([start(run), start(run)]) as pair:
            left, gone = survivor_first(pair, runs)
            assert gone.returncode == 2
            holder = read_holder(run.lock)
            assert holder is not None
            assert holder.pid == left.pid
            assert f"run one is in the hands of process {left.pid} on" in run.log.read_text()


@contextmanager
def together(processes: list[Process]) -> Iterator[list[Process]]:
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def survivor_first(processes: list[Process], runs: Path) -> list[Process]:
    until(lambda: sum(process.poll() is None for process in processes) == 1, runs)
    return sorted(processes, key=lambda process: process.poll() is not None)
