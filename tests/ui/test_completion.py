"""Completion of queries."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.history.query_language import compile_query, quote_value
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.ui.feed.history_reader import read_query_values
from clarinet_tui.ui.query_completion import complete
from clarinet_tui.ui.widgets.filter_line import format_candidates
from tests.support.app import SMALL, expect_text, open_app, screen_text
from tests.support.histories import ingested
from tests.support.ui_runs import three_runs, write_run

KNOWN = {"method": ("clarinet", "gac", "gac+dan"), "tag": ("icml", "final run"), "task": ("U->M",)}


def offered(text: str) -> tuple[str, ...]:
    return complete(text, len(text), KNOWN)[1]


@pytest.mark.parametrize(
    ("text", "candidates"),
    [
        ("me", ("method:", "memory>", "memory_limit_gb:")),
        ("stage1.e", ("stage1.epochs:",)),
        ("flip:", ("true", "false")),
        ("met", ("method:",)),
        ("ac", ("acc>",)),
        ("method:", ("clarinet", "gac", "gac+dan")),
        ("method:GAC", ("gac", "gac+dan")),
        ("method:gac+d", ("gac+dan",)),
        ("method:gac+dan", ()),
        ("method:dan", ("gac+dan",)),
        ("method:clarinet,g", ("gac", "gac+dan")),
        ("acc>80 -(tag:i", ("icml", '"final run"')),
        ('tag:"final r', ('"final run"',)),
        ("task:U->", ("U->M",)),
        ("state:fi", ("finished",)),
        ("state:run", ("running",)),
        ("-so", ("source>", "source_size:", "source_fraction:")),
        ("since:y", ("yesterday", "today")),
        ("colour:", ()),
        ("acc>8", ()),
        ("zzz", ()),
    ],
)
def test_fields_and_values(text: str, candidates: tuple[str, ...]) -> None:
    assert set(offered(text)) == set(candidates)


def test_a_candidate_replaces_the_word_before_the_cursor() -> None:
    assert offered("")[:2] == offered("acc>80 ")[:2] == ("method:", "task:")
    text = "acc>80 method:g seed:1"
    start, _ = complete(text, text.index(" seed"), KNOWN)
    assert text[start : text.index(" seed")] == "g"


@given(st.text(), st.integers(0, 50))
def test_any_text_can_be_completed(text: str, cursor: int) -> None:
    start, _ = complete(text, min(cursor, len(text)), KNOWN)
    assert 0 <= start <= len(text)


@given(st.text(min_size=1).filter(lambda text: text.isprintable()))
def test_a_quoted_value_is_one_value_of_a_query(value: str) -> None:
    _, parameters = compile_query(f"name:{quote_value(value)}", 0.0)
    assert len(parameters) == 1


def test_query_values_of_a_history(tmp_path: Path) -> None:
    add_tag(write_run(tmp_path, "aaa111", method="my-own", name="a name", sweep="the rates"), "icml")
    with ingested(tmp_path) as db:
        values = read_query_values(db)
    assert values["method"][0] == "clarinet"
    assert values["method"][-1] == "my-own"
    assert values["tag"] == ("icml",)
    assert values["name"] == ("a name",)
    assert values["sweep"] == ("the rates",)
    assert "U->M" in values["task"]


def test_the_selected_candidate_is_always_visible() -> None:
    candidates = tuple(f"candidate{number}" for number in range(20))
    for chosen in (0, 7, 19):
        assert f"candidate{chosen}  " in format_candidates(candidates, chosen, 40).plain
        assert len(format_candidates(candidates, chosen, 40).plain) <= 44


async def test_errors_are_marked_and_tab_steps_through_the_candidates(runs_dir: Path) -> None:
    three_runs(runs_dir)
    async with open_app(runs_dir, text="aaa111", size=SMALL) as (app, pilot):
        await pilot.press("slash", "space", "space", *"colour:x")
        await expect_text(pilot, "^ expected a setting")
        lines = screen_text(app).splitlines()
        place = next(number for number, line in enumerate(lines) if "^ " in line)
        assert lines[place].index("^") == lines[place - 1].index("colour")
        await pilot.press("escape", "slash")
        await expect_text(pilot, "method:  task:  state:")
        await pilot.press(*"met", "tab")
        await expect_text(pilot, "/ method:")
        await expect_text(pilot, "clarinet-no-t")
        assert "^" not in screen_text(app).replace("^p", "")
        await pilot.press(*"gac+c", "tab")
        await expect_text(pilot, "1 match")
        assert "/ method:gac+cdan-e" in screen_text(app)
        await pilot.press("space", *"st", "tab")
        assert "/ method:gac+cdan-e state:" in screen_text(app)
        await pilot.press("tab")
        assert "/ method:gac+cdan-e stage:" in screen_text(app)
        await pilot.press("shift+tab", *"fa", "tab", "enter")
        await expect_text(pilot, "/ method:gac+cdan-e state:failed")
        await expect_text(pilot, "bbb222")
        assert "starting" not in screen_text(app)
