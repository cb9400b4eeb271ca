"""GitHub workflows, pre-commit hooks and documents run the same commands as the Makefile."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "benchmarks/README.md"]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z][a-z-]*):", MAKEFILE, re.MULTILINE)


def recipe(target: str) -> list[str]:
    """Return the commands of a target as the shell runs them."""
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    return [line.lstrip("\t@").replace("$(BIN)", ".venv/bin") for line in lines.splitlines()]


def values(path: Path, key: str) -> list[str]:
    """Return the values of a key anywhere in a YAML file whose values stand on the key's own line."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^ *(?:- )?{key}: (.+)$", text, re.MULTILINE)


def test_all_targets_are_phony() -> None:
    (phony,) = re.findall(r"^\.PHONY: (.+)$", MAKEFILE, re.MULTILINE)
    assert phony.split() == TARGETS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_run_only_make_targets(path: Path) -> None:
    commands = values(path, "run")
    assert commands
    for command in commands:
        program, target = command.split()
        assert (program, target in TARGETS) == ("make", True), command


def test_workflows_cover_test_lint_docs_and_build() -> None:
    commands = [command for path in WORKFLOWS for command in values(path, "run")]
    assert sorted(commands) == ["make build-check", "make docs", "make lint", "make test"]
    assert values(ROOT / ".github" / "workflows" / "ci.yml", "python") == ['["3.11", "3.12", "3.13"]']


def test_pre_commit_hooks_run_the_commands_of_make_lint() -> None:
    assert values(ROOT / ".pre-commit-config.yaml", "entry") == recipe("lint")


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents_name_existing_targets(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = re.findall(r"(?:^|`)make ([a-z][a-z-]*)", text, re.MULTILINE)
    assert [target for target in named if target not in TARGETS] == []
