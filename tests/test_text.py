"""The formatters that all commands and views share."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.text import (
    fit_width,
    format_age_of,
    format_bytes,
    format_count,
    format_memory,
    format_percent,
    format_task,
    percent_bars,
    printable,
    progress_bar,
    sparkline,
)


@given(st.text())
def test_printable_text_is_one_line_without_control_characters(text: str) -> None:
    shown = printable(text)
    assert not any(ord(sign) < 32 or 127 <= ord(sign) < 160 for sign in shown)
    assert printable(shown) == shown


def test_text_is_padded_or_cut_to_its_width() -> None:
    assert [fit_width("AMD EPYC", width) for width in (10, 8, 5)] == ["AMD EPYC  ", "AMD EPYC", "AMD …"]


def test_numbers_times_sizes_and_counts() -> None:
    assert [format_percent(value) for value in (None, math.nan, 81.25)] == ["–", "–", "81.2"]
    ages = [format_age_of(1e6, 1e6 + seconds) for seconds in (5, 61, 7300, 200_000)]
    assert ages == ["now", "1m ago", "2h ago", "2d ago"]
    assert [format_bytes(count) for count in (850 << 20, 5 << 28)] == ["850 MiB", "1.2 GiB"]
    assert [format_memory(used, 24 << 30) for used in (5 << 28, None)] == ["1.2/24.0 GiB", "?"]
    assert [format_count(count, "run") for count in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_progress_bar() -> None:
    assert progress_bar(0.5, 4) == ("━━", "──")
    assert progress_bar(2.0, 2) == ("━━", "")
    assert progress_bar(math.nan, 2) == ("", "──")


def test_sparkline() -> None:
    assert sparkline(range(8), 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([3.0] * 5, 3) == "▄▄▄"
    assert sparkline([1.0, math.nan, 2.0], 3) == "▁·█"
    assert sparkline([1.0, 2.0], 4) == "▁▁██"
    assert sparkline([], 3) == "   "
    assert sparkline([math.nan] * 4, 2) == "··"


def test_own_directories_are_named_by_their_last_component() -> None:
    assert format_task("/data/photos/->/data/scans.npz") == "photos→scans.npz"
    assert format_task("M->U") == "M→U"
    assert format_task(None) == "?"


@pytest.mark.parametrize(
    ("values", "bars"),
    [
        ([], "    "),
        ([0.0] * 5 + [100.0] * 5, "  ▁█"),
        ([50.0] * 30, "▅▅▅▅"),
        ([math.nan] * 5 + [120.0] * 5, "  ·█"),
    ],
)
def test_percent_bars(values: list[float], bars: str) -> None:
    assert percent_bars(values, 5, 4) == bars
