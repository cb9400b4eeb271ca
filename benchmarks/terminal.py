"""A program in a pseudo-terminal: what it has drawn, when, with how many bytes, and what it has cost until then."""

import codecs
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

PATIENCE = 60.0
"""Seconds after which something that was waited for does not come any more."""
PIECE = 1 << 16
SEQUENCE = re.compile(
    r"\x1b(?:\[([?<>=]?)([0-9;:]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[()].|[^[\]PX^_()])"
)
BEGUN = re.compile(r"\x1b(?:\[[?<>=]?[0-9;:]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[()])?$")
SYNCHRONIZED = "\x1b[?2026$p", b"\x1b[?2026;2$y"
"""The question whether whole frames can be held back, and the answer of a terminal that can."""


class Grid:
    """The characters on a screen, for programs that place the cursor before they write, as Textual does."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0
        self._rest = ""
        self.held = False
        """Whether a frame has begun that is not complete."""

    def __str__(self) -> str:
        return "\n".join("".join(row) for row in self._cells)

    def feed(self, text: str) -> None:
        text = self._rest + text
        begun = BEGUN.search(text)
        text, self._rest = (text[: begun.start()], begun.group()) if begun else (text, "")
        at = 0
        for found in SEQUENCE.finditer(text):
            self._write(text[at : found.start()])
            self._obey(*found.groups(default=""))
            at = found.end()
        self._write(text[at:])

    def _write(self, text: str) -> None:
        for sign in text:
            if sign == "\n":
                self._y += 1
            elif sign == "\r":
                self._x = 0
            elif sign >= " ":
                if self._y < self.rows and self._x < self.columns:
                    self._cells[self._y][self._x] = sign
                self._x += 1

    def _obey(self, private: str, numbers: str, end: str) -> None:
        if end in ("H", "f") and not private:
            row, column, *_ = [*(int(one or 1) for one in numbers.split(";")), 1]
            self._y, self._x = row - 1, column - 1
        elif end == "J" and numbers == "2":
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
        elif private == "?" and numbers == "2026" and end in "hl":
            self.held = end == "h"


@dataclass(frozen=True)
class Moment:
    """When something was seen: seconds since the start by the clock, and of CPU by all threads of the program."""

    wall: float
    cpu: float


class Terminal:
    """Starts the program; what it prints is read only while somebody waits for it. Closing it ends the program."""

    def __init__(self, words: Sequence[str], folder: Path, columns: int = 160, rows: int = 48) -> None:
        """The program keeps its configuration in `folder`, and asks nothing of the user's."""
        self.grid, self.bytes = Grid(columns, rows), 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        known = {name: value for name, value in os.environ.items() if not name.startswith(("CLARINET_", "TEXTUAL"))}
        known |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        known |= {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "LC_ALL"):
            known.pop(name, None)
        self._began = time.monotonic()
        self._program = subprocess.Popen(
            words, stdin=theirs, stdout=theirs, stderr=theirs, env=known, start_new_session=True
        )
        os.close(theirs)

    @property
    def pid(self) -> int:
        return self._program.pid

    def cpu(self) -> float:
        """Seconds that the program has computed, to the nanosecond: the kernel's clock of that process."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def maps(self, library: str) -> bool:
        """Whether the program has loaded a library of that name."""
        return library in Path(f"/proc/{self.pid}/maps").read_text()

    def press(self, keys: str) -> float:
        os.write(self._ours, keys.encode())
        return time.monotonic()

    def read(self, seconds: float) -> bool:
        """Takes what comes within that time, if anything does."""
        if not select.select([self._ours], [], [], max(0.0, seconds))[0]:
            return False
        try:
            piece = os.read(self._ours, PIECE)
        except OSError as error:  # the other end is closed
            raise SystemExit(f"the program has ended:\n{self.grid}") from error
        self.bytes += len(piece)
        text = self._decoder.decode(piece)
        if SYNCHRONIZED[0] in text:
            os.write(self._ours, SYNCHRONIZED[1])
        self.grid.feed(text)
        return True

    def until(self, happened: Callable[[str], object], what: str) -> Moment:
        """Waits for a complete frame that shows something."""
        limit = time.monotonic() + PATIENCE
        while self.grid.held or not happened(str(self.grid)):
            if not self.read(limit - time.monotonic()) and time.monotonic() > limit:
                raise SystemExit(f"{what} was not seen:\n{self.grid}")
        return Moment(time.monotonic() - self._began, self.cpu())

    def watch(self, seconds: float) -> int:
        """Lets it draw for a while; how many bytes came."""
        before, limit = self.bytes, time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            self.read(left)
        return self.bytes - before

    def close(self) -> None:
        self._program.send_signal(signal.SIGKILL)
        self._program.wait()
        os.close(self._ours)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
