"""Evidence imports scipy and numpy only when something is computed."""

from tests.support.cli import HEAVY, imported_modules


def test_analysis_imports_no_heavy_modules() -> None:
    analysis = ("bands", "board", "board_latex", "board_markdown", "comparison", "export", "training_cost")
    terminal = ("terminal.board", "terminal.comparison")
    code = "\n".join(f"import clarinet_tui.analysis.{module}" for module in (*analysis, *terminal))
    assert not imported_modules(code) & (HEAVY | {"numpy", "rich"})
