"""kill -9 of a worker at random moments: resumed, it tells the same numbers as a run that was left alone."""

import random
import signal
import time
from pathlib import Path
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from tests.support.child_processes import born, lived
from tests.support.scale import rounds
from tests.support.supervised import recorded
from tests.support.workers import make_task, records, said, tiny_run

KILLS = rounds(3, 20)
EPOCHS = rounds(7, 40)
RATES = {"classifier_rate": 1e-5, "discriminator_rate": 1e-4}
"""So that so few images are learned from for long without losing all measure."""
SETTINGS: dict[str, Any] = {
    "epochs": EPOCHS,
    "stage1": {"epochs": EPOCHS},
    "checkpoint_minutes": 0.001,
    **RATES,
}


def test_a_killed_run_tells_each_iteration_once_and_the_same_numbers(tmp_path: Path) -> None:
    task = make_task(tmp_path)
    alone, killed = (tiny_run(tmp_path / name, task, name, **SETTINGS) for name in ("alone", "killed"))
    assert lived(alone) == 0, alone.log.read_text()
    chance = random.Random(20)
    for _ in range(KILLS):
        kill(killed, chance)
        assert steps_that_count(killed) == list(range(1, len(steps_that_count(killed)) + 1))
    assert lived(killed) == 0, killed.log.read_text()
    assert len(said(killed, "started") + said(killed, "resumed")) == KILLS + 1
    assert steps_that_count(killed) == list(range(1, said(killed, "started")[0]["iterations_total"] + 1))
    assert recorded(killed) == recorded(alone)
    for run in (alone, killed):
        assert len(said(run, "finished")) == 1


def kill(run: RunDirectory, chance: random.Random) -> None:
    """Some iterations further, and at no moment in particular."""
    process = born(run)
    sittings = len(said(run, "started") + said(run, "resumed"))
    more = len(said(run, "step")) + chance.randint(1, 10)
    while len(said(run, "step")) < more or len(said(run, "started") + said(run, "resumed")) == sittings:
        assert process.poll() is None, run.log.read_text()
        time.sleep(0.005)
    time.sleep(chance.random() / 20)
    process.kill()
    assert process.wait() == -signal.SIGKILL


def steps_that_count(run: RunDirectory) -> list[int]:
    """Iterations in the journal's order, without those that were taken back."""
    found: list[int] = []
    for fields in records(run):
        if fields["event"] in ("started", "resumed"):
            found = [at for at in found if at <= fields.get("from_iteration", 0)]
        elif fields["event"] == "step":
            found.append(fields["iteration"])
    return found
