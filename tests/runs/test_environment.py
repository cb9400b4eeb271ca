"""environment.json: the machine and the code of a run, readable by its owner only."""

import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.runs import environment
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import git_state, read_environment, write_environment
from core.resolve import resolve
from tests.support.cli import imported_modules

CONFIG = resolve(preset="smoke", seed=5)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


def make_repository(folder: Path) -> Path:
    folder.mkdir()
    git(folder, "init")
    (folder / "code.py").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    return folder


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "work")


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[Path]:
    """A program that no repository may start."""
    script, started = tmp_path / "script", tmp_path / "started"
    script.write_text(f"#!/bin/sh\ntouch {started}\n")
    script.chmod(0o755)
    yield script
    assert not started.exists()


def test_written_for_its_owner_only(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunDirectory.create(tmp_path / "runs", CONFIG)
    (repository / "code.py").write_text("two\n")
    monkeypatch.chdir(repository)
    write_environment(run, CONFIG, device="cpu", command=["clarinet", "run"], hardware={"name": "A100"})
    assert stat.S_IMODE(run.environment.stat().st_mode) == 0o600
    fields = read_environment(run)
    assert fields["device"] == "cpu"
    assert fields["seeds"] == {"run": 5, "stage1": 5}
    assert fields["command"] == ["clarinet", "run"]
    assert fields["versions"]["msgspec"]
    assert len(fields["git"]["commit"]) == 40
    assert "+two" in fields["git"]["patch"]
    assert fields["hardware"] == {"name": "A100"}
    assert {"host", "boot", "python"} <= fields.keys()


def test_patch_is_bounded(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MAX_PATCH_BYTES", 1000)
    (repository / "code.py").write_text("much\n" * 100_000)
    state = git_state(repository)
    assert state is not None
    assert len(state["patch"]) == 1000
    assert state["patch_cut"] is True


def test_repository_executes_nothing(repository: Path, trap: Path) -> None:
    (repository / ".gitattributes").write_text("*.py diff=x\n")
    (repository / "code.py").write_text("two\n")
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager"):
        git(repository, "config", key, str(trap))
    assert git_state(repository) is not None


def configure_filter(folder: Path, pattern: str, name: str, setting: str, program: Path) -> None:
    git(folder, "config", f"filter.{name}.{setting}", str(program))
    git(folder, "config", f"filter.{name}.required", "true")
    (folder / ".git" / "info").mkdir(exist_ok=True)
    (folder / ".git" / "info" / "attributes").write_text(f"{pattern} filter={name}\n")


@pytest.mark.parametrize("name", ["x", "a=b", "a.b"])
@pytest.mark.parametrize("setting", ["clean", "process"])
def test_filters_of_a_repository_are_not_run(repository: Path, trap: Path, name: str, setting: str) -> None:
    """`git diff` runs them on changed files; a required one would end it instead."""
    configure_filter(repository, "*.py", name, setting, trap)
    (repository / "code.py").write_text("two\n")
    state = git_state(repository)
    assert state is not None
    assert "+two" in state["patch"]


def test_objects_that_a_partial_clone_lacks_are_not_fetched(repository: Path, trap: Path) -> None:
    """The address of its remote can be a command."""
    settings = {"core.repositoryformatversion": "1", "extensions.partialClone": "origin"}
    settings |= {"remote.origin.promisor": "true", "remote.origin.url": f"ext::{trap}", "protocol.ext.allow": "always"}
    for key, value in settings.items():
        git(repository, "config", key, value)
    for path in (repository / ".git" / "objects").glob("??/*"):  # all but the commit
        if path.parent.name + path.name not in (repository / ".git" / "logs" / "HEAD").read_text():
            path.unlink()
    (repository / "code.py").write_text("two\n")
    assert git_state(repository) is not None


def test_submodules_are_not_asked(repository: Path, trap: Path) -> None:
    """Whether files of a submodule have changed would be read with the submodule's own settings."""
    inner = make_repository(repository / "inner")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "submodule")
    configure_filter(inner, "code.py", "x", "clean", trap)
    (inner / "code.py").write_text("two\n")
    assert git_state(repository) is not None


def test_a_folder_without_a_repository_and_an_unreadable_file_give_nothing(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None
    run = RunDirectory.create(tmp_path, CONFIG)
    assert read_environment(run) == {}
    run.environment.write_bytes(b"[1")
    assert read_environment(run) == {}


def test_nothing_heavy_is_imported() -> None:
    modules = ("runs.journal_writer", "runs.environment", "runs.annotations", "history.queries", "history.states")
    imported = imported_modules("\n".join(f"import clarinet_tui.{module}" for module in modules))
    assert not imported & {"torch", "numpy", "sqlite_utils", "scipy", "matplotlib", "textual", "psutil"}
