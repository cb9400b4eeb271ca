"""Output in encodings without a character, to closed pipes and to dead terminals."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from clarinet_tui.streams import FALLBACK
from tests.support.cli import CLARINET, cli_environment


def encode(text: str, encoding: str) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding, FALLBACK)
    stream.write(text)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def test_characters_that_an_encoding_lacks_have_a_counterpart() -> None:
    assert encode("M→U 69.9 ± 4.5 – λ ⠀⡇ 数", "ascii") == "M->U 69.9 +- 4.5 - lambda  * ?"
    assert encode("M→U 69.9 ± 4.5", "latin-1") == "M->U 69.9 ± 4.5"
    assert encode("M→U ± é", "utf-8") == "M→U ± é"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_help_is_printed_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    environment = cli_environment() | {"PYTHONIOENCODING": encoding, "COLUMNS": "80"}
    done = subprocess.run(
        [*CLARINET, "sweep", "--help"], cwd=tmp_path, capture_output=True, encoding=encoding, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")


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
