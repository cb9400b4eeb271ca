"""Read a journal that may be growing or damaged."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

CHUNK = 1 << 20
MAX_LINE_BYTES = 16 << 20
COLUMNS = b'{"event":"columns"'
ATTEMPT_STARTS = frozenset({"started", "resumed"})
"""The first events of an attempt. An unreadable line before one is where the previous attempt was killed."""
FIXED_TYPES = (int, int, int | None, str)
"""Of an iteration's first columns: iteration, epoch, adaptation epoch and stage."""
NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

DECODE_ERRORS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `decode` raises on a damaged line."""
decode = msgspec.json.Decoder().decode


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

    def __str__(self) -> str:
        return f"line {self.number} cannot be read and was skipped"


Names = Sequence[str]


def read_journal(path: Path, offset: int = 0, columns: Names | None = None) -> Iterator[JournalEvent | DamagedLine]:
    """Yield the events from byte `offset` on, in bounded memory; a last line without a line end is not read yet.

    `columns` are the names that apply at `offset`; if None, the journal is searched for them.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        if offset and columns is None:
            columns = find_columns(file, offset)
        damaged: DamagedLine | None = None
        for start, end, line in read_lines(file, offset):
            fields = parse_line(line, columns)
            if damaged and not (fields and fields["event"] in ATTEMPT_STARTS):
                yield damaged
            damaged = None
            if fields is None:
                damaged = DamagedLine(line_number(path, start), start, end)
            elif fields["event"] == "columns":
                columns = fields["names"]
            else:
                yield JournalEvent(fields, start, end)
        if damaged:
            yield damaged


def read_last_event(path: Path) -> dict[str, Any] | None:
    """Return the event of the last complete line; None if that is an iteration or unreadable."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - CHUNK))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    return parse_line(lines[-2], None) if len(lines) > 1 else None


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


def parse_line(line: bytes | None, columns: Names | None) -> dict[str, Any] | None:
    """Return a line's fields, or None if it is unreadable."""
    try:
        content = decode(line or b"")
    except DECODE_ERRORS:
        return None
    if isinstance(content, list):
        return parse_iteration(content, columns)
    if not isinstance(content, dict) or not isinstance(content.get("event"), str):
        return None
    if content["event"] != "columns":
        return content
    names = content.get("names")
    is_valid = isinstance(names, list) and len(names) >= 5 and all(isinstance(name, str) for name in names)
    return content if is_valid else None


def parse_iteration(values: list[Any], columns: Names | None) -> dict[str, Any] | None:
    """Return an iteration's fields; a metric that is null was not measured."""
    if columns is None or len(values) != len(columns) or not all(map(isinstance, values, FIXED_TYPES)):
        return None
    fields: dict[str, Any] = {"event": "step", **dict(zip(columns[:4], values[:4], strict=True))}
    for name, value in zip(columns[4:], values[4:], strict=True):
        if value is None:
            continue
        number = parse_number(value)
        if not isinstance(number, float | int):
            return None
        fields[name] = number
    return fields


def parse_number(value: Any) -> Any:
    """Return the float of the texts "nan", "inf" and "-inf", and any other value as it is."""
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


def find_columns(file: BinaryIO, offset: int) -> list[str] | None:
    """Return the columns that apply at `offset`: search backwards for the last line of columns."""
    end, tail = offset, b""
    while end > 0:
        begin = max(0, end - CHUNK)
        file.seek(begin)
        block = file.read(end - begin) + tail
        at = len(block)
        while (at := block.rfind(COLUMNS, 0, at)) >= 0:
            fields = parse_line(block[at:].partition(b"\n")[0], None)
            starts_line = begin == 0 if at == 0 else block[at - 1 : at] == b"\n"
            if starts_line and fields:
                names: list[str] = fields["names"]
                return names
        end, tail = begin, block[: len(COLUMNS) + 65536]
    return None


def line_number(path: Path, offset: int) -> int:
    """Return the number of the line that starts at byte `offset`, counted from 1."""
    count = 1
    with path.open("rb") as file:
        while offset > 0 and (chunk := file.read(min(CHUNK, offset))):
            count += chunk.count(b"\n")
            offset -= len(chunk)
    return count
