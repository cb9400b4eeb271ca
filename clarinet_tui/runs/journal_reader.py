"""Read a journal that may be growing or damaged."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from clarinet_tui.runs.journal_lines import Names, parse_event, parse_line
from clarinet_tui.runs.run_files import ContentError, UnreadableFileError, open_file

CHUNK = 1 << 20
MAX_LINE_BYTES = 16 << 20
COLUMNS = b'{"event":"columns"'
ATTEMPT_STARTS = frozenset({"started", "resumed"})
"""The first events of an attempt. An unreadable line before one is where the previous attempt was killed."""


@dataclass(frozen=True, slots=True)
class JournalEvent:
    """An event as `core.events.flatten_event` returns it, at the bytes from `start` to `end`."""

    fields: dict[str, Any]
    start: int
    end: int

    @property
    def name(self) -> str:
        return str(self.fields["event"])


@dataclass(frozen=True, slots=True)
class DamagedLine:
    """An unreadable line that is not the last one."""

    number: int
    start: int
    end: int
    reason: str

    def __str__(self) -> str:
        return f"line {self.number} cannot be read and was skipped: {self.reason}"


def read_journal(path: Path, offset: int = 0, columns: Names | None = None) -> Iterator[JournalEvent | DamagedLine]:
    """Yield the events from byte `offset` on, in bounded memory; a last line without a line end is not read yet.

    `columns` are the names that apply at `offset`; if None, the journal is searched for them.
    """
    file = open_file(path)
    if file is None:
        return
    with file:
        if offset and columns is None:
            columns = find_columns(file, offset)
        first = line_number(file, offset) if offset else 1
        damaged: DamagedLine | None = None
        for number, (start, end, line) in enumerate(read_lines(file, offset), first):
            fields: dict[str, Any] = {}
            reason = ""
            try:
                fields = parse_line(line, columns)
            except ContentError as error:
                reason = str(error)
            if damaged and fields.get("event") not in ATTEMPT_STARTS:
                yield damaged
            damaged = DamagedLine(number, start, end, reason) if reason else None
            if fields.get("event") == "columns":
                columns = fields["names"]
            elif fields:
                yield JournalEvent(fields, start, end)
        if damaged:
            yield damaged


def read_last_event(path: Path) -> dict[str, Any] | None:
    """Return the event of the last complete line; None if that is an iteration or unreadable."""
    try:
        file = open_file(path)
    except UnreadableFileError:
        return None
    if file is None:
        return None
    with file:
        try:
            file.seek(max(0, file.seek(0, 2) - CHUNK))
            lines = file.read().split(b"\n")
        except OSError:
            return None
    return parse_event(lines[-2]) if len(lines) > 1 else None


def read_lines(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, int, bytes | None]]:
    """Yield start, end and content of each complete line; the content of an oversized line is None."""
    file.seek(offset)
    start, rest = offset, b""
    too_long = 0
    while chunk := file.read(CHUNK):
        lines = (rest + chunk).split(b"\n")
        rest = lines.pop()
        for line in lines:
            end = start + too_long + len(line) + 1
            yield start, end, None if too_long else line
            start, too_long = end, 0
        if too_long or len(rest) > MAX_LINE_BYTES:
            too_long += len(rest)
            rest = b""


def find_columns(file: BinaryIO, offset: int) -> list[str] | None:
    """Return the columns that apply at `offset`: search backwards for the last line of columns."""
    end, tail = offset, b""
    while end > 0:
        begin = max(0, end - CHUNK)
        file.seek(begin)
        block = file.read(end - begin) + tail
        at = len(block)
        while (at := block.rfind(COLUMNS, 0, at)) >= 0:
            fields = parse_event(block[at : block.find(b"\n", at)])
            starts_line = begin == 0 if at == 0 else block[at - 1 : at] == b"\n"
            if starts_line and fields:
                names: list[str] = fields["names"]
                return names
        end, tail = begin, block[: len(COLUMNS) + 65536]
    return None


def line_number(file: BinaryIO, offset: int) -> int:
    """Return the number of the line that starts at byte `offset`, counted from 1."""
    count = 1
    file.seek(0)
    while offset > 0 and (chunk := file.read(min(CHUNK, offset))):
        count += chunk.count(b"\n")
        offset -= len(chunk)
    return count
