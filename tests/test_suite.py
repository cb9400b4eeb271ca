"""The test suite itself: its start, its summary line, and its imports."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
REAL_DIGITS = ROOT / "tests" / "core" / "data" / "test_real_digits.py"
FOREIGN_IMPORT = re.compile(r"^\s*(?:from|import) (?:tests\.[\w.]*)?\b(?:test_\w+|conftest)\b", re.MULTILINE)


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


@pytest.mark.parametrize("folder", ["tests", "benchmarks"])
def test_no_module_imports_a_test_module_or_a_conftest(folder: str) -> None:
    importing = [path for path in sorted((ROOT / folder).rglob("*.py")) if FOREIGN_IMPORT.search(path.read_text())]
    assert [str(path.relative_to(ROOT)) for path in importing] == []


def test_the_import_check_recognises_test_modules() -> None:
    for line in ("from tests.cli.test_run import CLARINET", "from tests.ui.conftest import until", "import conftest"):
        assert FOREIGN_IMPORT.search(line)
    for line in ("from tests.support.scale import rounds", "import pytest", "from core.testing import contest"):
        assert not FOREIGN_IMPORT.search(line)


def test_every_room_has_a_folder_of_tests() -> None:
    rooms = [path.parent.name for path in (ROOT / "clarinet_tui").glob("*/__init__.py")]
    assert [room for room in rooms if not list((ROOT / "tests" / room).rglob("test_*.py"))] == []


def test_no_test_limits_cpu_time() -> None:
    clocks = re.compile(r"time\.(process_time|thread_time|perf_counter)\(")
    measuring = [path for path in sorted((ROOT / "tests").rglob("*.py")) if clocks.search(path.read_text())]
    assert [str(path.relative_to(ROOT)) for path in measuring] == []
