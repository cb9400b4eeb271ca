"""The published results are complete and consistent."""

import pytest

from clarinet_tui.analysis.published import ABLATION_METHODS, MAIN_METHODS, PUBLISHED, method_title, published_average
from clarinet_tui.analysis.statistics import Summary
from core.tasks import PAPER_TASKS

AVERAGES = {
    "gac": 60.585,
    "gac+dan": 65.968,
    "gac+dann": 74.483,
    "gac+cdan-e": 79.263,
    "clarinet": 82.426,
    "clarinet-ce": 2.404,
    "clarinet-no-t": 79.946,
}
"""As printed."""


def test_both_tables_are_complete_and_have_the_printed_averages() -> None:
    assert set(PUBLISHED) == {(method, task) for method in {*MAIN_METHODS, *ABLATION_METHODS} for task in PAPER_TASKS}
    assert {method: published_average(method) for method in AVERAGES} == pytest.approx(AVERAGES, abs=6e-4)
    assert PUBLISHED["clarinet", "M->U"] == Summary(5, 94.538, 0.292)
    assert PUBLISHED["gac+cdan-e", "S->M"].std == 2.983
    assert PUBLISHED["gac", "Y->S"].std is None
    assert PUBLISHED["clarinet-no-t", "M->m"].mean == 72.128


def test_titles_are_those_of_the_paper() -> None:
    assert [method_title(method) for method in MAIN_METHODS] == ["GAC", "GAC+DAN", "GAC+DANN", "GAC+CDAN_E", "CLARINET"]
    assert method_title("somebodys-plug-in") == "somebodys-plug-in"
