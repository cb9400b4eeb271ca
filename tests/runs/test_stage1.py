"""Keys and roles of a shared stage 1: what the labels depend on."""

import dataclasses
import itertools
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from clarinet_tui.runs.stage1 import stage1_key, stage1_role
from core.config import RunConfig, Tag, settings_tagged
from core.events import PseudoLabelled
from core.resolve import resolve
from core.training.train import train
from tests.support.cli import imported_modules
from tests.support.tiny import repeatable as without_clock
from tests.support.tiny import steps, tiny_config, tiny_data

DATA = tiny_data()
CONFIG = tiny_config("gac+dann")
NOT_STAGE1 = {"method", "task", "seed", "preset", "name", "device", "stage1", "target_size", "cuda_graph"}
"""Settings that identify a run, or that other tests cover."""


def test_runs_with_one_stage_1_have_one_signature() -> None:
    def signature(method: str = "gac+dann", task: str = "Y->M", **settings: Any) -> str | None:
        role = stage1_role(resolve(method=method, task=task, preset="quick", **settings))
        return role and role.signature

    assert (
        signature()
        == signature("gac+cdan-e", epochs=9, device="cpu", name="mine")
        == signature(task="Y->S")
        == signature("gac")
    )
    others = [
        signature(seed=2),
        signature(task="Y->D"),
        signature(task="S->M"),
        signature(stage1={"rate": 0.1}),
        signature(threads=9),
    ]
    assert len({signature(), *others, signature(source_size=50), signature(complementary_loss="free")}) == 8
    assert [signature(method) for method in ("clarinet", "cdan-e", "source-only")] == [None, None, None]
    roles = [stage1_role(resolve(method=method, task="Y->D", preset="quick")) for method in ("gac", "gac+dan")]
    assert [role and role.reuses_labels for role in roles] == [False, True]


def test_key_depends_on_images_labels_settings_and_kind_of_device(tmp_path: Path) -> None:
    source = DATA.source_train
    assert source.ybar is not None
    brighter, relabelled = source.x.copy(), source.ybar.copy()
    brighter[-1, -1, -1] ^= 1
    relabelled[0] = ~relabelled[0]
    weights = tmp_path / "weights.pt"
    keys = [stage1_key(CONFIG, DATA, "cpu"), stage1_key(CONFIG, DATA, "cuda:0")]
    for changed in ({"x": brighter}, {"ybar": relabelled}):
        data = dataclasses.replace(DATA, source_train=dataclasses.replace(source, **changed))
        keys.append(stage1_key(CONFIG, data, "cpu"))
    for content in ("a", "b"):
        weights.write_text(content)
        keys.append(stage1_key(tiny_config("gac+dann", weights=str(weights)), DATA, "cpu"))
    assert len(set(keys)) == 6
    assert None not in keys
    assert (
        stage1_key(tiny_config("gac+cdan-e", epochs=9), DATA, "cpu")
        == stage1_key(tiny_config("gac"), DATA, "cpu")
        == keys[0]
    )
    assert stage1_key(CONFIG, DATA, "cuda:1") == keys[1]
    assert stage1_key(tiny_config("clarinet"), DATA, "cpu") is None


@pytest.mark.parametrize(
    ("method", "task", "preset", "signature"),
    [
        ("gac+dan", "M->U", "paper", "bee4846fa1503f41"),
        ("gac", "S->M", "quick", "978979540384cb20"),
        ("gac+cdan-e", "Y->D", "smoke", "bd7d105ef1761f58"),
    ],
)
def test_signatures_of_existing_folders_stay_valid(method: str, task: str, preset: str, signature: str) -> None:
    role = stage1_role(resolve(method=method, task=task, preset=preset, threads=2, seed=3))
    assert role is not None
    assert role.signature == signature


def stage1_of(config: RunConfig) -> list[dict[str, Any]]:
    """All metrics of stage 1."""
    events = iter(train(config, data=DATA))
    before = list(itertools.takewhile(lambda event: not isinstance(event, PseudoLabelled), events))
    return [without_clock(step) for step in steps(before)]


def test_no_other_setting_changes_stage_1() -> None:
    """A setting that stage 1 depends on must be tagged with Tag.STAGE1."""
    expected = stage1_of(CONFIG)
    assert len(expected) == 10
    settings = msgspec.to_builtins(CONFIG)
    others = settings.keys() - settings_tagged(Tag.STAGE1, Tag.BASSET) - NOT_STAGE1
    assert len(others) > 20
    for name in sorted(others):
        changed = tiny_config("gac+dann", stage1=settings["stage1"], **{name: another(name, settings[name])})
        assert changed != CONFIG
        assert stage1_of(changed) == expected, name
    assert stage1_of(tiny_config("gac+dann", seed=2, stage1=settings["stage1"])) == expected
    assert stage1_of(tiny_config("gac+dann", class_priors="loss-index")) != expected


def another(name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        kind = RunConfig.__annotations__[name].__origin__
        return next((choice for choice in get_args(kind) if choice != value), "another")
    return value / 2 or 0.5 if isinstance(value, float) else value + 1


def test_roles_need_neither_torch_nor_numpy() -> None:
    assert not imported_modules("import clarinet_tui.runs.stage1") & {"torch", "numpy"}
