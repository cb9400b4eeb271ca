"""The History view: table, detail, filter, selection, and the first steps."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.ui.text.run import format_welcome
from clarinet_tui.ui.widgets.run_table import RunTable
from core.config import RunConfig
from tests.support.app import SIZES, SMALL, expect_text, open_app, screen_text, wait_until
from tests.support.ui_runs import NOW, go_on, three_runs, write_run


@pytest.mark.parametrize("size", SIZES)
async def test_an_empty_history_explains_how_to_start(runs_dir: Path, size: tuple[int, int]) -> None:
    async with open_app(runs_dir, text="No runs yet", size=size) as (app, pilot):
        text = screen_text(app)
        assert "clarinet demo" in text
        assert "clarinet run --headless --preset smoke" in text
        assert "Compare " not in text.splitlines()[-1]
        assert "D Demo" in text.splitlines()[-1]
        assert not runs_dir.exists()
        runs_dir.mkdir()
        write_run(runs_dir, "aaa111")
        await expect_text(pilot, "aaa111")
        assert "No runs yet" not in screen_text(app)


def test_the_commands_of_the_first_steps_use_the_shown_directory() -> None:
    text = format_welcome("/data/my runs").plain
    assert "clarinet run --headless --preset smoke --method basset --runs-dir '/data/my runs'" in text
    assert "clarinet demo --runs-dir '/data/my runs'" in text


@pytest.mark.parametrize("size", SIZES)
async def test_runs_are_shown_with_charts_and_updated(runs_dir: Path, size: tuple[int, int]) -> None:
    directory = three_runs(runs_dir)[2]
    async with open_app(runs_dir, size=size) as (app, pilot):
        assert isinstance(app.focused, RunTable), "the first keys go to the table"
        await expect_text(pilot, "● target")
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the whole history")
        text = screen_text(app)
        rows = [line[:79] for line in text.splitlines() if line[3:9] in ("aaa111", "bbb222", "ccc333")]
        assert rows[0].split()[:2] == ["▸", "ccc333"]
        assert "62%" in rows[0]
        assert any("✗ bbb222" in row and "failed" in row for row in rows)
        assert any("✓ aaa111" in row and "78.9" in row for row in rows)
        assert "▸ 1" in text.splitlines()[0]
        await pilot.press("j")
        await expect_text(pilot, "✗ gac+cdan-e")
        if size[0] > 100:
            await expect_text(pilot, "the loss is not a number")
            await expect_text(pilot, "×")
        await pilot.press("g")
        await expect_text(pilot, "▸ clarinet  Y→D")
        go_on(directory, 6, 8)
        await expect_text(pilot, "75%")
        await pilot.press("G")
        write_run(runs_dir, "ddd444", age=1)
        await expect_text(pilot, "ddd444")
        run = app.screen.query_one(RunTable).cursor_run
        assert run is not None
        assert run.id == "aaa111", "the cursor stays on its run"


async def test_the_filter_applies_while_typing_and_shows_errors(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", size=SMALL) as (app, pilot):
        await pilot.press("slash", *"state:failed")
        await expect_text(pilot, "1 match")
        assert "aaa111 " not in screen_text(app)
        await pilot.press("space", *"colour:x")
        await expect_text(pilot, "^ ")
        lines = screen_text(app).splitlines()
        place = next(number for number, line in enumerate(lines) if "^ " in line)
        assert lines[place].index("^") == lines[place - 1].index("colour")
        await pilot.press("escape")
        await expect_text(pilot, "aaa111 ")
        assert "No run matches" not in screen_text(app)
        await pilot.press("slash", *"seed:77", "enter")
        await expect_text(pilot, "No run matches. Escape clears the filter.")
        await pilot.press("escape")
        await expect_text(pilot, "aaa111 ")
        assert "No run matches" not in screen_text(app)


async def test_select_two_and_compare(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", notifications=True) as (app, pilot):
        await pilot.press("space", "k", "c")
        await expect_text(pilot, "Select another run")
        await pilot.press("j", "space", "c")
        await expect_text(pilot, "selected by id")
        assert app.state.compared_runs == ("ccc333", "bbb222")


async def test_a_range_and_all_listed_runs_are_selected(runs_dir: Path) -> None:
    for number in range(5):
        write_run(runs_dir, f"run{number}00", age=9000 - number, method="gac" if number < 2 else "clarinet")
    async with open_app(runs_dir, text="run000", size=(160, 90), notifications=True) as (app, pilot):
        table = app.screen.query_one(RunTable)

        def selected() -> list[str]:
            return list(table.selected)

        await pilot.press("j", "V")
        assert selected() == ["run300"], "without a selection, the run at the cursor"
        await pilot.press("j", "j", "V")
        assert selected() == ["run300", "run200", "run100"]
        await expect_text(pilot, "3 runs selected")
        await pilot.press("g", "shift+space")
        assert selected() == ["run100", "run200", "run300", "run400"], "from the last selected run"
        await pilot.press("escape")
        assert selected() == []
        await pilot.press("ctrl+a")
        assert selected() == ["run400", "run300", "run200", "run100", "run000"]
        await pilot.press("escape", "slash", *"method:gac", "enter")
        await wait_until(pilot, lambda: "run400" not in screen_text(app), "the filter")
        await pilot.press("ctrl+a")
        assert selected() == ["run100", "run000"], "those that are listed"
        await pilot.press("question_mark")
        await expect_text(pilot, "Select all listed runs")
        await expect_text(pilot, "Select from the last selected run to this one")


async def test_text_from_data_is_neither_markup_nor_terminal_control(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111", name="[bold]x[/] \x1b[31mred\x07 [@click=app.quit]y[/]")
    async with open_app(runs_dir, text="[bold]x[/] [31mred [@click=app.quit]y[/]", size=(200, 55)) as (app, _):
        assert "\x1b" not in screen_text(app)
        assert "\x07" not in screen_text(app)


async def test_many_runs_are_read_in_pages(runs_dir: Path) -> None:
    for number in range(450):
        created = datetime.fromtimestamp(NOW - 10_000 + number, UTC)
        RunDirectory.create(runs_dir, RunConfig(), id=f"run{number:03d}", now=created)
    async with open_app(runs_dir, text="450 runs", size=SMALL) as (app, pilot):
        await pilot.press("G")
        await expect_text(pilot, "run000")
        snapshot = app.state.snapshot
        assert snapshot is not None
        assert len(snapshot.listing.rows) <= 200
        await pilot.press("g")
        await expect_text(pilot, "run449")
        table = app.screen.query_one(RunTable)
        await pilot.press("space", "G")
        await expect_text(pilot, "run000")
        await pilot.press("k", "V")
        await wait_until(pilot, lambda: len(table.selected) == 449, "the range over several pages")
        assert (table.selected[0], table.selected[-1]) == ("run449", "run001")
        await pilot.press("escape", "ctrl+a")
        await wait_until(pilot, lambda: len(table.selected) == 450, "all runs")
        assert table.selected[-1] == "run000"
        await wait_until(pilot, lambda: app.state.snapshot and not app.state.snapshot.listing.ids, "a page alone")


async def test_an_unreadable_history_is_reported(runs_dir: Path) -> None:
    runs_dir.mkdir()
    (runs_dir / "clarinet.db").write_bytes(b"this is not a database" * 100)
    async with open_app(runs_dir, text="not a readable history", size=SMALL) as (_, pilot):
        await pilot.press("question_mark")
        await expect_text(pilot, "reindex")


async def test_a_history_deleted_while_the_app_runs_is_rebuilt(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", size=SMALL) as (_, pilot):
        for file in runs_dir.glob("clarinet.db*"):
            file.unlink()
        write_run(runs_dir, "ddd444", age=1)
        await expect_text(pilot, "ddd444")


async def test_the_demo_is_offered_only_while_there_is_no_run(held: Path) -> None:
    async with open_app(held, text="to watch the demo", size=SMALL, notifications=True) as (app, pilot):
        await pilot.press("D")
        await wait_until(pilot, lambda: app.current_mode == "live", "Live")
        assert {run.read_config().method for run in list_runs(held)} >= {"clarinet", "gac+cdan-e"}
        await wait_until(pilot, lambda: (app.state.live_run or "-") in screen_text(app), "its first run")
        await pilot.press("1")
        await expect_text(pilot, "gac+cdan-e")
        assert "D Demo" not in screen_text(app)
