"""Several supervisors of one runs directory, or workers of one run, start at the same time: one remains."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.runs.lock import read_lock_owner
from tests.support.scale import rounds
from tests.support.supervised import (
    enqueue_directly,
    last_event,
    make_fault_run,
    read_logs,
    read_worker_starts,
    start_supervisor,
    supervisor_pid,
    wait_until,
)
from tests.support.workers import start_worker_process

Process = subprocess.Popen[Any]


def test_one_supervisor_remains_and_starts_each_run_once(runs: Path) -> None:
    update_queue(runs, lambda queue: queue.with_slots({"cpu": 4}))
    for attempt in range(rounds(2, 20)):
        queued = [make_fault_run(runs, f"run{attempt}x{number}", "steps=3") for number in range(2)]
        enqueue_directly(*queued)
        with killed_at_exit([start_supervisor(runs) for _ in range(3)]) as supervisors:
            survivor, *others = survivor_first(supervisors, runs)
            assert [process.returncode for process in others] == [0, 0]
            wait_until(lambda: not read_queue(runs).entries, runs)
            assert supervisor_pid(runs) == survivor.pid
        assert [(last_event(run), len(read_worker_starts(run))) for run in queued] == [("finished", 1)] * 2, read_logs(
            runs
        )


def test_one_of_two_workers_remains_and_holds_the_lock(runs: Path) -> None:
    run = make_fault_run(runs, "one")
    for _ in range(rounds(2, 20)):
        with killed_at_exit([start_worker_process(run), start_worker_process(run)]) as workers:
            survivor, refused = survivor_first(workers, runs)
            assert refused.returncode == 2
            owner = read_lock_owner(run.lock)
            assert owner is not None
            assert owner.pid == survivor.pid
            assert f"run one is locked by process {survivor.pid} on" in run.log.read_text()


@contextmanager
def killed_at_exit(processes: list[Process]) -> Iterator[list[Process]]:
    try:
        yield processes
    finally:
        for process in processes:
            process.kill()
            process.wait()


def survivor_first(processes: list[Process], runs: Path) -> list[Process]:
    wait_until(lambda: sum(process.poll() is None for process in processes) == 1, runs)
    return sorted(processes, key=lambda process: process.poll() is not None)
