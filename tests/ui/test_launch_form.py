"""Checking a launch form without a screen."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Partition
from clarinet_tui.place import PlaceName
from clarinet_tui.queue.sweep import expand_grid
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.slurm.jobs import Job, Jobs, describe_wait, update_jobs
from clarinet_tui.slurm.place import SlurmPlace
from clarinet_tui.ui.launch_check import check_form
from clarinet_tui.ui.launch_form import LaunchForm, allowed_values, list_settings, make_form, parse_values
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.text.devices import format_partition
from clarinet_tui.ui.text.launch import device_choices
from core.config import RunConfig
from core.resolve import resolve

FIELDS = {field.name: field for field in list_settings()}


def test_the_form_is_a_grid_and_a_command_line() -> None:
    form = LaunchForm(("clarinet", "gac+dan"), ("U->M", "Y->D"), seeds="1..5", preset="smoke", device="cpu")
    checked = check_form(form.with_setting("stage1.epochs", "7"))
    assert checked.problems == {}
    assert checked.grid is not None
    assert len(checked.grid) == 20
    assert checked.command == (
        "clarinet sweep --methods clarinet,gac+dan --tasks 'U->M,Y->D' --seeds 1..5 "
        "--preset smoke --device cpu --set stage1.epochs=7"
    )
    assert {config.stage1.epochs for config in expand_grid(checked.grid)} == {7}


def test_sweep_and_tags_are_options_of_the_command() -> None:
    checked = check_form(LaunchForm(seeds="1..2", sweep=" first ", tags="icml new icml"))
    assert checked.grid is not None
    assert {config.sweep for config in expand_grid(checked.grid)} == {"first"}
    assert checked.tags == ("icml", "new")
    assert checked.command.startswith("clarinet sweep --name first --methods ")
    assert checked.command.endswith(" --tag icml --tag new")
    assert make_form(expand_grid(checked.grid)[0]).sweep == "", "a clone is not a part of the sweep"


def test_several_values_of_a_number_are_another_dimension() -> None:
    checked = check_form(LaunchForm(settings={"epochs": "3, 5", "name": "one, two"}))
    assert checked.grid is not None
    assert len(checked.grid) == 2
    assert [config.epochs for config in expand_grid(checked.grid)] == [3, 5]
    assert {config.name for config in expand_grid(checked.grid)} == {"one, two"}


@pytest.mark.parametrize(
    ("form", "field", "message"),
    [
        (LaunchForm(methods=()), "methods", "select at least one"),
        (LaunchForm(tasks=()), "tasks", "select at least one"),
        (LaunchForm(other_tasks="photos->scans"), "tasks", '"photos" is neither a folder'),
        (LaunchForm(seeds="1.."), "seeds", "expected seeds such as 1..5"),
        (LaunchForm(seeds="1,1"), "seeds", "occurs twice"),
        (LaunchForm(seeds="3000000000"), "seeds", "expected an integer"),
        (LaunchForm(seeds="1..10001", methods=("clarinet", "gac")), "runs", "more than 10000"),
        (LaunchForm(tags="x" * 65), "tags", "expected 1 to 64 printable"),
        (LaunchForm(sweep="x" * 101), "sweep", "expected 1 to 100 printable"),
        (LaunchForm(settings={"epochs": "ten"}), "epochs", 'epochs: expected an integer ≥ 1, got "ten"'),
        (LaunchForm(settings={"stage1.rate": "0"}), "stage1.rate", "expected a number > 0, got 0"),
        (LaunchForm(("clarinet-no-t",), settings={"scatter": "0.3"}), "scatter", "clarinet-no-t is defined by scatter"),
        (LaunchForm(settings={"epochs": "3,x"}), "epochs", 'got "x"'),
    ],
)
def test_errors_are_reported_by_field(form: LaunchForm, field: str, message: str) -> None:
    checked = check_form(form)
    assert checked.grid is None
    assert checked.command == ""
    assert list(checked.problems) == [field]
    assert message in checked.problems[field]


def test_defaults_follow_preset_methods_and_tasks() -> None:
    usual = check_form(LaunchForm(("clarinet", "gac+dann"), preset="paper")).defaults
    assert usual["classifier_rate"] == "5e-05 or 0.005"
    assert usual["optimizer"] == "sgd"
    assert set(usual) == set(FIELDS)


def test_custom_folders_are_tasks(tmp_path: Path) -> None:
    for name in ("photos", "scans"):
        (tmp_path / name).mkdir()
    checked = check_form(LaunchForm(tasks=(), other_tasks=f"{tmp_path}/photos->{tmp_path}/scans, M->D"))
    assert [task.is_custom for task in checked.tasks] == [True, False]
    assert checked.grid is not None


def test_the_form_of_a_run_gives_the_same_run() -> None:
    settings = {"method": "gac+dan", "task": "M->D", "seed": 7, "preset": "quick", "device": "cpu", "epochs": 9}
    settings |= {"momentum": 0.123456789012, "channels_last": False, "stage1": {"rate": 3e-5}, "usps_split": "80/20"}
    config = resolve(settings)
    form = make_form(config)
    assert (form.tasks, form.other_tasks, form.seeds) == ((), "M->D", "7")
    checked = check_form(form)
    assert checked.grid is not None
    assert expand_grid(checked.grid) == [config]


def test_values_are_parsed_by_type_and_empty_text_leaves_a_setting_to_the_preset() -> None:
    form = LaunchForm().with_setting("epochs", " 5 ")
    assert form.settings == {"epochs": "5"}
    assert form.with_setting("epochs", " ").settings == {}
    assert parse_values(FIELDS["epochs"], "3") == [3]
    assert parse_values(FIELDS["compile"], "true, false") == [True, False]
    assert parse_values(FIELDS["usps_split"], "80/20") == ["80/20"]
    assert parse_values(FIELDS["weights"], "a,b.pt") == ["a,b.pt"]
    assert allowed_values(FIELDS["compile"]) == ("true", "false")
    assert allowed_values(FIELDS["precision"]) == ("32", "bf16", "fp16", "tf32")
    assert allowed_values(FIELDS["epochs"]) == ()


SLURM = PlaceName.SLURM
MAIN = Partition("main", True, "up", "1:00:00", "1/3/0/4", "4/12/0/16", "gpu:1")


def test_slurm_is_offered_where_it_has_partitions() -> None:
    assert SLURM not in [choice.value for choice in device_choices("auto", MachineSnapshot(), 80)]
    choices = list(device_choices(SLURM, MachineSnapshot(partitions=(MAIN,)), 80))
    assert [choice.value for choice in choices] == ["auto", SLURM]
    assert choices[1].role == ""
    line = format_partition(MAIN, 100).plain
    assert line == " slurm   main (default)  3 of 4 nodes idle, 1 in use  limit 1:00:00  gpu:1"


def test_the_command_has_the_options_of_slurm() -> None:
    form = LaunchForm(device=SLURM, slurm="partition=main time=02:00:00 setup='module load cuda'", preset="smoke")
    checked = check_form(form)
    assert checked.command.endswith(
        "--preset smoke --on slurm --slurm partition=main --slurm time=02:00:00 --slurm 'setup=module load cuda'"
    )
    assert checked.slurm is not None
    assert checked.slurm.sbatch == {"partition": "main", "time": "02:00:00"}
    form = replace(form, slurm="job-name=x")
    assert check_form(form).problems == {"slurm": "slurm: job-name: cannot be set: jobs are found by their name"}
    assert set(check_form(replace(form, seeds="", settings={"epochs": "0"})).problems) == {"slurm", "seeds", "epochs"}
    assert check_form(replace(form, slurm="comment='x")).problems == {"slurm": "No closing quotation"}
    assert check_form(replace(form, device="auto")).slurm is None


def test_jobs_are_rows_of_the_queue(tmp_path: Path) -> None:
    waiting = Job(run="abc", id="1_0", name="clarinet-00000000", submitted_at=9e9, reason="Priority")
    running = Job(run="def", id="1_1", name="clarinet-00000000", submitted_at=9e9, state="RUNNING", node="n2")
    update_jobs(tmp_path, lambda jobs: Jobs(checked_at=time.time(), jobs=(waiting, running)))
    RunDirectory.create(tmp_path, RunConfig(seed=3), id="def")
    first, second = SlurmPlace(tmp_path).list_runs()
    assert (first.id, first.started_on, first.seed, first.position) == ("def", "n2", 3, 0)
    assert (second.id, second.method, second.position, second.wait_reason) == ("abc", "?", 1, describe_wait(waiting))
