"""The suite itself: where it is started from, and what it says of the real digits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ON_DIGITS = ROOT / "tests" / "core" / "data" / "test_real_digits.py"


def started_in(folder: Path, data: str) -> "subprocess.CompletedProcess[str]":
    """The tests on real digits, started where a package stands that is called like one of ours."""
    (folder / "core").mkdir()
    (folder / "core" / "__init__.py").write_text("raise RuntimeError('the wrong core')")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    environment = {**kept, "CLARINET_TEST_DATA": data, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(ON_DIGITS)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_without_the_digits_it_says_how_many_tests_were_skipped(tmp_path: Path) -> None:
    done = started_in(tmp_path, data="")
    assert done.returncode == 0, done.stdout + done.stderr
    said, counted = done.stdout.splitlines()[-2:]
    skipped = int(counted.split()[0])
    assert skipped > 5
    assert said == f"On the real digits: 0 tests ran, {skipped} were skipped."


def test_digits_that_are_named_but_not_there_fail_it(tmp_path: Path) -> None:
    done = started_in(tmp_path, data=str(tmp_path / "absent"))
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"CLARINET_TEST_DATA: there is no folder {tmp_path / 'absent'}" in done.stderr
