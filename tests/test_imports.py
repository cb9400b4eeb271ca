"""What the modules import: the manager opens quickly because torch and its like are loaded only where they are used."""

import pytest

from tests.support.cli import HEAVY, imported_modules

HELP = """import sys; sys.argv = ["clarinet", "--help"]
from clarinet_tui.cli.main import main
try: main()
except SystemExit: pass"""


def modules(package: str, names: str) -> str:
    return ", ".join(f"{package}.{name}" for name in names.split())


ANALYSIS = modules("clarinet_tui.analysis", "seed_curves board board_table comparison comparison_table")
FIGURES = modules("clarinet_tui.analysis", "report figures.kinds figures.matplotlib_output figures.terminal_output")
VIEWS = modules("clarinet_tui.ui", "feed.history_reader feed.detail_reader feed.child_process screens.live")
FIRST_PAINT = {"torch", "numpy", "scipy", "sqlite_utils", "sqlite3", "psutil", "core", "textual.widgets._log"}
WIDGETS = modules("clarinet_tui.ui", "widgets.run_charts text.inspection")


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import clarinet_tui", {"msgspec", "sqlite3", "core"}),
        ("from clarinet_tui import History", HEAVY | {"numpy", "rich", "typer"}),
        ("import core, core.config, core.tasks, core.events, core.methods", HEAVY | {"numpy"}),
        (HELP, HEAVY | {"numpy"}),
        (f"import {ANALYSIS}, clarinet_tui.cli.table", HEAVY | {"numpy", "rich", "jinja2"}),
        (f"import {FIGURES}", HEAVY | {"jinja2"}),
        ("import clarinet_tui.cli.export, clarinet_tui.analysis.tensorboard", HEAVY | {"tensorboard"}),
        ("import clarinet_tui.ui.main, clarinet_tui.ui.app", FIRST_PAINT),
        (f"import {VIEWS}, {WIDGETS}, clarinet_tui.chart.picture", {"torch", "scipy", "matplotlib"}),
        ("import clarinet_tui.models.inspection_process", HEAVY),
    ],
    ids=["package", "History", "core", "help", "analysis", "figures", "export", "app", "views", "inspection"],
)
def test_modules_are_imported_only_where_they_are_used(code: str, absent: set[str]) -> None:
    assert imported_modules(code) & absent == set()
