"""worker.log: the output of a queued worker, line by line with its time, and of commands that the worker starts."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import TextIO

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import read_end
from clarinet_tui.text import printable

TIMESTAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ")


class TimestampedStream:
    """A text stream that starts each line with the time in UTC; it replaces sys.stdout and sys.stderr."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.time) -> None:
        self._stream, self._now = stream, now
        self._at_line_start = True

    def write(self, text: str) -> int:
        for line in text.splitlines(keepends=True):
            if self._at_line_start:
                self._stream.write(f"{format_timestamp(self._now())} ")
            self._stream.write(line)
            self._at_line_start = line.endswith("\n")
        self._stream.flush()
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def fileno(self) -> int:
        return self._stream.fileno()

    def isatty(self) -> bool:
        return False


def format_timestamp(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def split_timestamp(line: bytes) -> tuple[float | None, bytes]:
    """Return a line's time and text; the time is None for the output of libraries and commands."""
    with suppress(ValueError):
        if match := TIMESTAMP.match(line):
            return datetime.fromisoformat(match[1].decode()).timestamp(), line[match.end() :]
    return None, line


def quote_last_line(run: RunDirectory) -> str:
    """Return a colon and the start of the last line that is not empty, to end a message; empty if there is none."""
    lines = [line for line in read_end(run.log, 4096).splitlines() if line.strip()]
    return f": {printable(split_timestamp(lines[-1])[1].decode(errors='replace'))[:500]}" if lines else ""
