"""Evidence opens without what is slow: scipy and numpy are loaded when something is computed."""

from tests.support.cli import HEAVY, imported_modules


def test_evidence_loads_nothing_heavy() -> None:
    rooms = ("board", "comparison", "bands", "course", "latex", "machine", "markdown")
    shown = ("terminal.board", "terminal.comparison")
    code = "\n".join(f"import clarinet_tui.evidence.{room}" for room in (*rooms, *shown))
    assert not imported_modules(code) & (HEAVY | {"numpy", "rich"})
