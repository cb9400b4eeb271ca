"""States of runs with jobs, from the journal and Slurm's last answer."""

import time
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.job_file import Job, Jobs, update_jobs
from clarinet_tui.slurm.monitor import refresh_jobs
from core.events import Failed, Finished, Stopped
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.supervised import read_state

FINISHED = Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)


def set_job(run: RunDirectory, answered_at: float, **fields: object) -> None:
    """Store a job of the run, with an answer of Slurm that is not asked for again."""
    job = Job(run=run.id, id="1_0", name="clarinet-00000000", submitted_at=time.time(), **fields)  # type: ignore[arg-type]
    update_jobs(run.runs_dir, lambda jobs: Jobs(checked_at=time.time(), answered_at=answered_at, jobs=(job,)))


def test_a_waiting_job_is_queued_also_after_an_attempt(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    set_job(run, time.time())
    assert read_state(run) == "queued"
    write_events(run, [started(), step(1), Stopped(iteration=1)])
    assert read_state(run) == "queued"


def test_a_journal_newer_than_the_answer_shows_that_the_run_has_started(tmp_path: Path) -> None:
    """As while the controller does not answer."""
    run = make_run(tmp_path)
    set_job(run, time.time() - 60)
    with run.hold_lock():
        write_events(run, [started(), step(1)])
        assert read_state(run) == "running"
        set_job(run, time.time() + 60)
        assert read_state(run) == "queued"


@pytest.mark.parametrize(("event", "state"), [(FINISHED, "finished"), (Failed(iteration=1, message="no"), "failed")])
def test_a_run_that_ended_after_the_answer_does_not_wait(tmp_path: Path, event: Finished | Failed, state: str) -> None:
    """As when the run ends while the controller does not answer."""
    run = make_run(tmp_path)
    set_job(run, time.time() - 60)
    write_events(run, [started(), step(1), event])
    assert read_state(run) == state
    set_job(run, time.time() + 60)
    assert read_state(run) == "queued"


@pytest.mark.parametrize(
    ("event", "state"),
    [
        (FINISHED, "finished"),
        (Failed(iteration=1, message="no"), "failed"),
        (Stopped(iteration=1), "starting"),
    ],
)
def test_a_recorded_end_counts_before_the_job_has_ended(
    tmp_path: Path, event: Finished | Failed | Stopped, state: str
) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1), event])
    set_job(run, time.time() + 60, state="RUNNING")
    assert read_state(run) == state


def test_a_run_that_was_asked_to_stop_is_stopped(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    write_events(run, [started(), step(1), Stopped(iteration=1)])
    set_job(run, time.time() + 60, state="COMPLETING", kill_at=time.time() + 60)
    assert read_state(run) == "stopped"


def test_a_controller_that_does_not_answer_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    set_job(run, 5.0, state="RUNNING")
    monkeypatch.setenv("PATH", str(tmp_path))
    jobs = refresh_jobs(tmp_path, force=True)
    assert (jobs.problem.startswith("slurm: squeue is not installed"), jobs.answered_at) == (True, 5.0)
    assert [job.run for job in jobs.jobs] == [run.id]
