"""Tables: which columns fit, and what each writer makes of a cell."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clarinet_tui.cli.output import print_json_rows
from clarinet_tui.tables.table import Cell, Column, fit_columns, make_table
from clarinet_tui.tables.writers import (
    escape_latex,
    html_templates,
    to_latex,
    to_markdown,
    to_rich,
    write_csv,
)
from tests.support.tables import printed

TABLE = make_table(
    ["id", Column("mean %", right=True, name="mean"), Column("notes", optional=True), Column("secret", hidden=True)],
    [["a", Cell("83.6", "best", note="3/5", value=83.612), None, 7], ["b\x1b[31m", None, "", 8]],
    title="Results",
)
COLUMNS = [Column("a"), Column("b", least=4, drop=2), Column("c", least=3, drop=1, growth=2), Column("d", drop=3)]


def test_a_terminal_shows_text_and_notes_without_control_characters() -> None:
    assert printed(to_rich(TABLE)).splitlines() == ["id       mean %", "a      83.6 3/5", "b[31m          "]


def test_programs_read_values_by_name() -> None:
    assert next(TABLE.objects()) == {"id": "a", "mean": 83.612, "notes": "", "secret": 7}
    text = io.StringIO()
    assert write_csv(text, TABLE.names, TABLE.objects()) == 2
    assert text.getvalue() == "id,mean,notes,secret\na,83.612,,7\nb[31m,,,8\n"


@pytest.mark.parametrize(
    ("rows", "lines", "text"),
    [
        ([], False, "[]\n"),
        ([], True, ""),
        ([{"a": 1}, {}], False, '[\n  {"a": 1},\n  {}\n]\n'),
        ([{"a": 1}], True, '{"a":1}\n'),
    ],
)
def test_json(rows: list[object], lines: bool, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_json_rows(rows, lines=lines)
    assert capsys.readouterr().out == text


def test_columns_are_cut_before_they_are_dropped() -> None:
    full = [3, 10, 9, 5]
    assert fit_columns(COLUMNS, full, 80) == {0: 3, 1: 10, 2: 9, 3: 5}
    assert fit_columns(COLUMNS, full, 19) == {0: 3, 1: 4, 2: 3, 3: 5}
    assert fit_columns(COLUMNS, full, 18) == {0: 3, 1: 5, 2: 6}, "d is dropped first, and its room is shared"
    assert fit_columns(COLUMNS, full, 2) == {0: 3}, "a is never dropped"


@given(st.lists(st.integers(0, 40), min_size=4, max_size=4), st.integers(41, 200))
def test_columns_fit_and_leave_little_room_while_one_is_cut(full: list[int], width: int) -> None:
    fitted = fit_columns(COLUMNS, full, width)
    room = width - sum(fitted.values()) - len(fitted)
    assert room >= 0
    assert room < 3 or all(size == full[position] for position, size in fitted.items())


def test_a_wide_table_is_split_after_its_labels() -> None:
    parts = [[column.title for column in part.columns] for part in make_table("tabcde", []).split(2)]
    assert parts == [["t", "a", "b"], ["t", "c", "d"], ["t", "e"]]


def test_html_escapes_text_and_removes_control_characters() -> None:
    hostile = make_table(
        ["<a>"], [[Cell("<b>\x1b[2J\u202e", "best", "'n'")], [Cell(parts=(("x&y", "detail"),))]], "<t>"
    )
    source = '{% from "table.html" import write_table %}{{ write_table(table, "numbers") }}{{ text }}'
    page = html_templates("clarinet_tui.tables").from_string(source).render(table=hostile, text="a\x00b\n<\u2066")
    assert '<p class="caption">&lt;t&gt;</p>' in page
    assert "<th><b>&lt;b&gt;[2J</b><small>&#39;n&#39;</small></th>" in page
    assert '<span class="detail">x&amp;y</span>' in page
    assert page.endswith("ab\n&lt;")


def test_documents_escape_text_and_mark_emphasis() -> None:
    table = make_table(["a_b", Column("%", right=True)], [["x|y", Cell("1.0±0.1", "best", "3/5")], ["  p", None]], "T*")
    assert to_markdown(table).splitlines() == [
        "**T\\***", "", "| a\\_b | % |", "| --- | ---: |", "| x\\|y | **1.0±0.1** (3/5) |", "|   p |  |"
    ]  # fmt: skip
    latex = to_latex(table, ["50 %"])
    assert "a\\_b & \\% \\\\\n\\midrule\nx\\textbar{}y & \\textbf{1.0$\\pm$0.1} (3/5) \\\\\n\\quad p &  \\\\\n" in latex
    assert "\\raggedright\n50 \\%\n\\end{minipage}" in latex


def test_latex_escapes_special_and_missing_characters() -> None:
    assert escape_latex("50% & _x_ #1 {a} $b$") == r"50\% \& \_x\_ \#1 \{a\} \$b\$"
    assert escape_latex("\\input{x}~^") == r"\textbackslash{}input\{x\}\textasciitilde{}\textasciicircum{}"
    assert escape_latex("[1pt]*") == "{[}1pt{]}{*}", "after a line's end these would be its arguments"
    assert escape_latex("é → 中\n%") == r"é $\rightarrow$ \texttt{U+4E2D} \%"
