"""kill -9 of a worker at random moments: the resumed run records the same numbers as an undisturbed one."""

import random
import signal
import time
from pathlib import Path
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from tests.support.forked_python import run_worker, start_worker
from tests.support.scale import rounds
from tests.support.supervised import read_metric_tables
from tests.support.workers import events_named, make_task, tiny_run, valid_iterations

KILLS = rounds(3, 20)
EPOCHS = rounds(7, 40)
SETTINGS: dict[str, Any] = {"epochs": EPOCHS, "stage1": {"epochs": EPOCHS}, "checkpoint_minutes": 0.001}
SETTINGS |= {"classifier_rate": 1e-5, "discriminator_rate": 1e-4}  # long training on few images must not diverge


def test_a_killed_run_records_each_iteration_once_with_the_same_numbers(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    undisturbed, killed = (tiny_run(tmp_path / name, task, name, **SETTINGS) for name in ("undisturbed", "killed"))
    assert run_worker(undisturbed) == 0, undisturbed.log.read_text()
    rng = random.Random(20)
    for _ in range(KILLS):
        kill_worker(killed, rng)
        assert valid_iterations(killed) == list(range(1, len(valid_iterations(killed)) + 1))
    assert run_worker(killed) == 0, killed.log.read_text()
    assert len(events_named(killed, "started") + events_named(killed, "resumed")) == KILLS + 1
    assert valid_iterations(killed) == list(range(1, events_named(killed, "started")[0]["iterations_total"] + 1))
    assert read_metric_tables(killed) == read_metric_tables(undisturbed)
    for run in (undisturbed, killed):
        assert len(events_named(run, "finished")) == 1


def kill_worker(run: RunDirectory, rng: random.Random) -> None:
    """Start the run's worker and kill it at a random moment some iterations later."""
    process = start_worker(run)
    attempts = len(events_named(run, "started") + events_named(run, "resumed"))
    goal = len(events_named(run, "step")) + rng.randint(1, 10)
    while (
        len(events_named(run, "step")) < goal
        or len(events_named(run, "started") + events_named(run, "resumed")) == attempts
    ):
        assert process.poll() is None, run.log.read_text()
        time.sleep(0.005)
    time.sleep(rng.random() / 20)
    process.kill()
    assert process.wait() == -signal.SIGKILL
