"""Every kind of output in encodings that have few characters."""

import io
import sys
from pathlib import Path

import pytest

from clarinet_tui.cli.main import main
from tests.support.trained_runs import make_trained_run, read_runs

COMMANDS = ["table", "ls", "show one", "compare one two", "plot accuracy", "queue", "doctor", "metrics one", "logs one"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoding")
    make_trained_run(folder / "runs", "one", [80.0], seed=1, name="Größe → 数")
    make_trained_run(folder / "runs", "two", [81.0], seed=1, method="gac+dann")
    make_trained_run(folder / "runs", "three", [82.0], seed=2)
    read_runs(folder / "runs").db.close()
    return folder


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.parametrize("command", COMMANDS)
def test_output_in_encodings_with_few_characters(
    folder: Path, encoding: str, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = io.TextIOWrapper(io.BytesIO(), encoding)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "argv", ["clarinet", *command.split()])
    monkeypatch.setenv("CLARINET_DB", "")
    with pytest.raises(SystemExit) as ended:
        main()
    out.flush()
    assert ended.value.code == 0
    assert out.buffer.getvalue().decode(encoding)
