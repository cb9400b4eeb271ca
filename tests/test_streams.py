"""Output in encodings without a character, to closed pipes and to dead terminals."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clarinet_tui.cli.main import main
from clarinet_tui.streams import FALLBACK
from tests.support.trained_runs import make_trained_run, read_runs


def encode(text: str, encoding: str) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding, FALLBACK)
    stream.write(text)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def test_characters_that_an_encoding_lacks_have_a_counterpart() -> None:
    assert encode("M→U 69.9 ± 4.5 – λ ⠀⡇ 数", "ascii") == "M->U 69.9 +- 4.5 - lambda  * ?"
    assert encode("M→U 69.9 ± 4.5", "latin-1") == "M->U 69.9 ± 4.5"
    assert encode("M→U ± é", "utf-8") == "M→U ± é"


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
@pytest.mark.parametrize("command", ["sweep --help", *COMMANDS])
def test_every_kind_of_output_in_encodings_with_few_characters(
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


def test_writes_to_a_closed_pipe_are_dropped() -> None:
    code = (
        "import sys\nfrom clarinet_tui.streams import drop_failed_writes\ndrop_failed_writes()\n"
        "sys.stdin.read()\nprint('x' * 100000)\nprint('y', file=sys.stderr)\n"
    )
    command = [sys.executable, "-P", "-c", code]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, **streams, env=dict(os.environ))  # type: ignore[call-overload]
    process.stdout.close()
    process.stderr.close()
    process.stdin.close()
    assert process.wait(timeout=60) == 0
