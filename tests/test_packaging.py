"""The wheel holds every file of the packages, and its commands exist."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.cli import invalid

ROOT = Path(__file__).parents[1]
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES = ("core", "clarinet_tui")


def package_folders() -> list[Path]:
    """Return every folder below the root packages that holds anything but caches."""
    folders = [ROOT / name for name in PACKAGES]
    folders += [path for name in PACKAGES for path in (ROOT / name).rglob("*") if path.is_dir()]
    return [path for path in folders if "__pycache__" not in path.parts and files_in(path)]


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"]


def dotted_name(folder: Path) -> str:
    return ".".join(folder.relative_to(ROOT).parts)


def test_every_folder_with_python_is_a_package() -> None:
    folders = [path for path in package_folders() if list(path.glob("*.py"))]
    assert [dotted_name(path) for path in folders if not (path / "__init__.py").exists()] == []


def test_every_package_is_found() -> None:
    patterns: list[str] = PROJECT["tool"]["setuptools"]["packages"]["find"]["include"]
    names = [dotted_name(path) for path in package_folders()]
    assert [name for name in names if not any(fnmatch(name, pattern) for pattern in patterns)] == []
    assert not any(fnmatch(name, pattern) for name in ("tests", "benchmarks") for pattern in patterns)


def test_every_other_file_is_package_data() -> None:
    patterns: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    packaged: set[Path] = set()
    for package, globs in patterns.items():
        for pattern in globs:
            matching = set((ROOT / Path(*package.split("."))).glob(pattern))
            assert matching, f"{package}: {pattern} matches no file"
            packaged |= matching
    others = {path for folder in package_folders() for path in files_in(folder) if path.suffix != ".py"}
    assert others - packaged == set()
    assert {ROOT / package / "py.typed" for package in PACKAGES} <= packaged, "types are published"


def python(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def test_a_foreign_core_beside_a_script_is_named_and_not_found_with_a_safe_path(tmp_path: Path) -> None:
    (tmp_path / "core.py").write_text("")
    (tmp_path / "script.py").write_text("from clarinet_tui import History\nprint(History.__name__)")
    result = python(tmp_path, "script.py")
    assert result.returncode == 1
    last = result.stderr.splitlines()[-1]
    assert last.startswith("ImportError: Clarinet has a package named core, and Python finds another one: ")
    assert str(tmp_path / "core.py") in last
    safe = python(tmp_path, "-P", "script.py")
    assert (safe.returncode, safe.stdout) == (0, "History\n"), safe.stderr


@pytest.mark.parametrize("name", ["CITATION.cff", "CHANGELOG.md"])
def test_the_version_is_the_same_everywhere(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    version = re.search(r"^(?:version: |## )(\d+\.\d+\.\d+)", text, re.MULTILINE)
    assert version is not None
    assert version[1] == PROJECT["project"]["version"]


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the packages of an extra, the command names what to install."""
    monkeypatch.setattr("clarinet_tui.cli.tui.find_spec", lambda name: None)
    assert "pip install 'clarinet-tui[serve]'" in invalid(tmp_path, "serve")


def test_the_lock_has_a_published_version_of_every_dependency() -> None:
    """A local build, such as torch's for the CPU, is not on the package index."""
    extras: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]
    names = ("dev", "onnx", "pictures", "serve", "tensorboard")
    wanted = [*PROJECT["project"]["dependencies"], *(line for name in names for line in extras[name])]
    pins = [Requirement(line) for line in (ROOT / "requirements-dev.lock").read_text(encoding="utf-8").splitlines()]
    locked = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    assert [name for name, version in locked.items() if "+" in version] == []
    for requirement in map(Requirement, wanted):
        if requirement.name != PROJECT["project"]["name"]:
            assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)]), requirement
