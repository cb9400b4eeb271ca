"""Settings as columns of History's table: those that differ, those that are chosen, and the order by one of them."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.run_table import (
    RunTable,
    applicable_columns,
    fit_run_columns,
    is_largest_first,
    make_setting_column,
)
from tests.support.app import make_app, screen_text, wait_until
from tests.support.ui_runs import run_row, write_run

RATES = {"aaa111": 0.001, "bbb222": 0.01, "ccc333": 0.003}


@pytest.fixture
def sweep(runs_dir: Path) -> Path:
    """Three runs that differ in their rate, the last one newest."""
    for age, (run, rate) in enumerate(RATES.items()):
        write_run(runs_dir, run, classifier_rate=rate, age=9000 - age)
    return runs_dir


def titles(app: ClarinetApp) -> str:
    """Return the head of the table."""
    return screen_text(app).splitlines()[1][: app.screen.query_one(RunTable).size.width]


def column(app: ClarinetApp, title: str) -> list[str]:
    """Return the cells below a title, which are aligned to the right."""
    end = titles(app).index(title) + len(title)
    lines = [line for line in screen_text(app).splitlines() if line[3:9] in RATES]
    return [line[:end].split()[-1] for line in lines]


async def wait_for(pilot: Pilot[None], title: str, *cells: str) -> None:
    app = pilot.app
    assert isinstance(app, ClarinetApp)
    await wait_until(pilot, lambda: title in titles(app) and column(app, title) == list(cells), f"{title}: {cells}")


@pytest.mark.parametrize("width", [80, 200])
async def test_settings_that_differ_are_columns_and_sort(sweep: Path, width: int) -> None:
    app = make_app(sweep)
    async with app.run_test(size=(width, 30)) as pilot:
        await wait_for(pilot, "classifier_rate", "0.003", "0.01", "0.001")
        assert "stage1.epochs" not in titles(app)
        place = titles(app).index("classifier_rate")
        await pilot.click(RunTable, offset=(place, 0))
        await wait_for(pilot, "classifier_rate▾", "0.01", "0.003", "0.001")
        await pilot.press("O")
        await wait_for(pilot, "classifier_rate▴", "0.001", "0.003", "0.01")
    app = make_app(sweep)
    async with app.run_test(size=(width, 30)) as pilot:
        await wait_for(pilot, "classifier_rate▴", "0.001", "0.003", "0.01")


async def test_keys_sort_by_each_shown_column(sweep: Path) -> None:
    app = make_app(sweep)
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for(pilot, "classifier_rate", "0.003", "0.01", "0.001")
        table = app.screen.query_one(RunTable)
        assert "classifier_rate" in table.sort_fields()
        for _ in range(1 + len(table.sort_fields())):
            if table.order[0] == "classifier_rate":
                break
            await pilot.press("o")
        await wait_for(pilot, "classifier_rate▾", "0.01", "0.003", "0.001")


async def test_chosen_settings_are_kept(sweep: Path) -> None:
    app = make_app(sweep)
    async with app.run_test(size=(120, 48)) as pilot:
        await wait_for(pilot, "classifier_rate", "0.003", "0.01", "0.001")
        await choose(pilot, "classifier_rate", "epochs")
        await wait_until(pilot, lambda: " epochs " in titles(app) and "classifier_rate" not in titles(app))
        assert column(app, " epochs") == ["500"] * 3
    app = make_app(sweep)
    async with app.run_test(size=(120, 48)) as pilot:
        await wait_for(pilot, " epochs", *["500"] * 3)
        assert "classifier_rate" not in titles(app)
        await choose(pilot, "classifier_rate", "epochs", "method")
        await wait_for(pilot, "classifier_rate", "0.003", "0.01", "0.001")
        assert " epochs " not in titles(app)
        assert "method" not in titles(app)
        values = app.state.preferences.values
        assert (values.hidden_columns, values.shown_settings) == ("method", "")


async def choose(pilot: Pilot[None], *names: str) -> None:
    """Turn these columns on or off in the dialog, which has settings that differ before other settings."""
    from clarinet_tui.ui.screens.dialogs import ChoicesDialog

    await pilot.press("C")
    await wait_until(pilot, lambda: isinstance(pilot.app.screen, ChoicesDialog), "the dialog")
    choices = pilot.app.screen.query_one("SelectionList")
    listed = [str(option.value) for option in choices.options]  # type: ignore[attr-defined]
    assert listed.index("name and tags") < listed.index("classifier_rate") < listed.index("source_size")
    assert listed[listed.index("name and tags") + 1] == "classifier_rate"
    for name in names:
        choices.highlighted = listed.index(name)  # type: ignore[attr-defined]
        await pilot.press("space")
    await pilot.press("enter")
    await pilot.pause()


async def test_an_unknown_order_of_the_preferences_lists_the_newest_first(sweep: Path) -> None:
    app = make_app(sweep)
    app.state.preferences.save(sort="hologram")
    async with app.run_test(size=(120, 30)) as pilot:
        await wait_for(pilot, "classifier_rate", "0.003", "0.01", "0.001")
        assert "hologram" not in titles(app)


async def test_a_tag_hides_no_column_beside_the_detail(sweep: Path) -> None:
    add_tag(RunDirectory(sweep, "aaa111"), "icml")
    shown = {}
    for width in (100, 139, 140, 159, 160, 180, 200):
        app = make_app(sweep)
        async with app.run_test(size=(width, 40)) as pilot:
            await wait_until(pilot, lambda app=app: "name and tags" in titles(app), "the tag")  # type: ignore[misc]
            shown[width] = set(titles(app).replace("▾", "").split())
    assert all(columns >= shown[100] for columns in shown.values()), shown


def test_the_first_settings_that_differ_give_way_last() -> None:
    varied = ("classifier_rate", "discriminator_rate", "epochs", "weight_decay")
    run = run_row(settings=dict.fromkeys(varied, 0.001))

    def fitted(width: int, sort: str = "created") -> list[str]:
        columns = applicable_columns([run], sort=sort, varied=varied)
        return [column.title for column, _ in fit_run_columns(columns, width)]

    assert "classifier_rate" in fitted(78)
    assert {"classifier_rate", "target", "progress"} <= set(fitted(78))
    assert {"epochs", "weight_decay"}.isdisjoint(fitted(98))
    assert set(varied) <= set(fitted(200))
    assert "weight_decay" in fitted(78, "weight_decay"), "the order of the runs is shown"
    chosen = applicable_columns([run], chosen=("epochs",), varied=varied)
    assert "epochs" in [column.title for column, _ in fit_run_columns(chosen, 78)]
    assert make_setting_column("epochs") == make_setting_column("epochs"), "or all rows are repainted"
    assert is_largest_first("epochs")
    assert not is_largest_first("method")
