"""The start and the summary line of the test suite itself."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REAL_DIGITS = Path(__file__).parent / "core" / "data" / "test_real_digits.py"


def run_pytest(folder: Path, data: str) -> "subprocess.CompletedProcess[str]":
    """Run the tests on real digits in a folder that holds another package named `core`."""
    (folder / "core").mkdir()
    (folder / "core" / "__init__.py").write_text("raise RuntimeError('the wrong core')")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH"))}
    environment = {**inherited, "CLARINET_TEST_DATA": data, "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", str(REAL_DIGITS)]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def test_the_summary_counts_skipped_tests_on_real_digits(tmp_path: Path) -> None:
    result = run_pytest(tmp_path, data="")
    assert result.returncode == 0, result.stdout + result.stderr
    summary, counts = result.stdout.splitlines()[-2:]
    skipped = int(counts.split()[0])
    assert skipped > 5
    assert summary == f"Tests on real digits: 0 ran, {skipped} skipped."


def test_a_missing_data_folder_is_a_usage_error(tmp_path: Path) -> None:
    result = run_pytest(tmp_path, data=str(tmp_path / "absent"))
    assert result.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"CLARINET_TEST_DATA: {tmp_path / 'absent'} is not a directory" in result.stderr
