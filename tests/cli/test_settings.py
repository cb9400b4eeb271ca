"""`clarinet settings`, `methods`, `tasks` and `presets`; and JSON, whose form and keys are public."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from core.config import Tag, setting_specs, settings_tagged
from core.errors import InputError
from core.methods import METHODS
from core.presets import PRESETS
from core.tasks import OFFLINE_TASK, PAPER_TASKS
from tests.support.events import evaluation, started, step
from tests.support.histories import make_run, open_history, write_events

ROW = (
    "id state method task seed preset name device host stage epoch epochs_total iteration iterations_total "
    "target_accuracy source_accuracy pseudo_label_accuracy seconds created started ended label_hash family error "
    "tags alarms note notes iterations_given seconds_left problems hardware gpu_memory gpu_use memory energy "
    "version git_commit source_images target_images test_images"
)
DETAILS = "config changed command attempts open_alarms damaged events_tail selected_without_labels"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLARINET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("CLARINET_DATA", str(tmp_path / "data"))
    open_history(tmp_path / "runs").close()
    write_events(make_run(tmp_path / "runs", "abc"), [started(), step(1), step(2), evaluation(2, 50.0)])
    make_run(tmp_path / "runs", "bcd")
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, arguments)


def rows(*arguments: str) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = json.loads(run(*arguments, "--json").stdout)
    return listed


def test_every_setting_has_a_sentence_a_type_and_defaults() -> None:
    listed = rows("settings")
    assert [row["name"] for row in listed] == [spec.name for spec in setting_specs()]
    assert all(row["description"].endswith(".") and row["type"] for row in listed)
    assert {tuple(row["defaults"]) for row in listed} == {tuple(PRESETS)}
    (epochs,) = rows("settings", "epochs")
    assert (epochs["type"], epochs["defaults"]["paper"], epochs["defaults"]["smoke"]) == ("an integer ≥ 1", 500, 3)
    text = run("settings", "stage1.rate").stdout
    assert "Learning rate of GAC." in text
    assert "a number > 0; default: paper 5e-05, literal 5e-05, quick 0.001, smoke 0.001" in text
    assert [row["name"] for row in rows("settings", "rate_decay")] == ["rate_decay"]
    assert len(rows("settings", "rate")) > 3
    refused = run("settings", "epocs").exception
    assert isinstance(refused, InputError)
    assert str(refused) == "settings: no setting 'epocs'; did you mean epochs?"


def test_defaults_are_those_of_the_method() -> None:
    (of_basset,) = rows("settings", "teacher_threshold")
    assert (of_basset["method"], {*of_basset["defaults"].values()}) == ("basset", {0.95})
    assert rows("settings", "teacher_threshold", "--method", "basset") == [of_basset]
    assert "default with basset: 0.95" in run("settings", "teacher_threshold").stdout
    assert "default: 0.95" in run("settings", "teacher_threshold", "--method", "fwd+basset").stdout
    assert "always 1" in run("settings", "scatter", "--method", "clarinet-no-t").stdout
    assert "default: 0.5\n    clarinet-no-t, gac+dan, gac+dann, " in run("settings", "scatter").stdout
    assert rows("settings", "scatter")[0]["other_defaults"]["gac+dan"]["paper"] == 1.0
    of_clarinet = {row["name"] for row in rows("settings", "--method", "clarinet")}
    assert {spec.name for spec in setting_specs()} - of_clarinet == settings_tagged(Tag.BASSET)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["lr"], "no setting 'lr'; did you mean classifier_rate or discriminator_rate?"),
        (["wd"], "no setting 'wd'; did you mean weight_decay?"),
        (["teacher_threshold", "--method", "gac"], "gac does not use teacher_threshold; basset does"),
        (["wd", "--method", "basset"], "no setting 'wd'; did you mean weight_decay?"),
    ],
)
def test_other_names_and_settings_of_other_methods_are_explained(arguments: list[str], message: str) -> None:
    assert str(run("settings", *arguments).exception) == f"settings: {message}"


def test_methods_tasks_and_presets(folder: Path) -> None:
    assert [row["name"] for row in rows("methods")] == list(METHODS)
    assert [row["name"] for row in rows("tasks")] == [*PAPER_TASKS, OFFLINE_TASK]
    assert rows("tasks")[0]["missing"] == ["clarinet data fetch usps", "clarinet data fetch mnist"]
    assert [row["name"] for row in rows("presets")] == list(PRESETS)
    for command in ("methods", "tasks", "presets"):
        assert all(row["name"] in run(command).stdout for row in rows(command))


@pytest.mark.parametrize(
    "command", ["ls", "doctor", "devices", "data list", "metrics abc", "settings", "methods", "tasks", "presets"]
)
def test_json_is_one_array_and_jsonl_one_object_a_line(folder: Path, command: str) -> None:
    array = rows(*command.split())
    lines = [json.loads(line) for line in run(*command.split(), "--jsonl").stdout.splitlines()]
    assert len(array) == len(lines) > 0
    assert [row.keys() for row in array] == [row.keys() for row in lines]


def test_keys_of_runs_and_domains(folder: Path) -> None:
    row = rows("ls")[0]
    settings = {spec.name for spec in setting_specs()}
    assert row.keys() == {*ROW.split(), *settings}
    assert (row["classifier_rate"], row["stage1.epochs"]) == (0.001, 3)
    assert json.loads(run("show", "abc", "--json").stdout).keys() - row.keys() == set(DETAILS.split())
    keys = "name letter title present format origin train test published advice"
    assert {" ".join(domain) for domain in rows("data", "list")} == {keys}


def test_no_rows_are_an_empty_array(folder: Path) -> None:
    assert rows("queue") == []
    assert run("ls", "method:none", "--json").stdout == "[]\n"
    assert run("ls", "method:none", "--jsonl").stdout == ""
    assert run("queue", "--jsonl").stdout == ""
