"""Evidence imports scipy and numpy only when something is computed."""

from tests.support.cli import HEAVY, imported_modules


def test_evidence_imports_no_heavy_modules() -> None:
    evidence = ("bands", "board", "board_latex", "board_markdown", "comparison", "export", "training_cost")
    terminal = ("terminal.board", "terminal.comparison")
    code = "\n".join(f"import clarinet_tui.evidence.{module}" for module in (*evidence, *terminal))
    assert not imported_modules(code) & (HEAVY | {"numpy", "rich"})
