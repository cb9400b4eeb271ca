"""The order of History's table: sorting, columns and groups."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.history.queries import SORT_FIELDS
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.snapshot.snapshot import RunGroup
from clarinet_tui.ui.text.tables import format_table, group_table
from clarinet_tui.ui.widgets.run_table import SORT_TITLES, RunTable
from tests.support.app import make_app, screen_text, wait_until
from tests.support.ui_runs import raise_alarm, three_runs, write_run
from tests.support.ui_snapshots import SnapCompare, press_and_freeze

SIZES = [(80, 24), (160, 48), (200, 55)]


def listed(app: ClarinetApp) -> list[str]:
    """Return the ids of the runs in the table, from the top."""
    return [line[3:9] for line in screen_text(app).splitlines() if line[3:6] in ("aaa", "bbb", "ccc")]


async def wait_for_order(pilot: Pilot[None], *runs: str) -> None:
    app = pilot.app
    assert isinstance(app, ClarinetApp)
    await wait_until(pilot, lambda: listed(app) == list(runs), f"the order {runs}")


def test_every_sort_is_a_field_of_runs() -> None:
    assert set(SORT_TITLES) <= SORT_FIELDS


async def test_clicks_and_keys_sort_and_choose_columns_which_are_kept(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_order(pilot, "ccc333", "bbb222", "aaa111")
        await pilot.press("o")
        await wait_until(pilot, lambda: "target▾" in screen_text(app), "the column")
        await wait_for_order(pilot, "aaa111", "ccc333", "bbb222")
        await pilot.press("O")
        await wait_for_order(pilot, "bbb222", "ccc333", "aaa111")
        column = screen_text(app).splitlines()[1].index("run")
        await pilot.click(RunTable, offset=(column, 0))
        await wait_for_order(pilot, "aaa111", "bbb222", "ccc333")
        assert "run▴" in screen_text(app)
        await pilot.click(RunTable, offset=(column, 0))
        await wait_for_order(pilot, "ccc333", "bbb222", "aaa111")
        assert " method " in screen_text(app).splitlines()[1]
        await pilot.press("C")
        await wait_until(pilot, lambda: "space chooses" in screen_text(app), "the dialog")
        await pilot.press("space", "j", "enter")
        await wait_until(pilot, lambda: " method " not in screen_text(app).splitlines()[1], "the hidden column")
    app = make_app(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_for_order(pilot, "ccc333", "bbb222", "aaa111")
        assert "run▾" in screen_text(app)
        assert " method " not in screen_text(app).splitlines()[1]


async def test_runs_are_grouped_and_a_group_is_opened(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    write_run(runs_dir, "aaa222", seed=2, age=7100)
    async with app.run_test(size=(100, 24)) as pilot:
        await wait_until(pilot, lambda: "aaa222" in screen_text(app))
        await pilot.press("m")
        await wait_until(pilot, lambda: "78.9 ± 0.0 (n=2)" in screen_text(app), "the mean")
        assert "gac+cdan-e" in screen_text(app)
        await pilot.press("d", "t", "s", "N")
        assert app.screen.query("#groups"), "no action on a run that is not visible"
        await pilot.press("enter")
        await wait_until(pilot, lambda: "method:clarinet task:Y->D" in screen_text(app), "the filter")
        await wait_until(pilot, lambda: "aaa222" in screen_text(app) and "bbb222" not in screen_text(app), "its runs")
        await pilot.press("m", "m", "escape")
        assert app.screen.focused is app.screen.query_one(RunTable)


def test_a_group_names_its_number_of_runs() -> None:
    group = RunGroup("clarinet", "Y->D", "method:clarinet", {}, 3, 1, 2, 81.25, 1.5, 83.0)
    unknown = RunGroup("?", "?", "", {}, 1, 0, 0, None, None, None)
    header, *lines = format_table(group_table([group, unknown]), 80)
    assert header.plain.split() == ["method", "and", "settings", "task", "runs", "target", "best"]
    assert lines[0].plain.split() == ["clarinet", "Y→D", "3", "▸1", "81.2", "±", "1.5", "(n=2)", "83.0"]
    assert lines[1].plain.split() == ["?", "?", "1", "–", "–"]


async def test_tags_and_alarms_are_visible_in_160_columns(app: ClarinetApp, runs_dir: Path) -> None:
    runs = three_runs(runs_dir)
    add_tag(runs[0], "icml")
    raise_alarm(runs[2])
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "! collapse" in screen_text(app), "the alarm")
        rows = {line[3:9]: line[:88] for line in screen_text(app).splitlines()}
        assert "#icml" in rows["aaa111"]
        assert "! collapse" in rows["ccc333"]


@pytest.mark.parametrize("size", SIZES)
def test_snapshot_of_groups(runs_dir: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    three_runs(runs_dir)
    write_run(runs_dir, "aaa222", seed=2, age=7100, gain=4.0)
    run_before = press_and_freeze("(n=2)", "m", first="aaa222")
    assert snap_compare(make_app(runs_dir), terminal_size=size, run_before=run_before)
