"""What a launch form comes to, and what is wrong with it, without a screen."""

from pathlib import Path

import pytest

from clarinet_tui.queue.sweep import expand
from clarinet_tui.ui.launch_check import check
from clarinet_tui.ui.launch_form import Form, form_of, settings_offered, values_of, words_of
from core.resolve import resolve

FIELDS = {field.name: field for field in settings_offered()}


def test_the_form_is_a_grid_and_a_command_line() -> None:
    form = Form(("clarinet", "gac+dan"), ("U->M", "Y->D"), seeds="1..5", preset="smoke", device="cpu")
    checked = check(form.with_setting("stage1.epochs", "7"))
    assert checked.problems == {}
    assert checked.grid is not None
    assert len(checked.grid) == 20
    assert checked.command == (
        "clarinet sweep --methods clarinet,gac+dan --tasks 'U->M,Y->D' --seeds 1..5 "
        "--preset smoke --device cpu --set stage1.epochs=7"
    )
    assert {config.stage1.epochs for config in expand(checked.grid)} == {7}


def test_several_values_of_a_number_are_another_dimension() -> None:
    checked = check(Form(settings={"epochs": "3, 5", "name": "one, two"}))
    assert checked.grid is not None
    assert len(checked.grid) == 2
    assert [config.epochs for config in expand(checked.grid)] == [3, 5]
    assert {config.name for config in expand(checked.grid)} == {"one, two"}


@pytest.mark.parametrize(
    ("form", "field", "words"),
    [
        (Form(methods=()), "methods", "pick at least one"),
        (Form(tasks=()), "tasks", "pick at least one"),
        (Form(other_tasks="photos->scans"), "tasks", '"photos" is neither a folder'),
        (Form(seeds="1.."), "seeds", "expected seeds such as 1..5"),
        (Form(seeds="1,1"), "seeds", "there twice"),
        (Form(seeds="3000000000"), "seeds", "expected an integer"),
        (Form(seeds="1..10001", methods=("clarinet", "gac")), "runs", "more than 10000"),
        (Form(settings={"epochs": "ten"}), "epochs", 'epochs: expected an integer ≥ 1, got "ten"'),
        (Form(settings={"stage1.rate": "0"}), "stage1.rate", "expected a number > 0, got 0"),
        (Form(("clarinet-no-t",), settings={"scatter": "0.3"}), "scatter", "clarinet-no-t is defined by scatter"),
        (Form(settings={"epochs": "3,x"}), "epochs", 'got "x"'),
    ],
)
def test_what_is_wrong_is_told_by_its_field(form: Form, field: str, words: str) -> None:
    checked = check(form)
    assert checked.grid is None
    assert checked.command == ""
    assert list(checked.problems) == [field]
    assert words in checked.problems[field]


def test_two_problems_are_two_sentences() -> None:
    checked = check(Form(seeds="", settings={"epochs": "0"}))
    assert set(checked.problems) == {"seeds", "epochs"}


def test_usual_values_follow_preset_methods_and_tasks() -> None:
    usual = check(Form(("clarinet", "gac+dann"), preset="paper")).usual
    assert usual["classifier_rate"] == "5e-05 or 0.005"
    assert usual["optimizer"] == "sgd"
    assert set(usual) == set(FIELDS)


def test_own_folders_are_tasks(tmp_path: Path) -> None:
    for name in ("photos", "scans"):
        (tmp_path / name).mkdir()
    checked = check(Form(tasks=(), other_tasks=f"{tmp_path}/photos->{tmp_path}/scans, M->D"))
    assert [task.own for task in checked.tasks] == [True, False]
    assert checked.grid is not None


def test_a_run_and_its_form_are_the_same_run() -> None:
    said = {"method": "gac+dan", "task": "M->D", "seed": 7, "preset": "quick", "device": "cpu", "epochs": 9}
    said |= {"momentum": 0.123456789012, "channels_last": False, "stage1": {"rate": 3e-5}, "usps_split": "80/20"}
    config = resolve(said)
    form = form_of(config)
    assert (form.tasks, form.other_tasks, form.seeds) == ((), "M->D", "7")
    checked = check(form)
    assert checked.grid is not None
    assert expand(checked.grid) == [config]


def test_an_empty_text_leaves_a_setting_to_the_preset() -> None:
    form = Form().with_setting("epochs", " 5 ")
    assert form.settings == {"epochs": "5"}
    assert form.with_setting("epochs", " ").settings == {}


def test_values_are_read_by_their_kind() -> None:
    assert values_of(FIELDS["epochs"], "3") == [3]
    assert values_of(FIELDS["compile"], "true, false") == [True, False]
    assert values_of(FIELDS["usps_split"], "80/20") == ["80/20"]
    assert values_of(FIELDS["weights"], "a,b.pt") == ["a,b.pt"]
    assert words_of(FIELDS["compile"]) == ("true", "false")
    assert words_of(FIELDS["precision"]) == ("32", "bf16")
    assert words_of(FIELDS["epochs"]) == ()
