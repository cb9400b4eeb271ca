"""The manager opens quickly because torch and its like are loaded only by the worker."""

import pytest

from tests.support.cli import HEAVY, imported_modules


@pytest.mark.parametrize(
    "code",
    [
        "import core",
        "import core.config, core.tasks, core.events, core.methods",
        "import clarinet_tui.cli.main",
        "import sys; sys.argv = ['clarinet', '--help']\n"
        "from clarinet_tui.cli.main import main\ntry: main()\nexcept SystemExit: pass",
    ],
)
def test_what_opens_first_loads_nothing_heavy(code: str) -> None:
    assert not imported_modules(code) & (HEAVY | {"numpy"})


def test_tensorboard_is_imported_only_when_used() -> None:
    assert not imported_modules("import clarinet_tui.cli.export, clarinet_tui.analysis.tensorboard") & {"tensorboard"}


def test_four_lines_of_python_are_enough() -> None:
    code = "from core import resolve, train\nassert callable(train) and resolve(preset='smoke').epochs == 3"
    assert "torch" in imported_modules(code)
