"""environment.json: the machine and the code of a run, readable by its owner only."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest

from clarinet_tui.runs import environment
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.environment import git_state, read_environment, write_environment
from core.resolve import resolve

CONFIG = resolve(preset="smoke", seed=5)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    git(folder, "init")
    (folder / "code.py").write_text("one\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    return folder


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


def test_repository_executes_nothing(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    for key in ("core.fsmonitor", "diff.external", "diff.x.textconv", "core.pager"):
        git(repository, "config", key, str(script))
    (repository / ".gitattributes").write_text("*.py diff=x\n")
    (repository / "code.py").write_text("two\n")
    trap.unlink(missing_ok=True)
    assert git_state(repository) is not None
    assert not trap.exists()


@pytest.mark.parametrize("name", ["x", "a=b", "a.b"])
@pytest.mark.parametrize("setting", ["clean", "process"])
def test_filters_of_a_repository_are_not_run(repository: Path, tmp_path: Path, name: str, setting: str) -> None:
    """`git diff` runs them on changed files; a required one would end it instead."""
    trap, script = tmp_path / "trap", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\ncat\n")
    script.chmod(0o755)
    git(repository, "config", f"filter.{name}.{setting}", str(script))
    git(repository, "config", f"filter.{name}.required", "true")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text(f"*.py filter={name}\n")
    (repository / "code.py").write_text("two\n")
    state = git_state(repository)
    assert state is not None
    assert "+two" in state["patch"]
    assert not trap.exists()


def test_objects_that_a_partial_clone_lacks_are_not_fetched(repository: Path, tmp_path: Path) -> None:
    """The address of its remote can be a command."""
    trap = tmp_path / "trap"
    settings = {
        "core.repositoryformatversion": "1",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
    }
    settings |= {"remote.origin.promisor": "true", "remote.origin.url": f"ext::touch {trap}"}
    for key, value in settings.items():
        git(repository, "config", key, value)
    for path in (repository / ".git" / "objects").glob("??/*"):  # all but the commit
        if path.parent.name + path.name not in (repository / ".git" / "logs" / "HEAD").read_text():
            path.unlink()
    (repository / "code.py").write_text("two\n")
    assert git_state(repository) is not None
    assert not trap.exists()


def test_submodules_are_not_asked(repository: Path, tmp_path: Path) -> None:
    """Whether files of a submodule have changed would be read with the submodule's own settings."""
    trap, script = tmp_path / "trap", tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch {trap}\n")
    script.chmod(0o755)
    inner = repository / "inner"
    inner.mkdir()
    git(inner, "init")
    (inner / "file").write_text("one\n")
    git(inner, "add", ".")
    git(inner, "commit", "-m", "first")
    git(repository, "add", ".")
    git(repository, "commit", "-m", "submodule")
    git(inner, "config", "filter.x.clean", str(script))
    (inner / ".git" / "info").mkdir(exist_ok=True)
    (inner / ".git" / "info" / "attributes").write_text("file filter=x\n")
    (inner / "file").write_text("two\n")
    trap.unlink(missing_ok=True)
    assert git_state(repository) is not None
    assert not trap.exists()


def test_folder_without_a_repository(tmp_path: Path) -> None:
    assert git_state(tmp_path) is None


def test_unreadable_file_is_empty(tmp_path: Path) -> None:
    run = RunDirectory.create(tmp_path, CONFIG)
    assert read_environment(run) == {}
    run.environment.write_bytes(b"[1")
    assert read_environment(run) == {}


def test_nothing_heavy_is_imported() -> None:
    code = """
import sys
import clarinet_tui.runs.directory, clarinet_tui.runs.journal_writer, clarinet_tui.runs.journal
import clarinet_tui.runs.environment, clarinet_tui.runs.annotations
import clarinet_tui.history.ingest, clarinet_tui.history.queries, clarinet_tui.history.states
heavy = {"torch", "numpy", "sqlite_utils", "scipy", "matplotlib", "textual", "psutil"} & set(sys.modules)
assert not heavy, heavy
"""
    subprocess.run([sys.executable, "-c", code], check=True)
