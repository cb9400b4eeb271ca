"""A history with cells of every kind: complete, partly done, going on, failed, queued, of other protocols."""

from pathlib import Path

from clarinet_tui.queue.queue_file import QueueEntry, update_queue
from clarinet_tui.runs.directory import RunDirectory
from core.resolve import resolve
from tests.support.finished_runs import make_finished_run

COMPLETE = (84.1, 83.0, 84.9, 82.6, 83.8)


def board_runs(runs_dir: Path) -> None:
    """Two presets; on U→M five seeds of CLARINET and one of another protocol, on M→U some of each state."""
    for seed, accuracy in enumerate(COMPLETE, start=1):
        make_finished_run(runs_dir, f"cum{seed}", accuracy, seed=seed)
        make_finished_run(runs_dir, f"gum{seed}", accuracy - 12, seed=seed, method="gac+cdan-e")
        make_finished_run(runs_dir, f"num{seed}", accuracy - 2, seed=seed, method="clarinet-no-t")
    make_finished_run(runs_dir, "odd1", 91.0, seed=1, epochs=9)
    for seed in (1, 2):
        make_finished_run(runs_dir, f"cmu{seed}", 90.0 + seed, seed=seed, task="M->U")
    make_finished_run(runs_dir, "cmu3", None, seed=3, task="M->U", end="failed")
    make_finished_run(runs_dir, "cmu4", 61.5, seed=4, task="M->U", end="running")
    make_finished_run(runs_dir, "csm1", 55.5, seed=1, task="S->M", end="running")
    make_finished_run(runs_dir, "own1", 70.0, seed=1, task="Y->D", preset="quick")
    queue_run(runs_dir, "csm2", seed=2, task="S->M")


def queue_run(runs_dir: Path, name: str, *, seed: int, task: str) -> RunDirectory:
    """A run that waits in a paused queue."""
    run = RunDirectory.create(runs_dir, resolve(preset="smoke", seed=seed, task=task), id=name)
    folder = str(runs_dir.absolute())
    entry = QueueEntry(id=run.id, device="auto", working_directory=folder, data_dir=folder)
    update_queue(runs_dir, lambda queue: queue.with_entries([*queue.entries, entry]).with_paused(True))
    return run
