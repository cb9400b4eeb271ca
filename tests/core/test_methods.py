"""The registry of methods: families, stages, fixed settings and plug-ins."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any

import msgspec
import pytest

from core import methods as registry
from core.errors import InputError
from core.methods import FAMILIES, METHODS, MethodSpec, StageSpec, data_seed, find_method, methods
from core.methods.algorithm import Algorithm, load_algorithm
from core.presets import PRESETS
from core.resolve import resolve

ONE_STEP = ["clarinet", "clarinet-no-t", "clarinet-ce", "basset"]
TWO_STEP = ["gac+dan", "gac+dann", "gac+cdan-e"]
CONTROLS = ["fwd+basset", "fwd+basset-kept"]
REFERENCES = ["source-only", "cdan-e"]


def test_all_methods_of_the_paper_our_own_and_two_references_exist() -> None:
    assert set(METHODS) == {*ONE_STEP, "gac", *TWO_STEP, *CONTROLS, *REFERENCES}
    assert list(methods())[: len(METHODS)] == list(METHODS)
    assert {spec.family for spec in METHODS.values()} == set(FAMILIES)


@pytest.mark.parametrize("name", METHODS)
def test_method_is_described_and_can_be_loaded(name: str) -> None:
    spec = find_method(name)
    assert spec.name == name
    assert spec.title
    assert spec.description.endswith(".")
    assert len({stage.name for stage in spec.stages}) == len(spec.stages)
    for stage in spec.stages:
        loaded = load_algorithm(stage)
        assert issubclass(loaded, Algorithm)
        assert not getattr(loaded.step, "__isabstractmethod__", False)


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        ("absent:Mine", "ModuleNotFoundError: No module named 'absent'"),
        ("core.methods.baselines:Mine", "AttributeError: module 'core.methods.baselines' has no attribute 'Mine'"),
    ],
)
def test_missing_algorithm_is_an_input_error(algorithm: str, why: str) -> None:
    with pytest.raises(InputError) as caught:
        load_algorithm(StageSpec("mine", algorithm, "true"))
    assert str(caught.value) == f"stage mine: {algorithm} cannot be imported ({why})"


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize(
    ("ablation", "changed"),
    [("clarinet-no-t", {"scatter": 1.0}), ("clarinet-ce", {"complementary_loss": "cross-entropy"})],
)
def test_ablation_differs_from_clarinet_in_one_setting(ablation: str, changed: dict[str, Any], preset: str) -> None:
    spec, clarinet = find_method(ablation), find_method("clarinet")
    assert spec.fixed == changed
    assert replace(spec, name="", title="", description="", fixed={}) == replace(
        clarinet, name="", title="", description=""
    )
    expected = msgspec.structs.replace(resolve(method="clarinet", preset=preset, cores=1), method=ablation, **changed)
    assert resolve(method=ablation, preset=preset, cores=1) == expected


@pytest.mark.parametrize(
    ("name", "family", "table", "labels", "adapts"),
    [
        *((name, "one-step", None, "complementary", True) for name in ONE_STEP),
        *((name, "two-step", "two-step", "pseudo", True) for name in TWO_STEP),
        ("gac", "no-adaptation", "one-step", "complementary", False),
        ("source-only", "reference", "two-step", "true", False),
        ("cdan-e", "reference", "two-step", "true", True),
    ],
)
def test_labels_and_adaptation_of_the_last_stage(
    name: str, family: str, table: str | None, labels: str, adapts: bool
) -> None:
    """The two-step methods share GAC as their first stage, which `gac` is alone."""
    spec, (gac,) = find_method(name), find_method("gac").stages
    *before, last = spec.stages
    assert before == ([gac] if name in TWO_STEP else [])
    assert (spec.family, last.labels, last.adapts, last.stage1) == (family, labels, adapts, name == "gac")
    assert data_seed(resolve(method=name, seed=3, stage1={"seed": 2}, cores=1)) == (2 if gac in spec.stages else 3)
    assert table in (None, spec.preset_table)


@pytest.mark.parametrize("name", CONTROLS)
def test_controls_train_basset_with_fixed_labels(name: str) -> None:
    spec = find_method(name)
    first, second = spec.stages
    (basset,) = find_method("basset").stages
    assert (spec.family, first.stage1, first.adapts) == ("two-step", True, False)
    assert replace(second, labels="complementary", continues=False) == basset
    assert spec.preset_table == find_method("basset").preset_table


def test_stage_1_labels_are_made_by_gac_and_taken_by_two_step_methods() -> None:
    makes = [name for name, spec in METHODS.items() if spec.makes_stage1_labels]
    takes = [name for name, spec in METHODS.items() if spec.reuses_stage1_labels]
    assert set(makes) == {"gac", "fwd+basset", *TWO_STEP}
    assert set(takes) == {"fwd+basset", *TWO_STEP}, "a stage that continues needs the weights of its own stage 1"


def test_reference_has_the_algorithm_of_stage_2() -> None:
    (reference,) = find_method("cdan-e").stages
    assert replace(find_method("gac+cdan-e").stages[1], labels="true") == reference
    two_step = resolve(method="gac+cdan-e", cores=1)
    assert msgspec.structs.replace(two_step, method="cdan-e") == resolve(method="cdan-e", cores=1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("clarinete", 'method: no method "clarinete"; did you mean clarinet?'),
        ("gac+cdan", 'method: no method "gac+cdan"; did you mean gac+dan?'),
        ("", f'method: no method ""; available: {", ".join(METHODS)}'),
        ("CLARINET", f'method: no method "CLARINET"; available: {", ".join(METHODS)}'),
    ],
)
def test_unknown_method_is_an_input_error(name: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        find_method(name)
    assert str(caught.value) == message


# -- entry points ------------------------------------------------------------------------------------------------


@dataclass
class Point:
    """An entry point that counts how often it is loaded, and raises if it is an error."""

    spec: object
    name: str = "mine"
    value: str = "mine:SPEC"
    loads: int = 0

    def load(self) -> object:
        self.loads += 1
        if isinstance(self.spec, Exception):
            raise self.spec
        return self.spec


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Point]]:
    """Replace the installed entry points by a list that the test fills."""
    points: list[Point] = []
    monkeypatch.setattr(metadata, "entry_points", lambda group: points if group == registry.ENTRY_POINTS else [])
    registry._load_methods.cache_clear()
    yield points
    registry._load_methods.cache_clear()


MINE = MethodSpec("mine", "Mine", "A method of one's own.", (StageSpec("mine", "mine:Mine", "complementary"),))


def test_plug_in_is_loaded_once_and_listed_as_a_method(installed: list[Point]) -> None:
    point = Point(MINE)
    installed.append(point)
    assert point.loads == 0
    assert find_method("mine") is methods()["mine"] is MINE
    assert list(methods()) == [*METHODS, "mine"]
    assert resolve(method="mine", cores=1).method == "mine"
    assert point.loads == 1
    assert "mine" not in METHODS


def test_broken_plug_ins_are_left_out_and_named(installed: list[Point]) -> None:
    """The built-in methods and the other plug-ins work."""
    installed += [Point(Algorithm), Point(MINE), Point(MINE, name="again", value="other:SPEC")]
    installed += [Point(METHODS["gac"]), Point(RuntimeError("no\nlicence")), Point(ModuleNotFoundError("No module"))]
    assert list(methods()) == [*METHODS, "mine"]
    assert find_method("clarinet") is METHODS["clarinet"]
    with pytest.raises(InputError) as caught:
        find_method("absent")
    assert str(caught.value).split("; ")[-5:] == [
        "plug-in mine (mine:SPEC): expected a MethodSpec, got ABCMeta",
        "plug-in again (other:SPEC): method mine already exists, from plug-in mine (mine:SPEC)",
        "plug-in mine (mine:SPEC): method gac already exists, from a built-in method",
        "plug-in mine (mine:SPEC): cannot be imported (RuntimeError: no\\nlicence)",
        "plug-in mine (mine:SPEC): cannot be imported (ModuleNotFoundError: No module)",
    ]
