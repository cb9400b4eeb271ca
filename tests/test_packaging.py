"""The wheel holds every file of the packages, and its commands exist."""

from fnmatch import fnmatch
from pathlib import Path

import pytest
import tomli

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
    for folder in package_folders():
        for path in files_in(folder):
            if path.suffix != ".py":
                assert any(fnmatch(path.name, pattern) for pattern in patterns.get(dotted_name(folder), [])), path
    for package, globs in patterns.items():
        for pattern in globs:
            assert list((ROOT / Path(*package.split("."))).glob(pattern)), f"{package}: {pattern} matches no file"


@pytest.mark.parametrize("package", PACKAGES)
def test_types_are_published(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("script", PROJECT["project"]["scripts"].values())
def test_each_script_names_an_existing_function(script: str) -> None:
    module, _, function = script.partition(":")
    text = (ROOT / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8")
    assert f"def {function}(" in text
