"""Sweeps: expanded grids, their commands, and invalid files."""

import shlex
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clarinet_tui.queue.sweep import (
    MAX_RUNS,
    Grid,
    expand_grid,
    make_name,
    parse_grid,
    parse_seeds,
    run_command,
    sweep_command,
)
from core.errors import InputError
from core.resolve import minimal_settings, resolve

GRID = Grid(
    ["clarinet", "gac+dann"],
    ["M->U", "U->M"],
    [1, 2],
    {"preset": "quick", "stage1": {"epochs": 3}},
    {"ybars_per_sample": [1, 4]},
)


def test_every_combination_once_with_seeds_varying_slowest() -> None:
    configs = expand_grid(GRID)
    assert len(configs) == len(GRID) == 16
    assert len({repr(config) for config in configs}) == 16
    assert [config.seed for config in configs] == [1] * 8 + [2] * 8
    assert {(config.method, config.task, config.ybars_per_sample) for config in configs} == {
        (method, task, labels) for method in GRID.methods for task in GRID.tasks for labels in (1, 4)
    }
    assert all(config.stage1.epochs == 3 and config.preset == "quick" for config in configs)


def test_dotted_settings_go_into_their_table() -> None:
    configs = expand_grid(Grid(["gac"], ["M->U"], [1], {}, {"stage1.epochs": [3, 5]}))
    assert [config.stage1.epochs for config in configs] == [3, 5]


@pytest.mark.parametrize(
    ("text", "seeds"), [("1..5", [1, 2, 3, 4, 5]), ("7", [7]), ("1, 3..4,9", [1, 3, 4, 9]), ("2..2", [2])]
)
def test_notations_of_seeds(text: str, seeds: list[int]) -> None:
    assert parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "1..", "5..1", "a", "1-5", "1;2", "-3", "1...3", "0..99999999"])
def test_invalid_seeds(text: str) -> None:
    with pytest.raises(InputError, match="--seeds"):
        parse_seeds(text)


def test_a_file_has_methods_tasks_seeds_a_grid_and_settings_for_all() -> None:
    grid = parse_grid(
        {"methods": "gac", "tasks": ["M->U"], "seeds": "1..2", "epochs": 4, "grid": {"stage1": {"rate": [1e-3, 1e-4]}}},
        "sweep.toml",
    )
    configs = expand_grid(grid)
    assert [(config.method, config.seed, config.stage1.rate) for config in configs] == [
        ("gac", 1, 1e-3),
        ("gac", 1, 1e-4),
        ("gac", 2, 1e-3),
        ("gac", 2, 1e-4),
    ]
    assert all(config.epochs == 4 for config in configs)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"methods": [3]}, "methods: expected a list of strings"),
        ({"seeds": [1.5]}, "seeds: expected a list of integers"),
        ({"seeds": True}, "seeds: expected a list of integers"),
        ({"grid": {"epochs": 3}}, "grid.epochs: expected a list"),
        ({"grid": [1]}, "grid: expected a table"),
        ({"seed": 3}, "seed: expected seeds"),
        ({"tasks": ["M->U"], "epoch": 3}, "epoch: no such setting"),
        ({"tasks": ["M->U"], "grid": {"epochs": [1, "ten"]}}, 'epochs: expected an integer ≥ 1, got "ten"'),
        ({"tasks": ["M->U"], "grid": {"epochs": []}}, "epochs: expected at least one"),
        ({"tasks": ["M->U"], "seeds": [1, 1]}, "seeds: expected each value once"),
        ({"tasks": ["M->U"], "seeds": "0..5000", "grid": {"epochs": [1, 2, 3]}}, f"expected at most {MAX_RUNS} runs"),
        ({"tasks": ["M->X"]}, '"X" is neither'),
        ({"name": "a\nb"}, "name: expected 1 to 100 printable characters"),
        ({"name": " "}, "name: expected 1 to 100 printable characters"),
        ({"name": 3}, "name: expected 1 to 100 printable characters"),
    ],
)
def test_errors_name_their_place_in_the_file(table: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        expand_grid(parse_grid(table, "sweep.toml"))
    assert str(caught.value).startswith("sweep.toml: ")
    assert message in str(caught.value)


def test_commands_can_be_typed() -> None:
    line = sweep_command(GRID)
    assert shlex.split(line) == [
        *("clarinet", "sweep", "--methods", "clarinet,gac+dann", "--tasks", "M->U,U->M", "--seeds", "1..2"),
        *("--preset", "quick", "--set", "stage1.epochs=3", "--grid", "ybars_per_sample=1,4"),
    ]
    first = run_command(next(GRID.points()))
    assert shlex.split(first)[:7] == ["clarinet", "run", "--headless", "--method", "clarinet", "--task", "M->U"]


@pytest.mark.parametrize(
    ("methods", "tasks", "axes", "name"),
    [
        (["basset"], ["Y->D"], {}, "basset-Y-D"),
        (["basset"], ["Y->D"], {"classifier_rate": [0.1, 0.2]}, "basset-classifier_rate"),
        (["basset"], ["Y->D"], {"classifier_rate": [0.1]}, "basset-Y-D"),
        (["basset"], ["/data/photos->/data/scans"], {}, "basset-photos-scans"),
        (["basset"], ["M->U", "U->M"], {}, "basset-tasks"),
        (["basset", "gac"], ["M->U"], {}, "methods-M-U"),
        (["basset", "gac"], ["M->U", "U->M"], {}, "methods-tasks"),
        (["basset", "gac"], ["M->U"], {"epochs": [1, 2], "crop": [0, 0.1]}, "methods-epochs-crop"),
    ],
)
def test_a_name_is_made_of_what_varies(
    methods: list[str], tasks: list[str], axes: dict[str, list[Any]], name: str
) -> None:
    assert make_name(Grid(methods, tasks, [1, 2], {}, axes)) == name


def test_long_names_are_cut() -> None:
    axes = {f"setting_{number}": [1, 2] for number in range(20)}
    assert len(make_name(Grid(["basset"], ["M->U"], [1], {}, axes))) == 60


def test_the_name_is_a_setting_of_each_run_and_an_option_of_the_command() -> None:
    grid = parse_grid({"name": " first ", "tasks": ["M->U"], "seeds": "1..2"}, "sweep.toml")
    assert [config.sweep for config in expand_grid(grid)] == ["first"] * 2
    assert shlex.split(sweep_command(grid, tags=["icml"]))[:4] == ["clarinet", "sweep", "--name", "first"]
    assert shlex.split(sweep_command(grid, tags=["icml"]))[-2:] == ["--tag", "icml"]


@settings(max_examples=60)
@given(
    st.fixed_dictionaries(
        {"method": st.sampled_from(["clarinet", "gac+dan", "gac"]), "seed": st.integers(0, 99)},
        optional={
            "epochs": st.integers(1, 9),
            "weight_decay": st.floats(0, 1, allow_subnormal=False),
            "warmup_target": st.booleans(),
            "preset": st.sampled_from(["paper", "smoke"]),
            "stage1": st.fixed_dictionaries({}, optional={"epochs": st.integers(1, 9), "seed": st.integers(-1, 9)}),
        },
    )
)
def test_minimal_settings_give_the_same_run(settings_given: dict[str, Any]) -> None:
    config = resolve(settings_given, task="M->U", cores=2)
    assert resolve(minimal_settings(config), cores=2) == config


@pytest.mark.parametrize("name", ["1", "true", '"quoted"', "[bold]x[/]", "2026-01-31", "plain", "two words", "1 # one"])
def test_a_string_that_looks_like_a_number_stays_a_string(name: str) -> None:
    from clarinet_tui.cli.launch import merge_pairs

    arguments = shlex.split(run_command({"name": name}))
    assert merge_pairs({}, [arguments[arguments.index("--set") + 1]]) == {"name": name}


def test_run_command_names_no_directory_unless_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLARINET_RUNS", "elsewhere")
    assert run_command({"seed": 1}) == "clarinet run --headless --seed 1"
    assert run_command({"seed": 1}, runs_dir="elsewhere") == "clarinet run --headless --seed 1"
    assert run_command({"seed": 1}, runs_dir="runs") == "clarinet run --headless --seed 1 --runs-dir runs"
