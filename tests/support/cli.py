"""Run `clarinet` in a process of its own or in this one, and list the modules that code imports."""

import json
import os
import shlex
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.testing
from typer.main import get_command
from typer.testing import CliRunner, Result

from clarinet_tui.cli.main import app
from core.errors import InputError
from tests.support import forked_python

CLARINET = [sys.executable, "-P", "-c", "from clarinet_tui.cli.main import main; main()"]
HEAVY = {"torch", "torchvision", "scipy", "sklearn", "matplotlib", "sqlite_utils", "textual"}
"""Packages that are too slow to import for a command that does not need them."""

pytest.MonkeyPatch().setattr(typer.testing, "_get_command", cache(get_command))  # most of the time of `invoke`


def cli_environment() -> dict[str, str]:
    return {**os.environ, "CLARINET_RUNS": "runs", "CLARINET_DATA": "data", "NO_COLOR": "1"}


def run_clarinet(folder: Path, *arguments: str, timeout: float = 60) -> "subprocess.CompletedProcess[str]":
    """Run a command in `folder`, in a process of its own, which is forked."""
    return forked_python.run([*CLARINET, *arguments], cwd=folder, timeout=timeout, env=cli_environment())


def pipe_to_head(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a command whose output is closed after a line; print this line and the exit code."""
    script = f"{shlex.join([*CLARINET, *arguments])} | head -1; echo ${{PIPESTATUS[0]}}"
    command = ["bash", "-c", script]
    return subprocess.run(command, cwd=folder, env=cli_environment(), capture_output=True, text=True, timeout=60)


def invoke(runs: Path, *arguments: str) -> Result:
    """Run a command on a runs directory in this process, which is faster."""
    return CliRunner().invoke(app, [*arguments, "--runs-dir", str(runs)])


def invoke_json(runs: Path, *arguments: str) -> Any:
    """Run a command with --json on a runs directory in this process; return what it printed."""
    return json.loads(invoke(runs, *arguments, "--json").stdout)


def invalid(runs: Path, *arguments: str) -> str:
    """Run a command with invalid input in this process; return the message with which `clarinet` exits with code 2."""
    done = invoke(runs, *arguments)
    assert isinstance(done.exception, InputError), (done.output, done.exception)
    return str(done.exception)


def unmeasured_environment() -> dict[str, str]:
    """Return the environment without the variables that start coverage.py, which imports sqlite3 and prints."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}


def imported_modules(code: str) -> set[str]:
    """Return the names of all modules that a new interpreter has imported after running `code`."""
    probe = f"import sys\n{code}\nprint(*(name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", probe],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env=unmeasured_environment(),
    )
    return set(done.stdout.splitlines()[-1].split())
