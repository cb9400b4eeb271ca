"""The History view: table, detail, filter, selection, and the first steps."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from clarinet_tui.runs.directory import RunDirectory, list_runs
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.widgets.run_table import RunTable
from clarinet_tui.ui.widgets.welcome import format_welcome
from core.config import RunConfig
from tests.support.app import SIZES, make_app, screen_text, wait_until
from tests.support.ui_queue import dismissed, hold_queue
from tests.support.ui_runs import NOW, go_on, three_runs, write_run


@pytest.mark.parametrize("size", SIZES)
async def test_an_empty_history_explains_how_to_start(app: ClarinetApp, runs_dir: Path, size: tuple[int, int]) -> None:
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "No runs yet" in screen_text(app))
        text = screen_text(app)
        assert "clarinet demo" in text
        assert "clarinet run --headless --preset smoke" in text
        assert "Compare " not in text.splitlines()[-1]
        assert "D Demo" in text.splitlines()[-1]
        assert not runs_dir.exists()
        runs_dir.mkdir()
        write_run(runs_dir, "aaa111")
        await wait_until(pilot, lambda: "aaa111" in screen_text(app), "the new run's appearance")
        assert "No runs yet" not in screen_text(app)


def test_the_commands_of_the_first_steps_use_the_shown_directory() -> None:
    text = format_welcome("/data/my runs").plain
    assert "clarinet run --headless --preset smoke --method basset --runs-dir '/data/my runs'" in text
    assert "clarinet demo --runs-dir '/data/my runs'" in text


@pytest.mark.parametrize("size", SIZES)
async def test_three_runs_with_charts(app: ClarinetApp, runs_dir: Path, size: tuple[int, int]) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: "● target" in screen_text(app), "the chart")
        await wait_until(pilot, lambda: app.state.snapshot and app.state.snapshot.is_ingested, "the whole history")
        text = screen_text(app)
        rows = [line[:79] for line in text.splitlines() if line[3:9] in ("aaa111", "bbb222", "ccc333")]
        assert "ccc333" in rows[0]
        assert "▸" in rows[0]
        assert "62%" in rows[0]
        assert any("✗ bbb222" in row and "failed" in row for row in rows)
        assert any("✓ aaa111" in row and "78.9" in row for row in rows)
        assert "▸ 1" in text.splitlines()[0]
        await pilot.press("j")
        await wait_until(pilot, lambda: "✗ gac+cdan-e" in screen_text(app), "the failed run's detail")
        if size[0] > 100:
            await wait_until(pilot, lambda: "the loss is not a number" in screen_text(app))
            await wait_until(pilot, lambda: "×" in screen_text(app), "the crosses of missing values")


async def test_a_running_run_is_updated(app: ClarinetApp, runs_dir: Path) -> None:
    directory = three_runs(runs_dir)[2]
    async with app.run_test(size=(160, 48)) as pilot:
        await wait_until(pilot, lambda: "62%" in screen_text(app))
        go_on(directory, 6, 8)
        await wait_until(pilot, lambda: "75%" in screen_text(app))
        assert "epoch 6/8" in screen_text(app)


async def test_the_cursor_stays_on_its_run_when_another_is_added(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        await pilot.press("G")
        write_run(runs_dir, "ddd444", age=1)
        await wait_until(pilot, lambda: "ddd444" in screen_text(app))
        run = app.screen.query_one(RunTable).cursor_run
        assert run is not None
        assert run.id == "aaa111"


async def test_the_filter_applies_while_typing_and_shows_errors(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        await pilot.press("slash", *"state:failed")
        await wait_until(pilot, lambda: "1 match" in screen_text(app))
        assert "aaa111 " not in screen_text(app)
        await pilot.press("space", *"colour:x")
        await wait_until(pilot, lambda: "^ " in screen_text(app), "the problem under its place")
        lines = screen_text(app).splitlines()
        place = next(number for number, line in enumerate(lines) if "^ " in line)
        assert lines[place].index("^") == lines[place - 1].index("colour")
        await pilot.press("escape")
        await wait_until(pilot, lambda: "aaa111 " in screen_text(app), "the whole list again")


async def test_a_filter_without_matches_explains_how_to_clear_it(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        assert "No run matches" not in screen_text(app)
        await pilot.press("slash", *"seed:77", "enter")
        await wait_until(pilot, lambda: "No run matches. Escape clears the filter." in screen_text(app), "the sentence")
        await pilot.press("escape")
        await wait_until(pilot, lambda: "aaa111 " in screen_text(app), "the whole list again")
        assert "No run matches" not in screen_text(app)


async def test_select_two_and_compare(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(160, 48), notifications=True) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        await pilot.press("space", "k", "c")
        await wait_until(pilot, lambda: "Select another run" in screen_text(app))
        await pilot.press("j", "space", "c")
        await wait_until(pilot, lambda: "selected by id" in screen_text(app), "the comparison")
        assert app.state.compared_runs == ("ccc333", "bbb222")


async def test_text_from_data_is_neither_markup_nor_terminal_control(runs_dir: Path) -> None:
    write_run(runs_dir, "aaa111", name="[bold]x[/] \x1b[31mred\x07 [@click=app.quit]y[/]")
    app = make_app(runs_dir)
    async with app.run_test(size=(200, 55)) as pilot:
        await wait_until(pilot, lambda: "[bold]x[/] [31mred [@click=app.quit]y[/]" in screen_text(app))
        assert "\x1b" not in screen_text(app)
        assert "\x07" not in screen_text(app)


async def test_many_runs_are_read_in_pages(app: ClarinetApp, runs_dir: Path) -> None:
    for number in range(450):
        created = datetime.fromtimestamp(NOW - 10_000 + number, UTC)
        RunDirectory.create(runs_dir, RunConfig(), id=f"run{number:03d}", now=created)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "450 runs" in screen_text(app), "the whole history")
        await pilot.press("G")
        await wait_until(pilot, lambda: "run000" in screen_text(app), "the oldest run")
        snapshot = app.state.snapshot
        assert snapshot is not None
        assert len(snapshot.listing.rows) <= 200
        await pilot.press("g")
        await wait_until(pilot, lambda: "run449" in screen_text(app), "the newest run")


async def test_an_unreadable_history_is_reported(app: ClarinetApp, runs_dir: Path) -> None:
    runs_dir.mkdir()
    (runs_dir / "clarinet.db").write_bytes(b"this is not a database" * 100)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "not a readable history" in screen_text(app), "the sentence")
        await pilot.press("question_mark")
        await wait_until(pilot, lambda: "reindex" in screen_text(app))


async def test_a_history_deleted_while_the_app_runs_is_rebuilt(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        for file in runs_dir.glob("clarinet.db*"):
            file.unlink()
        write_run(runs_dir, "ddd444", age=1)
        await wait_until(pilot, lambda: "ddd444" in screen_text(app), "the rebuilt history")


async def test_the_first_keys_go_to_the_table(app: ClarinetApp, runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with app.run_test(size=(80, 24)) as pilot:
        assert isinstance(app.focused, RunTable)
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        assert isinstance(app.focused, RunTable)


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    """A queue that starts nothing; its supervisor is stopped afterwards."""
    hold_queue(runs_dir)
    yield from dismissed(runs_dir)


async def test_the_demo_is_offered_only_while_there_is_no_run(app: ClarinetApp, held: Path) -> None:
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await wait_until(pilot, lambda: "to watch the demo" in screen_text(app))
        await pilot.press("D")
        await wait_until(pilot, lambda: app.current_mode == "live", "Live")
        assert {run.read_config().method for run in list_runs(held)} >= {"clarinet", "gac+cdan-e"}
        await wait_until(pilot, lambda: (app.state.live_run or "-") in screen_text(app), "its first run")
        await pilot.press("1")
        await wait_until(pilot, lambda: "gac+cdan-e" in screen_text(app), "History")
        assert "D Demo" not in screen_text(app)
