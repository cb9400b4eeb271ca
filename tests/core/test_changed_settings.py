"""The settings of a run that differ from its preset."""

from pathlib import Path

import msgspec
import pytest

from core.errors import InputError
from core.resolve import changed_settings, resolve


@pytest.mark.parametrize("preset", ["paper", "literal", "quick", "smoke", "photographs"])
@pytest.mark.parametrize("method", ["clarinet", "clarinet-no-t", "gac", "gac+dan", "source-only"])
@pytest.mark.parametrize("task", ["U->M", "S->M", "Y->D"])
def test_unchanged_preset_has_no_changes(method: str, task: str, preset: str) -> None:
    assert changed_settings(resolve(method=method, task=task, preset=preset, seed=7)) == {}


def test_changes_are_in_the_order_of_the_settings() -> None:
    config = resolve(
        method="gac+cdan-e", task="U->M", preset="smoke", stage1={"epochs": 9}, epochs=4, device="cpu", name="mine"
    )
    assert list(changed_settings(config).items()) == [
        ("name", ("", "mine")),
        ("epochs", (3, 4)),
        ("stage1.epochs", (3, 9)),
        ("device", ("auto", "cpu")),
    ]


def test_fixed_seed_of_stage_1_is_a_change() -> None:
    assert changed_settings(resolve(method="gac", seed=3, stage1={"seed": 1})) == {"stage1.seed": (3, 1)}


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


def test_method_that_is_not_installed_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no method"):
        changed_settings(msgspec.structs.replace(resolve(), method="of-a-plug-in"))
