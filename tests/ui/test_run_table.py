"""The table of runs, and what is repainted when it changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.strip import Strip

from clarinet_tui.runs.state import RunState
from clarinet_tui.ui.snapshot.snapshot import Listing
from clarinet_tui.ui.text.run import format_about, format_title
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.run_table import (
    COLUMNS,
    SORT_TITLES,
    RunTable,
    applicable_columns,
    fit_run_columns,
    render_cell,
)
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.methods import methods
from tests.support.ui_runs import run_row


class RecordingTable(RunTable):
    """Records which of its lines were painted."""

    def __init__(self) -> None:
        super().__init__(now=lambda: 0.0)
        self.painted: set[int] = set()

    def render_line(self, y: int) -> Strip:
        self.painted.add(y)
        return super().render_line(y)


class TableApp(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.table, self.text = RecordingTable(), StyledText()

    def compose(self) -> ComposeResult:
        yield self.table
        yield self.text


def listing(*iterations: int) -> Listing:
    rows = tuple(
        run_row(id=f"run{place}", iteration=iteration, iterations_total=100)
        for place, iteration in enumerate(iterations)
    )
    return Listing(rows, total=len(rows), all_runs=len(rows))


async def test_only_what_changed_is_repainted() -> None:
    app = TableApp()
    async with app.run_test(size=(100, 20)) as pilot:

        async def painted_by(shown: Listing) -> set[int]:
            app.table.painted.clear()
            app.table.show(shown)
            await pilot.pause()
            return app.table.painted

        await painted_by(listing(1, 50, 3))
        assert await painted_by(listing(1, 50, 3)) == set()
        assert await painted_by(listing(1, 60, 3)) == {2}
        app.table.action_go_to_end(True)
        assert await painted_by(listing(1, 60)) >= {0, 1, 2, 3}
        assert app.table.cursor_run is not None
        assert app.table.cursor_run.id == "run1", "the last run of a shorter list"
        updates: list[object] = []
        app.text.update = lambda content, **more: updates.append(content)  # type: ignore[method-assign]
        for text, role in (("a", "strong"), ("a", "strong"), ("a", "muted"), ("b", "muted")):
            app.text.set_content(styled((text, role)))
        assert len(updates) == 3


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 60))
def test_a_cell_has_exactly_its_width(method: str, name: str, width: int) -> None:
    run = run_row(method=method, name=name, tags=(name,), iteration=3, iterations_total=10, seconds=5.0)
    for column in COLUMNS:
        assert sum(cell_len(text) for text, _ in render_cell(column, run, width, 100.0, (1.0, 2.0))) == width


@given(st.integers(1, 300))
def test_columns_fit_the_width(width: int) -> None:
    fitted = fit_run_columns(COLUMNS, width)
    assert sum(size + 1 for _, size in fitted) <= width


def test_columns_that_matter_are_shown_on_a_narrow_screen() -> None:
    runs = [run_row(id=name, method=name, name="a long name", alarms=("collapse",)) for name in methods()]
    columns = {column.title: column.least for column, _ in fit_run_columns(applicable_columns(runs), 78)}
    assert columns["method"] == max(map(len, methods())), "without spare width"
    assert {"run", "task", "target", "alarm"} <= columns.keys()
    narrow = [column.title for column, _ in fit_run_columns(applicable_columns([run_row(name="a long name")]), 58)]
    assert "progress" in narrow, "a name is dropped before the progress"
    runs = [run_row(), run_row(method="gac+cdan-e")]
    beside_scrollbar = fit_run_columns(applicable_columns(runs, sort="created"), 78)
    assert [column.title for column, _ in beside_scrollbar][-3:] == ["progress", "took", "created"]
    titles = {column.title for column in applicable_columns(runs)}
    assert "name and tags" not in titles, "no run has a value"
    assert "name and tags" in {column.title for column in applicable_columns([run_row(tags=("icml",))])}


@pytest.mark.parametrize("sort", [column.sort for column in COLUMNS if column.title and column.sort])
def test_the_title_of_the_sorted_column_is_not_cut(sort: str) -> None:
    run = run_row(name="a", gpu_use=1.0, gpu_memory=1.0, memory=1.0, energy=1.0, pseudo_label_accuracy=1.0)
    columns = fit_run_columns(applicable_columns([run], sort=sort), 240)
    headers = [column.header(sort, True, size) for column, size in columns]
    assert f"{SORT_TITLES[sort]}▾" in " ".join(headers)
    assert [len(header) for header in headers] == [size for _, size in columns]


def test_a_long_name_hides_neither_state_nor_id() -> None:
    run = run_row(id="3l8vrnxuz", method="fwd+basset-kept", name="a name " * 20, alarms=("collapse",))
    title = format_title(run).plain[:78]
    assert run.state in title
    assert "collapse" in title
    assert run.id in title


def test_a_run_without_values_can_be_shown() -> None:
    run = run_row(state=RunState.QUEUED)
    assert "no iteration yet" in format_about(run, None, 0.0, 40).plain
    assert run.progress is None
