"""Evidence opens without what is slow: scipy and numpy are loaded when something is computed."""

from tests.cli.test_imports import HEAVY, loaded_by


def test_evidence_loads_nothing_heavy() -> None:
    rooms = ("board", "comparison", "bands", "course", "latex", "machine", "markdown")
    shown = ("terminal.board", "terminal.comparison")
    code = "\n".join(f"import clarinet_tui.evidence.{room}" for room in (*rooms, *shown))
    assert not loaded_by(code) & (HEAVY | {"numpy", "rich"})
