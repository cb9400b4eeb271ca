"""Slurm in the app's texts: the launch form's device, options and command, and the partitions in Devices."""

import time
from dataclasses import replace
from pathlib import Path

from clarinet_tui.devices.device import Partition
from clarinet_tui.place import PlaceName
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.jobs import Job, Jobs, describe_wait, update_jobs
from clarinet_tui.slurm.place import SlurmPlace
from clarinet_tui.ui.launch_check import check_form
from clarinet_tui.ui.launch_form import LaunchForm
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.text.devices import format_partition
from clarinet_tui.ui.text.launch import device_choices
from core.config import RunConfig

SLURM = PlaceName.SLURM
MAIN = Partition("main", True, "up", "1:00:00", "1/3/0/4", "4/12/0/16", "gpu:1")


def test_slurm_is_offered_where_it_has_partitions() -> None:
    assert SLURM not in [choice.value for choice in device_choices("auto", MachineSnapshot(), 80)]
    choices = list(device_choices(SLURM, MachineSnapshot(partitions=(MAIN,)), 80))
    assert [choice.value for choice in choices] == ["auto", SLURM]
    assert choices[1].role == ""


def test_the_command_has_the_options_of_slurm() -> None:
    form = LaunchForm(device=SLURM, slurm="partition=main time=02:00:00 setup='module load cuda'", preset="smoke")
    checked = check_form(form)
    assert checked.command.endswith(
        "--preset smoke --on slurm --slurm partition=main --slurm time=02:00:00 --slurm 'setup=module load cuda'"
    )
    assert checked.slurm is not None
    assert checked.slurm.sbatch == {"partition": "main", "time": "02:00:00"}


def test_wrong_options_are_named_in_their_field() -> None:
    form = LaunchForm(device=SLURM, slurm="job-name=x")
    assert check_form(form).problems == {"slurm": "slurm: job-name: cannot be set: jobs are found by their name"}
    assert check_form(replace(form, slurm="comment='x")).problems == {"slurm": "No closing quotation"}
    assert check_form(replace(form, device="auto")).slurm is None


def test_a_partition_shows_its_idle_nodes() -> None:
    line = format_partition(MAIN, 100).plain
    assert line == " slurm   main (default)  3 of 4 nodes idle, 1 in use  limit 1:00:00  gpu:1"


def test_jobs_are_rows_of_the_queue(tmp_path: Path) -> None:
    waiting = Job(run="abc", id="1_0", name="clarinet-00000000", submitted_at=9e9, reason="Priority")
    running = Job(run="def", id="1_1", name="clarinet-00000000", submitted_at=9e9, state="RUNNING", node="n2")
    update_jobs(tmp_path, lambda jobs: Jobs(checked_at=time.time(), jobs=(waiting, running)))
    RunDirectory.create(tmp_path, RunConfig(seed=3), id="def")
    first, second = SlurmPlace(tmp_path).list_runs()
    assert (first.id, first.started_on, first.seed, first.position) == ("def", "n2", 3, 0)
    assert (second.id, second.method, second.position, second.wait_reason) == ("abc", "?", 1, describe_wait(waiting))
