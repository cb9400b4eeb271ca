"""Analysis imports scipy, numpy and rich only when something is computed or shown."""

from tests.support.cli import HEAVY, imported_modules


def test_analysis_imports_no_heavy_modules() -> None:
    modules = ("seed_curves", "board", "board_table", "comparison", "comparison_table")
    code = "\n".join(f"import clarinet_tui.analysis.{module}" for module in modules)
    assert not imported_modules(code) & (HEAVY | {"numpy", "rich"})
