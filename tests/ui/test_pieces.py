"""The small things that views are made of."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from clarinet_tui.history.queries import RunRow, Series
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import fit_width, format_age, format_percent, printable, progress_bar, sparkline
from clarinet_tui.ui.snapshot.curves import insert_window
from clarinet_tui.ui.snapshot.x_axes import AxisMap, make_axis_map
from clarinet_tui.ui.text import run_panes as sheets
from clarinet_tui.ui.widgets.run_columns import COLUMNS, RenderContext, applicable_columns, fit_columns, render_cell


def run_row(**changes: object) -> RunRow:
    known: dict[str, object] = dict.fromkeys(RunRow.__dataclass_fields__)
    known |= {
        "id": "aaa111",
        "state": RunState.RUNNING,
        "created": 0.0,
        "tags": (),
        "notes": (),
        "note": "",
        "name": "",
    }
    known |= {"family": "one-step", "iterations_given": 0}
    return RunRow(**(known | changes))  # type: ignore[arg-type]


@given(st.text())
def test_printable_text_has_one_line_and_steers_nothing(text: str) -> None:
    shown = printable(text)
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in shown)
    assert printable(shown) == shown


@given(st.text(max_size=40), st.text(max_size=40), st.integers(1, 60))
def test_a_cell_has_exactly_its_width_whatever_is_in_it(method: str, name: str, width: int) -> None:
    run = run_row(method=method, name=name, tags=(name,), iteration=3, iterations_total=10, seconds=5.0)
    for column in COLUMNS:
        assert sum(cell_len(text) for text, _ in render_cell(column, run, width, RenderContext(100.0, {run.id: (1.0, 2.0)}))) == width


@given(st.integers(1, 300))
def test_columns_never_need_more_than_there_is(width: int) -> None:
    fitted = fit_columns(COLUMNS, width)
    assert sum(size + 1 for _, size in fitted) <= width


def test_columns_without_anything_to_say_are_left_out() -> None:
    titles = {column.title for column in applicable_columns([run_row()])}
    assert "name and tags" not in titles
    assert "name and tags" in {column.title for column in applicable_columns([run_row(tags=("icml",))])}


def test_a_run_of_which_nothing_is_known_can_be_shown() -> None:
    run = run_row(state=RunState.QUEUED)
    assert "?" in sheets.format_about(run, None, 0.0, 40).plain
    assert run.progress is None


def test_a_text_is_filled_or_cut_to_its_width() -> None:
    assert [fit_width("AMD EPYC", width) for width in (10, 8, 5)] == ["AMD EPYC  ", "AMD EPYC", "AMD …"]


def test_bars_percentages_and_times() -> None:
    assert progress_bar(0.5, 4) == ("━━", "──")
    assert progress_bar(2.0, 2) == ("━━", "")
    assert progress_bar(math.nan, 2) == ("", "──")
    assert [format_percent(value) for value in (None, math.nan, 81.25)] == ["–", "–", "81.2"]
    assert [format_age(seconds) for seconds in (5, 61, 7300, 200_000)] == ["now", "1m ago", "2h ago", "2d ago"]


def test_sparks() -> None:
    assert sparkline(range(8), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([3.0] * 5, 3) == "▄▄▄"
    assert sparkline([1.0, math.nan, 2.0], 3) == "▁·█"
    assert sparkline([1.0, 2.0], 4) == "▁▁██"
    assert sparkline([], 3) == "   "
    assert sparkline([math.nan] * 4, 2) == "··"


def pace() -> AxisMap:
    rows: list[dict[str, Any]] = [
        {"iteration": 100, "epoch": 1, "adaptation_epoch": None, "seconds": 10.0},
        {"iteration": 200, "epoch": 2, "adaptation_epoch": None, "seconds": 20.0},
        {"iteration": 400, "epoch": 3, "adaptation_epoch": 1, "seconds": 60.0},
        {"iteration": 600, "epoch": 4, "adaptation_epoch": 2, "seconds": 100.0},
    ]
    return make_axis_map(rows)


def test_iterations_as_epochs_adaptation_epochs_and_seconds() -> None:
    x = np.array([50.0, 300.0, 800.0])
    assert pace().to_axis("epoch", x).tolist() == [0.5, 2.5, 5.0]
    assert pace().to_axis("time", x).tolist() == [5.0, 40.0, 140.0]
    adaptation = pace().to_axis("adaptation epoch", x)
    assert math.isnan(adaptation[0])
    assert adaptation[1:].tolist() == [0.5, 3.0]


def test_a_run_that_was_given_its_stage_1_has_spent_nothing_on_it() -> None:
    said = [{"event": "stage", "stage": "dan", "iteration": 1000, "epoch": 8, "superseded": False}]
    rows: list[dict[str, Any]] = [{"iteration": 1200, "epoch": 9, "adaptation_epoch": 1, "seconds": 40.0}]
    given = make_axis_map(rows, said)
    x = np.array([1000.0, 1100.0, 1300.0])
    assert given.to_axis("time", x).tolist() == [0.0, 20.0, 60.0]
    assert given.to_axis("epoch", x).tolist() == [8.0, 8.5, 9.5]
    assert given.to_iteration("time", 20.0) == pytest.approx(1100.0)


def test_there_and_back_again() -> None:
    for axis in ("iteration", "epoch", "time"):
        place = float(pace().to_axis(axis, np.array([300.0]))[0])
        assert pace().to_iteration(axis, place) == pytest.approx(300.0)


def test_a_run_without_evaluations_has_only_iterations() -> None:
    empty = make_axis_map([])
    assert np.isnan(empty.to_axis("epoch", np.array([1.0]))).all()
    assert empty.to_iteration("epoch", 3.0) == 3.0


def test_detail_replaces_the_overview_where_it_is() -> None:
    def series(*x: float) -> Series:
        values = np.array(x)
        return Series(values, values, values, values, np.zeros(len(x), np.int64))

    joined = insert_window(series(0, 10, 20, 30), series(9, 11, 13, 21))
    assert joined.x.tolist() == [0, 9, 11, 13, 21, 30]
    assert insert_window(series(1, 2), series()).x.tolist() == [1, 2]
