"""Open alarms in the app: in the table, the detail, Live and the charts, and as a filter."""

from pathlib import Path

import pytest

from clarinet_tui.history.queries import Alarm
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.ui.text.run import format_alarms, name_alarms
from tests.support.app import SIZES, SMALL, expect_text, make_app, open_app, screen_text, wait_until
from tests.support.ui_runs import raise_alarm, three_runs
from tests.support.ui_snapshots import SnapCompare, press_and_freeze

SENTENCE = "collapse since iteration 50: 96 % of the target images"


@pytest.fixture
def alarmed(runs_dir: Path) -> Path:
    """Three runs, of which the running one has an open alarm."""
    raise_alarm(three_runs(runs_dir)[2])
    return runs_dir


async def test_table_detail_and_about_name_the_alarm_until_it_ends(alarmed: Path) -> None:
    async with open_app(alarmed, text="! collapse", size=SMALL) as (app, pilot):
        rows = [line for line in screen_text(app).splitlines() if line[3:9] == "ccc333"]
        assert "! collapse" in rows[0]
        await pilot.press("p")
        await wait_until(pilot, lambda: SENTENCE in screen_text(app), "the sentence")
        assert "Lower classifier_rate" in screen_text(app)
        raise_alarm(RunDirectory(alarmed, "ccc333"), over=True)
        await wait_until(pilot, lambda: "collapse" not in screen_text(app), "its end")


async def test_a_key_filters_by_open_alarms(alarmed: Path) -> None:
    async with open_app(alarmed, text="! collapse", size=SMALL) as (app, pilot):
        await pilot.press("a")
        await expect_text(pilot, "1 match")
        assert "aaa111" not in screen_text(app)
        await pilot.press("a")
        await expect_text(pilot, "aaa111")
        await pilot.press("slash", *"alarm:")
        await wait_until(pilot, lambda: "collapse" in screen_text(app).splitlines()[2], "the completion")


def test_untrusted_text_of_an_alarm_is_printable() -> None:
    alarm = Alarm("\x1b[31mx", "a\x07b", "c\nd", None, None)
    lines = [line.plain for line in format_alarms([alarm], 40)]
    assert lines == ["! [31mx: ab", "  c d"]
    assert name_alarms(["collapse", "pinned", "nan"]) == "! collapse +2"


@pytest.mark.parametrize("size", SIZES)
def test_snapshot_of_history(alarmed: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    assert snap_compare(make_app(alarmed), terminal_size=size, run_before=press_and_freeze("┊! collapse"))


@pytest.mark.parametrize("size", SIZES)
def test_snapshot_of_live(alarmed: Path, size: tuple[int, int], snap_compare: SnapCompare) -> None:
    assert snap_compare(make_app(alarmed, "ccc333"), terminal_size=size, run_before=press_and_freeze("┊! collapse"))
