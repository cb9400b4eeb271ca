"""States of runs with jobs, from the journal and Slurm's last answer."""

import os
import shutil
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clarinet_tui.queue import requests
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.attempts import JobEnded, read_events
from clarinet_tui.slurm.jobs import Job, Jobs, describe_wait, read_jobs, refresh_jobs, update_jobs
from core.errors import InputError
from core.events import Failed, Finished, Stopped
from tests.support.events import started, step
from tests.support.histories import make_run, write_events
from tests.support.slurm_standin import write_program
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


def test_a_copied_directory_cancels_no_job_of_the_original(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, copies = make_run(tmp_path / "runs"), tmp_path / "copies"
    set_job(run, 5.0, state="RUNNING", kill_at=1.0)
    update_jobs(run.runs_dir, lambda jobs: msgspec.structs.replace(jobs, unfinished=("clarinet-11111111",)))
    shutil.copytree(run.runs_dir, copies)
    shutil.move(run.runs_dir, tmp_path / "moved")
    calls = tmp_path / "calls"
    answer(monkeypatch, tmp_path / "bin", squeue=queued("clarinet-00000000", time.time()))
    write_program(tmp_path / "bin", "scancel", f'echo "$@" >> {calls}')
    assert refresh_jobs(copies, force=True).jobs == ()
    with pytest.raises(InputError, match="is not running"):
        requests.stop(RunDirectory(copies, run.id))
    assert not calls.exists()
    assert [job.run for job in refresh_jobs(tmp_path / "moved", force=True).jobs] == [run.id]
    assert "clarinet-11111111" in calls.read_text()


def answer(monkeypatch: pytest.MonkeyPatch, folder: Path, **programs: str) -> None:
    """Put programs of Slurm that print these lines before all others; those without lines fail."""
    failure = "echo 'error: Slurm accounting storage is disabled' >&2; exit 1"
    for name, lines in programs.items():
        write_program(folder, name, f"printf '%s' '{lines}'" if lines else failure)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def queued(name: str, submitted: float) -> str:
    """Return the line of `squeue` for job 1_0, which runs."""
    return f"1_0|{name}|RUNNING|None|N/A|{submitted:.0f}|N/A|n1|1|0\n"


OTHER = "7_0|other|RUNNING|None|N/A|N/A|N/A|n1|1|0\n"


@pytest.mark.parametrize(
    ("account", "state", "is_failed"),
    [
        ("1_0|clarinet-00000000|OUT_OF_MEMORY\n", "OUT_OF_MEMORY", True),
        ("1_0|clarinet-00000000|CANCELLED by 0\n", "CANCELLED", False),
        ("1_0|clarinet-00000000|RUNNING\n", "", False),
        ("1_0|clarinet-11111111|FAILED\n", "", False),
        ("1_0|FAILED\nnonsense\n", "", False),
        ("", "", False),
    ],
    ids=["ended", "cancelled", "never closed", "of a recycled id", "unreadable", "no accounting"],
)
def test_accounts_show_how_a_forgotten_job_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, account: str, state: str, is_failed: bool
) -> None:
    """A run that never started is failed only if an account of this very job gives a reason."""
    run = make_run(tmp_path / "runs")
    set_job(run, 5.0, state="RUNNING")
    answer(monkeypatch, tmp_path / "bin", squeue=OTHER, sacct=account)
    assert refresh_jobs(run.runs_dir, force=True).jobs == ()
    (ended,) = read_events(run)
    assert isinstance(ended, JobEnded)
    assert ended.state == state
    assert (read_state(run) == "failed") is is_failed


@pytest.mark.parametrize(("name", "age"), [("clarinet-00000000", 86400), ("clarinet-11111111", 0)])
def test_a_recycled_id_is_another_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, age: int) -> None:
    """A row with another name, or with an earlier time, does not keep the run's job."""
    run = make_run(tmp_path / "runs")
    set_job(run, 5.0, state="RUNNING")
    answer(monkeypatch, tmp_path / "bin", squeue=queued(name, time.time() - age), sacct="")
    refresh_jobs(run.runs_dir, force=True)
    assert read_jobs(run.runs_dir).jobs == ()


def test_waiting_jobs_are_in_the_order_of_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [make_run(tmp_path / "runs", f"run{number}") for number in range(4)]
    name = "clarinet-00000000"
    jobs = tuple(Job(run=run.id, id=f"9_{task}", name=name, submitted_at=1.0) for task, run in enumerate(runs))
    update_jobs(tmp_path / "runs", lambda table: table.with_jobs(jobs))
    priorities = ((0, "PENDING", 7), (1, "PENDING", 0), (2, "PENDING", 9), (3, "RUNNING", 5))
    rows = "".join(f"9_{task}|{name}|{state}|None|N/A|9|N/A||{top}|0\n" for task, state, top in priorities)
    answer(monkeypatch, tmp_path / "bin", squeue=rows)
    assert [job.run for job in refresh_jobs(tmp_path / "runs", force=True).jobs] == ["run3", "run2", "run0", "run1"]


def test_a_waiting_job_shows_its_reason_and_when_it_may_start() -> None:
    soon = time.time() + 60
    fields: dict[str, Any] = {"run": "abc", "id": "1_0", "name": "clarinet-00000000", "submitted_at": 1.0}
    clock = time.strftime("%H:%M", time.localtime(soon))
    assert describe_wait(Job(**fields, reason="Priority", start=soon)) == f"Priority, from {clock}"
    assert describe_wait(Job(**fields, reason="JobHeldUser", start=soon)) == "JobHeldUser"
    assert describe_wait(Job(**fields, reason="")) == "pending"
