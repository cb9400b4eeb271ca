"""The log of a run: incremental reading, following and searching."""

from pathlib import Path

from rich.cells import cell_len
from textual.app import App, ComposeResult

from clarinet_tui.ui.feed.detail_reader import LogReader
from clarinet_tui.ui.snapshot.snapshot import MAX_LOG_LINES, LogExcerpt
from clarinet_tui.ui.widgets.log_tail import LogTail, wrap_line
from tests.support.app import expect_text, screen_text
from tests.support.ui_runs import go_on, write_run


def test_the_reader_continues_and_returns_the_same_excerpt_if_nothing_is_new(tmp_path: Path) -> None:
    run, other = write_run(tmp_path, "aaa111", until=2, end="running"), write_run(tmp_path, "bbb222")
    reader = LogReader()
    first = reader.read(run)
    assert first.text[-1].startswith("epoch 2: target")
    assert reader.read(run) is first
    go_on(run, 3, 8)
    run.log.write_text("a warning\x1b[31m of torch\n")
    grown = reader.read(run)
    assert set(grown.text[len(first.text) :]) == {"a warning[31m of torch", "epoch 3: target 66.61 %, source 88.68 %"}
    assert reader.read(other).text[-1].startswith("finished")
    assert sorted(reader.read(run).text) == sorted(grown.text)
    reader.close()


def test_only_the_last_lines_are_kept(tmp_path: Path) -> None:
    run = write_run(tmp_path, "aaa111")
    run.log.write_text("old\n")
    reader = LogReader()
    reader.read(run)
    with run.log.open("a") as log:
        log.writelines(f"line {number}\n" for number in range(MAX_LOG_LINES + 40))
    lines = reader.read(run)
    assert len(lines.text) == MAX_LOG_LINES
    assert lines.text[-1] == f"line {MAX_LOG_LINES + 39}"
    assert lines.first > 40
    reader.close()


class LogApp(App[None]):
    def compose(self) -> ComposeResult:
        yield LogTail()


async def test_new_lines_are_appended_and_visible_until_the_user_scrolls_back() -> None:
    app = LogApp()
    async with app.run_test(size=(60, 12)) as pilot:
        tail = app.query_one(LogTail)
        tail.show("b", LogExcerpt(0, ("one", "two")))
        tail.show("b", LogExcerpt(1, ("two", "three")))
        assert list(tail.lines.lines) == ["one", "two", "three"]
        tail.show("b", LogExcerpt(40, ("far", "away")))
        assert list(tail.lines.lines)[-2:] == ["far", "away"]
        tail.show("c", LogExcerpt(0, ("other",)))
        assert list(tail.lines.lines) == ["other"], "another run"
        tail.show("a", LogExcerpt(0, tuple(f"line {number}" for number in range(40))))
        await expect_text(pilot, "line 39")
        await pilot.resize_terminal(60, 6)
        await expect_text(pilot, "line 39")
        tail.lines.focus()
        await pilot.press("k", "k")
        tail.show("a", LogExcerpt(1, tuple(f"line {number}" for number in range(1, 41))))
        await pilot.pause()
        assert "line 40" not in screen_text(app)
        await pilot.press("G")
        tail.show("a", LogExcerpt(2, tuple(f"line {number}" for number in range(2, 42))))
        await expect_text(pilot, "line 41")


async def test_the_search_moves_between_matches_and_closes() -> None:
    app = LogApp()
    async with app.run_test(size=(60, 12)) as pilot:
        tail = app.query_one(LogTail)
        tail.show("a", LogExcerpt(0, tuple(f"{'Even' if number % 2 == 0 else 'odd'} {number}" for number in range(40))))
        tail.lines.focus()
        await pilot.press("slash", *"even 1")
        assert tail.lines.matching_lines() == [10, 12, 14, 16, 18]
        assert "5 of 5" in screen_text(app)
        await pilot.press("enter")
        assert tail.lines.match_line == 16
        await pilot.press("up", "up", "up")
        assert tail.lines.match_line == 10
        await pilot.press("up")
        assert tail.lines.match_line == 18
        await pilot.press("down")
        assert tail.lines.match_line == 10
        await pilot.pause()
        assert "Even 10" in screen_text(app)
        await pilot.press(*"xyz")
        await pilot.pause()
        assert "none" in screen_text(app)
        await pilot.press("escape")
        assert not tail.query_one(".search").display
        assert app.focused is tail.lines
        tail.show("b", LogExcerpt(0, ("Loss", "loss", "[bold](loss")))
        tail.lines.search_text = "Loss"
        assert tail.lines.matching_lines() == [0], "capitals are significant"
        tail.lines.search_text = "](l"
        await pilot.pause()
        assert tail.lines.matching_lines() == [2]
        assert "[bold](loss" in screen_text(app)


def test_long_lines_are_wrapped_between_words() -> None:
    assert wrap_line("short", 20) == ["short"]
    assert wrap_line("epoch 1: target 43.61 %, source 66.66 %", 24) == [
        "epoch 1: target 43.61 %,",
        "    source 66.66 %",
    ]
    assert wrap_line("x" * 30, 20) == ["x" * 20, "    " + "x" * 10]
    assert all(cell_len(row) <= 9 for row in wrap_line("数字" * 9, 9))
    assert wrap_line("hidden", 0) == ["hidden"]
