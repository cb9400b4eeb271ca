"""What pyproject.toml packs is what the packages hold: a forgotten folder works here and nowhere else."""

import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ROOTS = ("core", "clarinet_tui")


def folders() -> list[Path]:
    """Every folder below the root packages that holds anything but caches."""
    found = [ROOT / name for name in ROOTS]
    found += [path for name in ROOTS for path in (ROOT / name).rglob("*") if path.is_dir()]
    return [path for path in found if "__pycache__" not in path.parts and any(files(path))]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.is_file() and path.suffix != ".pyc"]


def dotted(folder: Path) -> str:
    return ".".join(folder.relative_to(ROOT).parts)


def test_every_folder_with_python_is_a_package() -> None:
    bare = [dotted(path) for path in folders() if list(path.glob("*.py")) and not (path / "__init__.py").exists()]
    assert not bare


def test_the_packages_listed_are_those_on_disk() -> None:
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(dotted(path) for path in folders() if (path / "__init__.py").exists())


def test_every_other_file_is_packed_with_its_package() -> None:
    patterns: dict[str, list[str]] = PROJECT["tool"]["setuptools"]["package-data"]
    for folder in folders():
        for path in files(folder):
            if path.suffix != ".py":
                assert any(fnmatch(path.name, pattern) for pattern in patterns.get(dotted(folder), [])), path
    for package, globs in patterns.items():
        for pattern in globs:
            assert list((ROOT / Path(*package.split("."))).glob(pattern)), f"{package}: {pattern} packs nothing"


@pytest.mark.parametrize("package", ROOTS)
def test_types_are_published(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("script", PROJECT["project"]["scripts"].values())
def test_scripts_name_what_is_there(script: str) -> None:
    module, _, function = script.partition(":")
    text = (ROOT / Path(*module.split("."))).with_suffix(".py").read_text(encoding="utf-8")
    assert f"def {function}(" in text
