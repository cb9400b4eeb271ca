"""Settings: defaults, errors, and the tables of docs/protocols.md."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
import tomli
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from core.config import (
    OTHER_NAMES,
    RunConfig,
    Stage1,
    Tag,
    checkpoint_settings,
    convert_settings,
    describe_type,
    merge_settings,
    setting_specs,
    settings_tagged,
)
from core.errors import InputError
from core.methods import METHODS, data_seed
from core.presets import PRESETS
from core.resolve import changed_settings, default_threads, resolve
from core.tasks import OFFLINE_TASK, PAPER_TASKS

NAMES = [field.name for field in setting_specs()]
FLAT = [name for name in NAMES if "." not in name]


def value(config: RunConfig, name: str) -> Any:
    return reduce(getattr, name.split("."), config)


def table(name: str, content: Any) -> dict[str, Any]:
    """Return a setting such as `stage1.epochs` and its value, nested as in TOML."""
    return reduce(lambda inner, part: {part: inner}, reversed(name.split(".")), content)


def error_message(settings: Mapping[str, Any], place: str = "run.toml") -> str:
    with pytest.raises(InputError) as caught:
        resolve(settings, source=place, cores=1)
    return str(caught.value)


# -- fields ------------------------------------------------------------------------------------------------------


def test_every_setting_is_described_with_its_type_and_bounds() -> None:
    assert NAMES[:5] == ["method", "task", "seed", "preset", "name"]
    config = resolve(cores=1)
    plain = msgspec.to_builtins(config)
    stage1 = [f"stage1.{name}" for name in plain.pop("stage1")]
    assert sorted(NAMES) == sorted([*plain, *stage1])
    for field in setting_specs():
        assert field.description.endswith("."), field.name
        words = describe_type(field.type)
        assert words.startswith(("an integer ", "a number ", "one of ", "a text", "true or false")), field.name
        assert type(field.default) is type(value(config, field.name)), field.name


# -- where settings come from ------------------------------------------------------------------------------------


def test_settings_override_method_defaults_and_those_override_the_preset() -> None:
    assert resolve(preset="smoke", method="gac+dann").lambda_horizon == 50
    assert resolve(preset="smoke", method="gac+dan").lambda_horizon == 0
    assert resolve(preset="smoke", method="gac+dan", lambda_horizon=7).lambda_horizon == 7
    both = resolve({"epochs": 3, "seed": 4}, epochs=5, cores=1)
    assert (both.epochs, both.seed) == (5, 4), "keywords override the mapping"


def test_defaults_are_the_preset_paper_for_clarinet() -> None:
    resolved = resolve(cores=3)
    assert resolved == RunConfig(threads=3, stage1=Stage1(seed=1))


def test_partial_table_keeps_the_other_values_of_the_preset() -> None:
    stage1 = resolve({"preset": "smoke", "stage1": {"epochs": 9}}, cores=1).stage1
    assert (stage1.epochs, stage1.batch_size, stage1.rate) == (9, 32, 1e-3)
    assert merge_settings({"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 4}}) == {"a": {"b": 4, "c": 2}, "d": 3}
    assert merge_settings({"a": {"b": 1}}, {"a": 2}) == {"a": 2}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("method", METHODS)
def test_every_preset_is_valid_for_every_method_and_task(preset: str, method: str) -> None:
    for task in (*PAPER_TASKS, OFFLINE_TASK):
        config = resolve(preset=preset, method=method, task=task, cores=2)
        assert (config.preset, config.method, config.task, config.threads) == (preset, method, task, 2)
        assert resolve(msgspec.to_builtins(config)) == config, "resolving again changes nothing"


@pytest.mark.parametrize(
    ("method", "key", "defined", "other"),
    [
        ("clarinet-no-t", "scatter", "1.0", "0.5"),
        ("clarinet-ce", "complementary_loss", '"cross-entropy"', '"ascent"'),
    ],
)
def test_fixed_settings_of_a_method_cannot_be_changed(method: str, key: str, defined: str, other: str) -> None:
    message = error_message({"method": method, key: json.loads(other)})
    assert message == f"run.toml: {key}: {method} is defined by {key} = {defined}, got {other}"
    assert value(resolve({"method": method, key: json.loads(defined)}, cores=1), key) == json.loads(defined)


def test_threads_seeds_precision_and_task_are_resolved() -> None:
    assert [resolve(cores=cores).threads for cores in (4, 64)] == [4, 8]
    assert resolve(cores=64, threads=20).threads == 20
    assert default_threads() >= 1
    assert resolve(seed=5).stage1.seed == 5
    settings = {"seed": 5, "stage1": {"seed": 2}}
    assert resolve(settings).stage1.seed == 2
    for method, seed in {"clarinet": 5, "cdan-e": 5, "gac": 2, "gac+dan": 2}.items():
        assert data_seed(resolve(settings, method=method)) == seed, "labels are drawn by the seed of stage 1"
    assert resolve({"precision": 32}, cores=1).precision == "32"
    assert resolve(task=" mnist → usps ").task == "M->U"


# -- what is wrong -----------------------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"epochs": "ten"}, 'run.toml: epochs: expected an integer ≥ 1, got "ten"'),
    ({"epochs": 0}, "run.toml: epochs: expected an integer ≥ 1, got 0"),
    ({"epochs": 2.5}, "run.toml: epochs: expected an integer ≥ 1, got 2.5"),
    ({"epochs": True}, "run.toml: epochs: expected an integer ≥ 1, got True"),
    ({"epochs": None}, "run.toml: epochs: expected an integer ≥ 1, got None"),
    ({"classifier_rate": 0}, "run.toml: classifier_rate: expected a number > 0, got 0"),
    ({"classifier_rate": float("nan")}, "run.toml: classifier_rate: expected a number > 0, got nan"),
    ({"optimizer": "adagrad"}, 'run.toml: optimizer: expected one of adam, adamw, sgd, got "adagrad"'),
    ({"compile": 1}, "run.toml: compile: expected true or false, got 1"),
    ({"epoch": 3}, "run.toml: epoch: no such setting; did you mean epochs?"),
    ({"zzz": 3}, "run.toml: zzz: no such setting"),
    ({"lr": 3}, "run.toml: lr: no such setting; did you mean classifier_rate or discriminator_rate?"),
    ({"optim": "sgd"}, "run.toml: optim: no such setting; did you mean optimizer?"),
    ({"num_epochs": 3}, "run.toml: num_epochs: no such setting; did you mean epochs?"),
    ({"own": 3}, "run.toml: own: expected a table, got 3"),
    ({"own": {"temperature": 3}}, "run.toml: own.temperature: no such setting; clarinet has none of its own"),
    ({"stage1": 3}, "run.toml: stage1: expected a table, got 3"),
    ({"stage1": {"epochs": -1}}, "run.toml: stage1.epochs: expected an integer ≥ 1, got -1"),
    ({"stage1": {"epoch": 3}}, "run.toml: stage1.epoch: no such setting; did you mean stage1.epochs?"),
    ({"stage1.epochs": 3}, "run.toml: stage1.epochs: write this as epochs in the table stage1"),
    ({"method": "clarinete"}, 'run.toml: method: no method "clarinete"; did you mean clarinet?'),
    ({"method": ["gac"]}, "run.toml: method: expected a text, got ['gac']"),
    ({"task": "M"}, 'run.toml: task: expected SOURCE->TARGET such as "M->U", got "M"'),
    ({"task": 3}, "run.toml: task: expected a text, got 3"),
    (
        {"preset": ["quick"]},
        "run.toml: preset: expected one of paper, literal, quick, smoke, photographs, got ['quick']",
    ),
    ({"classifier_rate": float("inf")}, "run.toml: classifier_rate: expected a number > 0 that is finite, got inf"),
    (
        {"stage1": {"epochs": 10**20}},
        f"run.toml: stage1.epochs: expected an integer ≥ 1 of at most 63 bits, got {10**20}",
    ),
    ({"device": "\udcff"}, 'run.toml: device: expected a text in UTF-8, got "\\udcff"'),
    ({"optimizer": "a\nb"}, 'run.toml: optimizer: expected one of adam, adamw, sgd, got "a\\nb"'),
    ({"optimizer": "unknown field"}, 'run.toml: optimizer: expected one of adam, adamw, sgd, got "unknown field"'),
    ({"a\nb": 3}, "run.toml: a\\nb: no such setting"),
    ({"seed": 2**31}, "run.toml: seed: expected an integer ≥ 0 and < 2147483648, got 2147483648"),
    ({"source_fraction": 0}, "run.toml: source_fraction: expected a number > 0 and ≤ 1, got 0"),
    ({"momentum": 1.0}, "run.toml: momentum: expected a number ≥ 0 and < 1, got 1.0"),
    ({"device": 1}, "run.toml: device: expected a text, got 1"),
    ({"method": "gac", "teacher_weight": 1.0}, "run.toml: teacher_weight: gac does not use it; basset does"),
    ({"preset": "fast"}, 'run.toml: preset: expected one of paper, literal, quick, smoke, photographs, got "fast"'),
    ({"name": "x" * 201}, f'run.toml: name: expected a text of at most 200 characters, got "{"x" * 76}…'),
]


@pytest.mark.parametrize(("settings", "expected"), WRONG)
def test_error_of_a_wrong_setting_names_it_and_its_place(settings: dict[str, Any], expected: str) -> None:
    assert error_message(settings) == expected


@pytest.mark.parametrize("name", NAMES)
def test_error_of_a_wrong_value_names_the_setting(name: str) -> None:
    for junk in ({"a": 1}, [1, 2], object()):
        message = error_message(table(name, junk))
        assert message.startswith(f"run.toml: {name}: expected ")
        assert len(message.splitlines()) == 1


def test_names_from_elsewhere_are_answered_with_settings() -> None:
    for other, ours in OTHER_NAMES.items():
        assert other not in NAMES
        assert {*ours.split(" or ")} <= {*NAMES}, other


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters())
    | st.sampled_from([*METHODS, *PRESETS, "M->U", "~nobody->M", "unknown field", "x" * 300 + "->U"])
    | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from([*NAMES, "own"]) | st.text(), JUNK, max_size=4))
def test_arbitrary_settings_are_valid_or_an_input_error(junk: dict[str, Any]) -> None:
    settings: dict[str, Any] = {}
    for name, content in junk.items():
        settings = merge_settings(settings, table(name, content) if name in NAMES else {name: content})
    try:
        config = resolve(settings, source="junk", cores=1)
    except InputError as error:
        message = str(error)
        assert message.startswith("junk: ")
        assert len(message.splitlines()) == 1
        assert len(message) < 1000
    else:
        assert resolve(msgspec.to_builtins(config)) == config


# -- files and checkpoints ---------------------------------------------------------------------------------------


def random_settings() -> st.SearchStrategy[dict[str, Any]]:
    """Draw some settings with valid values."""
    return st.fixed_dictionaries(
        {},
        optional={
            "method": st.sampled_from(list(METHODS)),
            "task": st.sampled_from(PAPER_TASKS),
            "preset": st.sampled_from(list(PRESETS)),
            "seed": st.integers(0, 2**31 - 1),
            "name": st.text(max_size=200),
            "epochs": st.integers(1, 10**6),
            "classifier_rate": st.floats(0, 10, exclude_min=True, allow_subnormal=False),
            "compile": st.booleans(),
            "precision": st.sampled_from(["32", "tf32", "bf16", "fp16"]),
            "stage1": st.fixed_dictionaries({}, optional={"seed": st.integers(-1, 9), "epochs": st.integers(1, 99)}),
        },
    )


@given(random_settings())
def test_configuration_survives_toml(settings: dict[str, Any]) -> None:
    config = resolve(settings, cores=2)
    text = tomli_w.dumps(msgspec.to_builtins(config))
    assert convert_settings(tomli.loads(text), "config.toml") == config
    assert resolve(tomli.loads(text)) == config


def test_checkpoint_settings_are_those_with_an_effect() -> None:
    plain = checkpoint_settings(resolve(cores=1))
    same: dict[str, Any] = {"name": "x", "device": "cpu", "workers": 0, "checkpoint_minutes": 1.0, "on_nan": "continue"}
    same |= {"sweep": "first", "checkpoints": "none", "cuda_graph": "auto", "memory_limit_gb": 1.0}
    assert checkpoint_settings(resolve(same, cores=1)) == plain
    assert set(same) == settings_tagged(Tag.NO_EFFECT)
    changes: list[dict[str, Any]] = [{"seed": 2}, {"threads": 2}, {"precision": "bf16"}, {"epochs": 3}]
    for change in [*changes, {"stage1": {"epochs": 3}}, {"task": "M->U"}]:
        assert checkpoint_settings(resolve(change, cores=1)) != plain


def test_settings_are_selected_by_their_tags() -> None:
    assert settings_tagged(Tag.IDENTITY) == {"method", "task", "seed", "preset", "name", "sweep"}
    assert settings_tagged(Tag.ROUNDING) == {"threads", "compile", "channels_last"}
    assert settings_tagged(Tag.SOURCE, Tag.EVALUATION) == {
        *("source_size", "source_fraction", "ybars_per_sample", "true_fraction", "usps_split", "image_size", "fit"),
        *("target_size", "test_size", "evaluate_every"),
    }
    assert {"stage1", "network", "on_nan"} < settings_tagged(Tag.STAGE1)


# -- docs/protocols.md -------------------------------------------------------------------------------------------

DOCUMENT = (Path(__file__).parents[2] / "docs" / "protocols.md").read_text(encoding="utf-8")
QUICK_MAY_CHANGE = {
    *("epochs", "warmup_epochs", "stage1.epochs"),
    *("classifier_rate", "discriminator_rate", "warmup_rate", "rate_decay", "stage1.rate", "stage1.batch_size"),
    *("optimizer", "discriminator_optimizer", "warmup_optimizer", "stage1.optimizer"),
    *("lambda_horizon", "source_size", "target_size", "test_size"),
}


def section(title: str) -> str:
    match = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", DOCUMENT, re.MULTILINE | re.DOTALL)
    assert match, title
    return match[1]


def rows(title: str) -> Iterator[list[str]]:
    """Return the rows of a section's tables, code cells only; the first cell is the setting."""
    for line in section(title).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            yield [cell.strip("`") for cell in cells if re.fullmatch("`[^`]*`", cell)]


def differences(one: RunConfig, other: RunConfig) -> set[str]:
    return {name for name in NAMES if name != "preset" and value(one, name) != value(other, name)}


def everywhere() -> Iterator[tuple[str, str]]:
    return product(METHODS, [*PAPER_TASKS, OFFLINE_TASK])


def configured(preset: str, method: str, task: str) -> RunConfig:
    return resolve(preset=preset, method=method, task=task, cores=1)


def test_every_preset_is_described() -> None:
    assert set(re.findall(r"^\| `(\w+)` \| ", DOCUMENT.split("## ")[0], re.MULTILINE)) == set(PRESETS)


@pytest.mark.parametrize(
    ("title", "method"),
    [
        ("One-step methods: where paper and program differ", "clarinet"),
        ("One-step methods: settings that both presets share", "clarinet"),
        ("Two-step methods and references", "gac+cdan-e"),
        ("BASSET and its controls", "basset"),
        ("BASSET and its controls", "fwd+basset"),
    ],
)
def test_documented_tables_of_paper_and_literal_are_correct(title: str, method: str) -> None:
    documented = list(rows(title))
    assert documented
    for name, paper, literal, *_ in documented:
        assert json.loads(paper) == value(configured("paper", method, "M->U"), name), name
        assert json.loads(literal) == value(configured("literal", method, "M->U"), name), name


def test_every_difference_between_paper_and_literal_is_documented() -> None:
    listed = {row[0] for row in rows("One-step methods: where paper and program differ")}
    for task in PAPER_TASKS:
        assert differences(configured("paper", "clarinet", task), configured("literal", "clarinet", task)) == listed
    shared = {row[0] for row in rows("Two-step methods and references")}
    for method, task in everywhere():
        named = listed if METHODS[method].preset_table == "one-step" else shared
        assert differences(configured("paper", method, task), configured("literal", method, task)) <= named


@pytest.mark.parametrize("preset", ["quick", "smoke", "photographs"])
def test_documented_tables_of_other_presets_are_correct_and_complete(preset: str) -> None:
    listed = set()
    for name, where, paper, changed in rows(f"What `{preset}` changes"):
        method, task = where.split()
        assert json.loads(paper) == value(configured("paper", method, task), name), (name, where)
        assert json.loads(changed) == value(configured(preset, method, task), name), (name, where)
        listed.add(name)
    changes = [differences(configured("paper", *pair), configured(preset, *pair)) for pair in everywhere()]
    assert set().union(*changes) == listed


@pytest.mark.parametrize("name", ["photos", "colour"])
def test_quick_uses_all_custom_data_and_a_full_lambda_horizon(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    for task in (f"{folder}->{folder}", f"{folder}->U", f"U->{folder}"):
        config = resolve(preset="quick", task=task)
        assert (config.lambda_horizon, config.source_size, config.target_size) == (0, 0, 0)
    assert resolve(preset="quick", task=f"U->{folder}").stage1.epochs == 50


def test_differences_between_presets_are_documented_and_quick_has_only_allowed_ones() -> None:
    for pair in everywhere():
        configs = {preset: configured(preset, *pair) for preset in PRESETS}
        assert differences(configs["paper"], configs["quick"]) <= QUICK_MAY_CHANGE, pair
        for one, other in product(configs.values(), repeat=2):
            for name in differences(one, other):
                assert f"`{name}`" in DOCUMENT


@pytest.mark.parametrize("preset", ["paper", "literal", "quick", "smoke", "photographs"])
@pytest.mark.parametrize("method", ["clarinet", "clarinet-no-t", "gac", "gac+dan", "source-only"])
@pytest.mark.parametrize("task", ["U->M", "S->M", "Y->D"])
def test_unchanged_preset_has_no_changes(method: str, task: str, preset: str) -> None:
    assert changed_settings(resolve(method=method, task=task, preset=preset, seed=7)) == {}


def test_changes_are_in_the_order_of_the_settings() -> None:
    config = resolve(
        method="gac", task="U->M", preset="smoke", stage1={"epochs": 9, "seed": 4}, epochs=4, device="cpu", name="mine"
    )
    assert list(changed_settings(config).items()) == [
        ("name", ("", "mine")),
        ("epochs", (3, 4)),
        ("stage1.epochs", (3, 9)),
        ("stage1.seed", (1, 4)),
        ("device", ("auto", "cpu")),
    ]
    with pytest.raises(InputError, match="no method"):
        changed_settings(msgspec.structs.replace(config, method="of-a-plug-in"))


def test_cores_and_missing_folders_are_no_changes(tmp_path: Path) -> None:
    for name in ("photos", "scans"):
        (tmp_path / name).mkdir()
    config = resolve(task=f"{tmp_path}/photos->{tmp_path}/scans", preset="quick", cores=64, epochs=9)
    for name in ("photos", "scans"):
        (tmp_path / name).rmdir()
    assert changed_settings(config) == {"epochs": (5, 9)}
    (tmp_path / "scans").mkdir()
    elsewhere = resolve(task=f"U->{tmp_path}/scans", preset="quick", cores=1)
    (tmp_path / "scans").rmdir()
    assert changed_settings(elsewhere) == {}
