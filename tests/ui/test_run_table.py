"""The table of runs, and how little of it is painted again."""

from dataclasses import replace

from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.strip import Strip

from clarinet_tui.ui.snapshot.listing import Listing
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.run_table import RunTable
from clarinet_tui.ui.widgets.styled_text import StyledText
from tests.ui.test_pieces import run_row


class Painted(RunTable):
    """Remembers which of its lines were painted."""

    def __init__(self) -> None:
        super().__init__(now=lambda: 0.0)
        self.painted: set[int] = set()

    def render_line(self, y: int) -> Strip:
        self.painted.add(y)
        return super().render_line(y)


class TableApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.words = Painted(), StyledText()

    def compose(self) -> ComposeResult:
        yield self.table
        yield self.words


def listing(*iterations: int) -> Listing:
    rows = tuple(
        run_row(id=f"run{place}", iteration=iteration, iterations_total=100)
        for place, iteration in enumerate(iterations)
    )
    return Listing(rows, total=len(rows), all_runs=len(rows))


async def test_only_the_row_that_has_news_is_painted_again() -> None:
    app = TableApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.table.show(listing(1, 50, 3))
        await pilot.pause()
        assert await painted_by(app, pilot, listing(1, 50, 3)) == set()
        assert await painted_by(app, pilot, listing(1, 60, 3)) == {2}
        assert await painted_by(app, pilot, listing(1, 60)) >= {0, 1, 2, 3}


async def painted_by(app: TableApp, pilot: Pilot[None], shown: Listing) -> set[int]:
    app.table.painted.clear()
    app.table.show(shown)
    await pilot.pause()
    return app.table.painted


async def test_the_cursor_of_a_shorter_list_is_on_its_last_run() -> None:
    app = TableApp()
    async with app.run_test(size=(100, 20)) as pilot:
        app.table.show(listing(*range(9)))
        app.table.action_go_to_end(True)
        app.table.show(replace(listing(1, 2), query=""))
        await pilot.pause()
        assert app.table.cursor_run is not None
        assert app.table.cursor_run.id == "run1"


async def test_words_said_twice_are_painted_once() -> None:
    app = TableApp()
    async with app.run_test(size=(100, 20)):
        updates: list[object] = []
        app.words.update = lambda content, **more: updates.append(content)  # type: ignore[method-assign]
        for words in (styled(("a", "strong")), styled(("a", "strong")), styled(("a", "muted")), styled(("b", "muted"))):
            app.words.set_content(words)
        assert len(updates) == 3
