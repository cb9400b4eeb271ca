"""--on and --slurm of run, sweep and resume: from the command line, the environment and the sweep file."""

from pathlib import Path

import pytest

from clarinet_tui.runs.directory import list_run_ids
from clarinet_tui.slurm.jobs import read_jobs
from tests.support.cli import invoke
from tests.support.slurm import Cluster

SMOKE = ("--preset", "smoke", "--epochs", "1")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sweep", "--slurm", "time=10"], "--slurm: needs --on slurm"),
        (["run", "--headless", "--on", "slurm"], "--headless trains in this terminal"),
        (["run", "--headless", "--dry-run"], "--dry-run prints a batch script: it needs --on slurm"),
        (["sweep", "--on", "slurm", "--slurm", "output=x"], "--slurm: output: cannot be set"),
        (["sweep", "--on", "slurm", "--priority", "2"], "--priority: only administrators of Slurm raise priorities"),
        (["sweep", "--on", "slurm", "--time-limit", "1h"], "--time-limit: is not for Slurm jobs"),
    ],
)
def test_contradicting_options_are_named(tmp_path: Path, arguments: list[str], message: str) -> None:
    assert message in str(invoke(tmp_path / "runs", *arguments, *SMOKE).exception)
    assert list_run_ids(tmp_path / "runs") == []


def test_a_wrong_place_in_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    for content, message in (('on = "moon"', "on: expected local or slurm"), ("slurm = 3", "slurm: expected a table")):
        file.write_text(content)
        assert message in str(invoke(tmp_path / "runs", "sweep", str(file)).exception)


@pytest.mark.slurm
def test_a_dry_run_prints_the_scripts_of_the_file_and_submits_nothing(cluster: Cluster, tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text('on = "slurm"\nseeds = "1..3"\n[slurm]\npartition = "main"\ncpus-per-task = 2\nsetup = "true"\n')
    result = invoke(tmp_path / "runs", "sweep", str(file), *SMOKE, "--slurm", "partition=high", "--dry-run")
    assert result.exit_code == 0, result.exception
    assert result.stdout.count("#SBATCH --partition=high") == 2
    assert "#SBATCH --array=0-1\n" in result.stdout
    assert "#SBATCH --array=0-0\n" in result.stdout
    assert "\n{ true\n}" in result.stdout
    assert not (tmp_path / "runs").exists()
    assert not cluster.call("squeue", "-h").strip()


@pytest.mark.slurm
def test_the_environment_chooses_slurm(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARINET_ON", "slurm")
    runs_dir = tmp_path / "runs"
    result = invoke(runs_dir, "sweep", *SMOKE, "--paused", "--slurm", "cpus-per-task=2")
    assert result.exit_code == 0, result.exception
    result = invoke(runs_dir, "run", *SMOKE, "--run-id", "job17")
    assert "job17 queued on Slurm" in result.stdout
    (sweep,) = (run for run in list_run_ids(runs_dir) if run != "job17")
    assert {job.run for job in read_jobs(runs_dir).jobs} == {"job17", sweep}
    assert "threads = 2" in (runs_dir / sweep / "config.toml").read_text()
    result = invoke(runs_dir, "queue", "cancel", "--all")
    assert "cancelled" in result.stdout
    assert sweep not in {job.run for job in read_jobs(runs_dir).jobs}
    monkeypatch.delenv("CLARINET_ON")
    result = invoke(runs_dir, "resume", sweep)
    assert result.exit_code == 0, result.exception
    assert sweep in {job.run for job in read_jobs(runs_dir).jobs}
