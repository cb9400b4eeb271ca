"""The settings that the launch form shows first, and finding the others."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.ui.launch_form import list_settings
from clarinet_tui.ui.text.launch import matching_settings
from clarinet_tui.ui.usual_settings import MAX_USUAL, USUAL, usual_settings
from clarinet_tui.ui.widgets.launch_fields import SettingList
from clarinet_tui.ui.widgets.pick_list import PickList
from core.config import SettingSpec, own_specs
from core.methods import METHODS
from tests.support.app import SMALL, expect_text, open_app, wait_until
from tests.support.plugins import OwnSettings

SETTINGS = list_settings()


def usual(*methods: str, also: tuple[str, ...] = ()) -> list[str]:
    return [spec.name for spec in usual_settings(SETTINGS, [METHODS[name] for name in methods], also)]


def test_usual_settings_are_settings_and_every_method_has_ten() -> None:
    assert set(USUAL) <= {spec.name for spec in SETTINGS}
    for method in METHODS:
        assert len(usual(method)) == MAX_USUAL, method


def test_usual_settings_are_those_that_the_methods_use() -> None:
    assert usual("clarinet")[:5] == ["epochs", "warmup_epochs", "batch_size", "classifier_rate", "discriminator_rate"]
    assert "stage1.epochs" not in usual("clarinet")
    assert {"teacher_weight", "teacher_threshold"} <= set(usual("basset"))
    assert {"discriminator_rate", "scatter"}.isdisjoint(usual("basset"))
    assert usual("gac")[:2] == ["stage1.epochs", "stage1.rate"]
    assert {"epochs", "classifier_rate", "weight_decay"}.isdisjoint(usual("gac"))
    assert "discriminator_rate" not in usual("gac+dan")
    assert {"stage1.rate", "discriminator_rate"} <= set(usual("gac", "clarinet"))
    assert "scatter" not in usual("clarinet-no-t"), "which sets it"
    assert "complementary_loss" not in usual("source-only", "clarinet-ce")
    assert usual("clarinet", also=("precision",)) == [*usual("clarinet"), "precision"]
    assert usual("clarinet", also=("epochs",)) == usual("clarinet")


def test_settings_of_plug_ins_come_first() -> None:
    own = own_specs(OwnSettings)
    listed = [spec.name for spec in usual_settings([*own, *SETTINGS], [METHODS["clarinet"]])]
    assert listed[: len(own)] == [spec.name for spec in own]
    assert len(listed) == MAX_USUAL


@pytest.mark.parametrize(
    ("search", "first"),
    [("rate", "classifier_rate"), ("epochs", "epochs"), ("stage1 rate", "stage1.rate")],
)
def test_the_most_usual_setting_of_a_search_comes_first(search: str, first: str) -> None:
    found: list[SettingSpec] = matching_settings(SETTINGS, search)
    assert found[0].name == first
    assert matching_settings(SETTINGS, "") == list(SETTINGS)


def lines(pilot: Pilot[None]) -> PickList:
    return pilot.app.screen.query_one(SettingList).query_one(PickList)


async def test_usual_settings_are_shown_and_the_first_match_is_edited(runs_dir: Path) -> None:
    async with open_app(runs_dir, view="2", text="Settings", size=SMALL) as (_, pilot):
        await wait_until(pilot, lambda: lines(pilot).option_count == MAX_USUAL, "ten settings")
        lines(pilot).focus()
        await expect_text(pilot, "a shows all")
        await expect_text(pilot, "Several values, such as 0.003, 0.01, make a grid")
        await pilot.press("a")
        await wait_until(pilot, lambda: lines(pilot).option_count == len(SETTINGS), "all settings")
        await pilot.press("G", "a", "slash", *"rate", "enter")
        await wait_until(pilot, lambda: lines(pilot).highlighted_id == "classifier_rate", "the first match")
        await pilot.press("n")
        assert lines(pilot).highlighted_id == "discriminator_rate"
        await pilot.press("N")
        assert lines(pilot).highlighted_id == "classifier_rate"
        await pilot.press("N", "n", "enter", *"0.003, 0.01", "enter")
        await expect_text(pilot, "2 classifier_rate")
        await expect_text(pilot, "2 runs")
        await pilot.press("escape", "slash", *"bf16", "enter", "right", "escape")
        await wait_until(pilot, lambda: lines(pilot).option_count == MAX_USUAL + 1, "the changed setting stays")
        assert lines(pilot).get_option("precision")
