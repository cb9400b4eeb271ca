"""Pictures in the terminal's own pixels where it has them: a pseudo-terminal answers as such a terminal does."""

import fcntl
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest
from PIL import Image

TIMEOUT = 120.0
ATTEMPTS = 5
"""textual-image waits a tenth of a second for the answer, in which a busy machine may not give it."""
COMMAND = "from clarinet_tui.cli.main import main; main()"
ASKED, SIXEL = b"\x1b[c", b"\x1bP"


INSPECT = """
from clarinet_tui.cli.inspect import print_inspection
from clarinet_tui.runs.inspection_file import Inspection, Picture
picture = Picture("wrong", 2, 2, bytes(range(12)), true="seven", predicted="one")
print_inspection(Inspection(1, ("one",), (picture, picture)), True, False)
"""


def show_first_question(folder: Path, answer: bytes, *options: str) -> bytes:
    """Return what `clarinet label` writes until it asks, in a terminal that answers the question what it can do."""
    return output_in_terminal(
        ["-c", COMMAND, "label", "photos", "--classes", "cat,dog", *options], folder, answer, b"Is it"
    )


def output_in_terminal(arguments: list[str], folder: Path, answer: bytes, end: bytes) -> bytes:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 1000, 800))
    command = [sys.executable, *arguments]
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=environment)
    os.close(follower)
    output, answered, deadline = b"", False, time.monotonic() + TIMEOUT
    try:
        while end not in output:
            assert time.monotonic() < deadline, output
            if select.select([leader], [], [], 0.2)[0]:
                output += os.read(leader, 65536)
            if ASKED in output and not answered:
                os.write(leader, answer)
                answered = True
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return output


@pytest.mark.parametrize(
    ("answer", "options", "is_pixels"),
    [(b"\x1b[?62;4c", (), True), (b"\x1b[?62;22c", (), False), (b"\x1b[?62;4c", ("--blocks",), False)],
)
def test_terminal_with_sixel_shows_pixels_unless_blocks_are_requested(
    answer: bytes, options: tuple[str, ...], is_pixels: bool, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    Image.linear_gradient("L").convert("RGB").save(tmp_path / "photos" / "1.png")
    for _ in range(ATTEMPTS):
        output = show_first_question(tmp_path, answer, *options)
        if SIXEL in output or not is_pixels:
            break
    assert (SIXEL in output) == is_pixels
    assert ("▀".encode() in output) != is_pixels


def test_inspected_pictures_are_pixels_with_captions(tmp_path: Path) -> None:
    for _ in range(ATTEMPTS):
        output = output_in_terminal(["-c", INSPECT], tmp_path, b"\x1b[?62;4c", b"one             ")
        if SIXEL in output:
            break
    assert SIXEL in output
    assert "▀".encode() not in output
    assert b"seven             seven" in output
