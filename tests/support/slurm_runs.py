"""Tiny runs on the tests' Slurm."""

import os
import re
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from clarinet_tui.place import LaunchOptions, SlurmOptions
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_lock_owner
from clarinet_tui.slurm.attempts import AttemptEnded
from clarinet_tui.slurm.attempts import read_events as read_attempts
from clarinet_tui.slurm.jobs import Job, read_jobs, refresh_jobs
from clarinet_tui.slurm.place import SlurmPlace
from core.config import RunConfig
from tests.support.forked_python import run_worker
from tests.support.slurm import Cluster
from tests.support.slurm_standin import write_program
from tests.support.supervised import read_state
from tests.support.workers import events_named, make_task, read_events, repeatable, small_config, valid_iterations

LONG: dict[str, Any] = {"epochs": 400, "classifier_rate": 1e-5, "discriminator_rate": 1e-4}
"""Long enough to be interrupted, with rates that do not diverge."""
SHORTER = LONG | {"epochs": 25}
"""Long enough to be interrupted at once, and short enough to finish; all tests compare it with one run at home."""


def tiny_configs(folder: Path, count: int, method: str = "clarinet", **settings: Any) -> list[RunConfig]:
    """Return configs that differ in their seed, with the task's images in `folder`."""
    task = make_task(folder) if not (folder / "photos").exists() else f"{folder / 'photos'}->{folder / 'scans'}"
    settings = {"checkpoint_minutes": 0.01, **settings}
    return [small_config(task, method, seed=seed, **settings) for seed in range(1, count + 1)]


def submit_runs(runs_dir: Path, configs: Sequence[RunConfig], **options: Any) -> list[RunDirectory]:
    sbatch = {"partition": "main", "time": "10", **options.pop("sbatch", {})}
    slurm = SlurmOptions(sbatch=sbatch, **options.pop("slurm", {}))
    return SlurmPlace(runs_dir).submit(
        configs, LaunchOptions.from_paths(runs_dir, runs_dir.parent, slurm=slurm, **options)
    )


def submit_long_run(folder: Path, node: str = "n2", settings: dict[str, Any] = SHORTER, **options: Any) -> RunDirectory:
    configs = tiny_configs(folder, 1, **settings)
    sbatch = {"nodelist": node, **options.pop("sbatch", {})}
    (run,) = submit_runs(folder / "runs", configs, sbatch=sbatch, **options)
    return run


def job_of(run: RunDirectory) -> Job:
    job = read_jobs(run.runs_dir).find(run.id)
    assert job is not None
    return job


def follow(run: RunDirectory) -> str:
    """Ask Slurm now, and return the run's state."""
    refresh_jobs(run.runs_dir, force=True)
    return read_state(run)


def has_trained(run: RunDirectory, iterations: int, attempt: int = 1) -> bool:
    """Return whether an attempt has trained a number of iterations; a run that failed raises AssertionError."""
    names = [fields["event"] for fields in read_events(run)]
    assert "failed" not in names, events_named(run, "failed")
    starts = [index for index, name in enumerate(names) if name in ("started", "resumed")]
    return len(starts) >= attempt and names[starts[attempt - 1] :].count("step") >= iterations


def wait_for_iterations(cluster: Cluster, run: RunDirectory, count: int) -> None:
    cluster.wait_until(lambda: has_trained(run, count))


def signal_job(cluster: Cluster, run: RunDirectory, number: signal.Signals) -> None:
    """Send a signal to the process of the run's job and to its worker."""
    for pid in cluster.call("pgrep", "--full", f"(worker.main|slurm.job) {run.id}").split():
        os.kill(int(pid), number)


def signal_worker(run: RunDirectory, number: signal.Signals) -> None:
    owner = read_lock_owner(run.lock)
    assert owner is not None
    os.kill(owner.pid, number)


def wake_when_signalled(cluster: Cluster, run: RunDirectory, number: signal.Signals) -> None:
    """Let the frozen worker of a run continue as soon as it has got a signal; Slurm does so at the time limit."""
    cluster.wait_until(lambda: attempts_of(run) or _is_pending(run, number))
    with suppress(ProcessLookupError):
        signal_worker(run, signal.SIGCONT)


def _is_pending(run: RunDirectory, number: signal.Signals) -> bool:
    owner = read_lock_owner(run.lock)
    assert owner is not None
    try:
        status = Path(f"/proc/{owner.pid}/status").read_text()
    except FileNotFoundError:
        return False
    pending = re.findall(r"^(?:Sig|Shd)Pnd:\s*(\w+)", status, re.MULTILINE)
    return any(int(mask, 16) >> (number - 1) & 1 for mask in pending)


def refuse_scontrol(folder: Path) -> str:
    """Return a setup line for nodes that may not requeue jobs."""
    write_program(folder, "scontrol", "echo 'scontrol: error: Access denied' >&2; exit 1")
    return f"export PATH={folder}:$PATH"


def assert_no_runs(runs_dir: Path) -> None:
    """Check that a refused submission left neither runs nor jobs in the directory."""
    left = [path for path in runs_dir.rglob("*") if path.is_file() and path.suffix != ".lock"]
    assert [path for path in left if path.name not in ("slurm.json", "clarinet.db")] == []
    assert not read_jobs(runs_dir).jobs


def hurry(cluster: Cluster, *runs: RunDirectory) -> list[Job]:
    """Let requeued jobs start soon, where Slurm delays them; return the jobs of the runs that have not ended."""
    jobs = refresh_jobs(runs[0].runs_dir, force=True)
    left = [job for run in runs if (job := jobs.find(run.id))]
    for job in left:
        is_delayed = job.start is not None and job.start > time.time() + 10  # else `start_soon` was called for it
        if job.state == "PENDING" and job.reason == "BeginTime" and is_delayed:
            cluster.start_soon(job.id)
    return left


def wait_for_end(cluster: Cluster, *runs: RunDirectory, state: str = "finished") -> None:
    """Wait until the runs have no jobs, and check their state; requeued jobs start soon, where Slurm delays them."""
    cluster.wait_until(lambda: not hurry(cluster, *runs))
    for run in runs:
        assert read_state(run) == state, run.log.read_text() if run.log.exists() else "no log"


_numbers_at_home: dict[str, list[dict[str, Any]]] = {}
"""Numbers of local runs by their settings but the task, whose images are the same in every test."""


def train_at_home(run: RunDirectory, folder: Path) -> list[dict[str, Any]]:
    """Return the numbers of a run with the same settings in a local worker, without interruption."""
    key = repr(msgspec.structs.replace(run.read_config(), task=""))
    if key not in _numbers_at_home:
        home = RunDirectory.create(folder, run.read_config(), id=run.id)
        assert run_worker(home) == 0, home.log.read_text()
        _numbers_at_home[key] = recorded_numbers(home)
    return _numbers_at_home[key]


def recorded_numbers(run: RunDirectory) -> list[dict[str, Any]]:
    """Return the valid iterations and evaluations of the journal, without measured times."""
    numbers: list[dict[str, Any]] = []
    for fields in read_events(run):
        if fields["event"] in ("started", "resumed"):
            numbers = [kept for kept in numbers if kept["iteration"] <= fields.get("from_iteration", 0)]
        elif fields["event"] in ("step", "evaluation"):
            numbers.append(repeatable(fields))
    return numbers


def assert_like_home(run: RunDirectory, folder: Path) -> None:
    """Compare the run's numbers with those of an uninterrupted run: each iteration once, and all equal."""
    iterations = valid_iterations(run)
    assert iterations == list(range(1, len(iterations) + 1))
    assert recorded_numbers(run) == train_at_home(run, folder)


def attempts_of(run: RunDirectory) -> list[str]:
    """Return the outcomes of the run's attempts on Slurm."""
    return [event.outcome for event in read_attempts(run) if isinstance(event, AttemptEnded)]
