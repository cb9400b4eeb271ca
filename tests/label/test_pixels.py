"""Pictures in the terminal's own pixels where it has them: a pseudo-terminal answers as such a terminal does."""

import base64
import fcntl
import io
import os
import pty
import re
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
SIXEL = b"\x1bP"
HAS_SIXEL, HAS_NOTHING = {b"\x1b[c": b"\x1b[?62;4c"}, {b"\x1b[c": b"\x1b[?62;22c"}
IS_KITTY = {b"\x1b[c": b"\x1b[?62c", b";AAAA\x1b\\": b"\x1b_Gi=1;OK\x1b\\"}
COLOURS = [(250, 0, 0), (0, 250, 0), (0, 0, 250), (90, 120, 150)]
"""Of a picture's four pixels, in reading order."""
PLACEHOLDER = "\U0010eeee".encode()
"""The character that kitty replaces with a part of a picture."""
CELL = (10, 20)
"""The pixels of a character, as the terminal reports its size."""
Answers = dict[bytes, bytes]

INSPECT = f"""
COLOURS = {[value for colour in COLOURS for value in colour]}
from clarinet_tui.cli.model import print_inspection
from clarinet_tui.runs.inspection_file import Inspection, Picture
picture = Picture("wrong", 2, 2, bytes(COLOURS), true="seven", predicted="one")
print_inspection(Inspection(1, ("one",), (picture, picture)), True, False)
"""


def show_first_question(folder: Path, answers: Answers, *options: str) -> bytes:
    """Return what `clarinet label` writes until it asks, in a terminal that answers the question what it can do."""
    return output_in_terminal(
        ["-c", COMMAND, "label", "photos", "--classes", "cat,dog", *options], folder, answers, b"Is it"
    )


def output_in_terminal(arguments: list[str], folder: Path, answers: Answers, end: bytes) -> bytes:
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 100 * CELL[0], 40 * CELL[1]))
    command = [sys.executable, *arguments]
    environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=folder, env=environment)
    os.close(follower)
    output, answered, deadline = b"", set[bytes](), time.monotonic() + TIMEOUT
    try:
        while end not in output:
            assert time.monotonic() < deadline, output
            if select.select([leader], [], [], 0.2)[0]:
                output += os.read(leader, 65536)
            for question in answers.keys() - answered:
                if question in output:
                    os.write(leader, answers[question])
                    answered.add(question)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return output


@pytest.mark.parametrize(
    ("answers", "options", "is_pixels"),
    [(HAS_SIXEL, (), True), (HAS_NOTHING, (), False), (HAS_SIXEL, ("--blocks",), False)],
)
def test_terminal_with_sixel_shows_pixels_unless_blocks_are_requested(
    answers: Answers, options: tuple[str, ...], is_pixels: bool, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    Image.linear_gradient("L").convert("RGB").save(tmp_path / "photos" / "1.png")
    for _ in range(ATTEMPTS):
        output = show_first_question(tmp_path, answers, *options)
        if SIXEL in output or not is_pixels:
            break
    assert (SIXEL in output) == is_pixels
    assert ("▀".encode() in output) != is_pixels


@pytest.mark.parametrize(("answers", "sign"), [(HAS_SIXEL, SIXEL), (IS_KITTY, PLACEHOLDER)], ids=["sixel", "kitty"])
def test_inspected_pictures_are_pixels_with_captions(answers: Answers, sign: bytes, tmp_path: Path) -> None:
    for _ in range(ATTEMPTS):
        output = output_in_terminal(["-c", INSPECT], tmp_path, answers, b"one             ")
        if sign in output:
            break
    assert sign in output
    assert "▀".encode() not in output
    assert b"seven             seven" in output
    if sign == PLACEHOLDER:
        check_kitty_graphics(output)


def check_kitty_graphics(output: bytes) -> None:
    """Check that two pictures are sent as one PNG, which is placed in the cells above their captions."""
    messages = re.findall(rb"\x1b_G([^;\x1b]*)(?:;([^\x1b]*))?\x1b\\", output)
    content = b"".join(payload for control, payload in messages if b"f=100" in control)
    with Image.open(io.BytesIO(base64.b64decode(content))) as sent:
        assert sent.size == (34 * CELL[0], 8 * CELL[1])
        places = [(x * CELL[0], y * CELL[1]) for y in (2, 6) for x in (4, 12)]
        assert [sent.getpixel(place) for place in places] == COLOURS
        assert [sent.getpixel((x + 18 * CELL[0], y)) for x, y in places] == COLOURS
    assert sum(b"c=34,r=8,U=1" in control for control, _ in messages) == 1
    assert output.count(PLACEHOLDER) == 34 * 8
