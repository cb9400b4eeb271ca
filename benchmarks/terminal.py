"""A program in a pseudo-terminal: its screen, the bytes it sends, and the CPU time it uses."""

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

TIMEOUT = 60.0
READ_SIZE = 1 << 16
SEQUENCE = re.compile(
    r"\x1b(?:\[([?<>=]?)([0-9;:]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[PX^_][^\x1b]*\x1b\\|[()].|[^[\]PX^_()])"
)
INCOMPLETE = re.compile(r"\x1b(?:\[[?<>=]?[0-9;:]*[ -/]*|\][^\x07\x1b]*\x1b?|[PX^_][^\x1b]*\x1b?|[()])?$")
SYNCHRONIZED_QUERY, SYNCHRONIZED_ANSWER = "\x1b[?2026$p", b"\x1b[?2026;2$y"
"""The query for synchronized output (complete frames), and the answer of a terminal that supports it."""


class Grid:
    """The characters on the screen of a program that positions the cursor before it writes, as Textual does."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0
        self._rest = ""
        self.is_in_frame = False
        """Whether a frame has begun and is not complete."""

    def __str__(self) -> str:
        return "\n".join("".join(row) for row in self._cells)

    def feed(self, text: str) -> None:
        text = self._rest + text
        incomplete = INCOMPLETE.search(text)
        text, self._rest = (text[: incomplete.start()], incomplete.group()) if incomplete else (text, "")
        position = 0
        for sequence in SEQUENCE.finditer(text):
            self._write(text[position : sequence.start()])
            self._execute(*sequence.groups(default=""))
            position = sequence.end()
        self._write(text[position:])

    def _write(self, text: str) -> None:
        for character in text:
            if character == "\n":
                self._y += 1
            elif character == "\r":
                self._x = 0
            elif character >= " ":
                if self._y < self.rows and self._x < self.columns:
                    self._cells[self._y][self._x] = character
                self._x += 1

    def _execute(self, private: str, numbers: str, end: str) -> None:
        if end in ("H", "f") and not private:
            row, column, *_ = [*(int(number or 1) for number in numbers.split(";")), 1]
            self._y, self._x = row - 1, column - 1
        elif end == "J" and numbers == "2":
            self._cells = [[" "] * self.columns for _ in range(self.rows)]
        elif private == "?" and numbers == "2026" and end in "hl":
            self.is_in_frame = end == "h"


@dataclass(frozen=True)
class Moment:
    """Seconds since the program started: wall time, and CPU time of all its threads."""

    wall: float
    cpu: float


class Terminal:
    """Runs a program and reads its output only on request. Closing the terminal kills the program."""

    def __init__(self, command: Sequence[str], folder: Path, columns: int = 160, rows: int = 48) -> None:
        """Start the program with its configuration in `folder` instead of the user's."""
        self.grid, self.bytes = Grid(columns, rows), 0
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        variables = {name: value for name, value in os.environ.items() if not name.startswith(("CLARINET_", "TEXTUAL"))}
        variables |= {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1"}
        variables |= {"XDG_CONFIG_HOME": str(folder / "config"), "XDG_STATE_HOME": str(folder / "state")}
        for name in ("COLUMNS", "LINES", "NO_COLOR", "LC_ALL"):
            variables.pop(name, None)
        self._start = time.monotonic()
        self._program = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=variables, start_new_session=True
        )
        os.close(slave)

    @property
    def pid(self) -> int:
        return self._program.pid

    def cpu_seconds(self) -> float:
        """Return the CPU time of the program's process, from the kernel's clock of that process."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def has_loaded(self, library: str) -> bool:
        return library in Path(f"/proc/{self.pid}/maps").read_text()

    def press(self, keys: str) -> float:
        """Send keys, and return the moment."""
        os.write(self._master, keys.encode())
        return time.monotonic()

    def read(self, timeout: float) -> bool:
        """Read once; return whether anything arrived within the timeout."""
        if not select.select([self._master], [], [], max(0.0, timeout))[0]:
            return False
        try:
            output = os.read(self._master, READ_SIZE)
        except OSError as error:  # the other end is closed
            raise SystemExit(f"the program has ended:\n{self.grid}") from error
        self.bytes += len(output)
        text = self._decoder.decode(output)
        if SYNCHRONIZED_QUERY in text:
            os.write(self._master, SYNCHRONIZED_ANSWER)
        self.grid.feed(text)
        return True

    def wait_for(self, is_shown: Callable[[str], object], name: str) -> Moment:
        """Read until a complete frame satisfies the condition."""
        limit = time.monotonic() + TIMEOUT
        while self.grid.is_in_frame or not is_shown(str(self.grid)):
            if not self.read(limit - time.monotonic()) and time.monotonic() > limit:
                raise SystemExit(f"{name} did not appear within {TIMEOUT:g} s:\n{self.grid}")
        return Moment(time.monotonic() - self._start, self.cpu_seconds())

    def read_for(self, seconds: float) -> int:
        """Read for a while, and return the number of bytes."""
        before, limit = self.bytes, time.monotonic() + seconds
        while (left := limit - time.monotonic()) > 0:
            self.read(left)
        return self.bytes - before

    def close(self) -> None:
        self._program.send_signal(signal.SIGKILL)
        self._program.wait()
        os.close(self._master)

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
