"""The code of the guide to plug-in methods."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tomli

from core.methods import ENTRY_POINTS

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "write-a-method.md"
FILE = re.compile(r"^`([\w./]+\.(?:py|toml))`:[^\n]*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A file of the guide: its name, a description, and a block of code."""


def python(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a new interpreter in which the packages of `folder` are installed."""
    path = os.pathsep.join([str(folder), str(ROOT)])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-P", *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the files of the guide's project, and the metadata that names its entry points, as pip does."""
    folder = tmp_path_factory.mktemp("clarinet-coral")
    files = dict(FILE.findall(GUIDE.read_text(encoding="utf-8")))
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    info = folder / "clarinet_coral-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clarinet-coral\nVersion: 0.1.0\n")
    points = tomli.loads(files["pyproject.toml"])["project"]["entry-points"][ENTRY_POINTS]
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{ENTRY_POINTS}]", *lines, ""]))
    return folder


def test_guide_shows_every_file_of_its_project(project: Path) -> None:
    shown = {str(path.relative_to(project)) for path in project.rglob("*.*") if path.suffix in {".py", ".toml"}}
    assert shown == {"pyproject.toml", "clarinet_coral/__init__.py", "clarinet_coral/coral.py", "test_coral.py"}
    packages = tomli.loads((project / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    assert packages == ["clarinet_coral"]


SHARED = """
from core.events import PseudoLabelled

def label_hash(method):
    events = train(resolve(method=method, preset="smoke", threads=1), data=DATA)
    return next(event.label_hash for event in events if isinstance(event, PseudoLabelled))

def test_plug_in_shares_stage_1():
    assert label_hash("gac+coral") == label_hash("gac+dan")
"""


def test_tests_of_the_guide_pass_and_the_plug_in_shares_stage_1(project: Path, tmp_path: Path) -> None:
    """Both in one process, which imports torch."""
    (tmp_path / "test_guide.py").write_text((project / "test_coral.py").read_text() + SHARED)
    done = python(project, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 passed" in done.stdout


def test_plug_in_is_found_without_torch_and_by_the_command_line(project: Path) -> None:
    code = (
        "import sys\nfrom core.methods import methods\nprint(*methods(), 'torch' in sys.modules)\n"
        "from clarinet_tui.cli.launch import make_config\n"
        "print(make_config(None, {'method': 'gac+coral', 'preset': 'smoke'}).classifier_rate)\n"
        "make_config(None, {'method': 'gac+corall'})"
    )
    done = python(project, "-c", code)
    assert done.stdout.split()[-3:] == ["gac+coral", "False", "0.003"], done.stderr
    assert 'no method "gac+corall"; did you mean gac+coral?' in done.stderr.splitlines()[-1]
