"""The manager opens quickly because torch and its like are loaded only by the worker."""

import subprocess
import sys

import pytest

HEAVY = {"torch", "torchvision", "scipy", "sklearn", "matplotlib", "sqlite_utils", "textual"}


def loaded_by(code: str) -> set[str]:
    probe = f"import sys\n{code}\nprint(*(name for name in sys.modules))"
    done = subprocess.run([sys.executable, "-P", "-c", probe], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.splitlines()[-1].split())


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
    assert not loaded_by(code) & (HEAVY | {"numpy"})


def test_four_lines_of_python_are_enough() -> None:
    code = "from core import resolve, train\nassert callable(train) and resolve(preset='smoke').epochs == 3"
    assert "torch" in loaded_by(code)
