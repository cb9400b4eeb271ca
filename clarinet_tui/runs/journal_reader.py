"""Reading a journal that may still be growing, or that has been hurt."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

CHUNK = 1 << 20
LONGEST_LINE = 16 << 20
COLUMNS = b'{"event":"columns"'
BEGINNINGS = frozenset({"started", "resumed"})
"""What a new sitting says first. A line that cannot be read before it is only where the sitting before was cut off."""
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `decode` raises on a line that was hurt."""
decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that the run said: an event as `core.events.plain` gives it, from byte `start` to byte `end`."""

    fields: dict[str, Any]
    start: int
    end: int

    @property
    def event(self) -> str:
        name: str = self.fields["event"]
        return name


@dataclass(frozen=True, slots=True)
class Damaged:
    """A line in the middle that cannot be read."""

    number: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"line {self.number} cannot be read and was left out"


Names = Sequence[str]


def read(path: Path, offset: int = 0, columns: Names | None = None) -> Iterator[Record | Damaged]:
    """What the journal says from byte `offset` on, in bounded memory. A last line without its end is not there yet.

    `columns` are those in force at `offset`; they are looked up where they are not given.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return
    with file:
        if offset and columns is None:
            columns = columns_before(file, offset)
        torn: Damaged | None = None
        for start, end, line in whole_lines(file, offset):
            fields = parse(line, columns)
            if torn and not (fields and fields["event"] in BEGINNINGS):
                yield torn
            torn = None
            if fields is None:
                torn = Damaged(line_number(path, start), start, end)
            elif fields["event"] == "columns":
                columns = fields["names"]
            else:
                yield Record(fields, start, end)
        if torn:
            yield torn


def last_word(path: Path) -> dict[str, Any] | None:
    """The last whole line, if it is an event that can be read; iterations are no words."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, file.seek(0, 2) - CHUNK))
            lines = file.read().split(b"\n")
    except OSError:
        return None
    return parse(lines[-2], None) if len(lines) > 1 else None


def whole_lines(file: BinaryIO, offset: int = 0) -> Iterator[tuple[int, int, bytes | None]]:
    """Start, end and content of each line that has an end; the content of one too long for memory is None."""
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
        if too_long or len(rest) > LONGEST_LINE:
            too_long += len(rest)
            rest = b""


def parse(line: bytes | None, columns: Names | None) -> dict[str, Any] | None:
    """A line's fields, or None if it cannot be read."""
    try:
        content = decode(line or b"")
    except UNREADABLE:
        return None
    if isinstance(content, list):
        return iteration(content, columns)
    if not isinstance(content, dict) or not isinstance(content.get("event"), str):
        return None
    if content["event"] == "columns" and not _are_names(content.get("names")):
        return None
    return content


def iteration(values: list[Any], columns: Names | None) -> dict[str, Any] | None:
    """An array of values as a `step`; a metric that is null was not measured."""
    if columns is None or len(values) != len(columns) or not _begins_well(values):
        return None
    fields: dict[str, Any] = {"event": "step", **dict(zip(columns[:4], values[:4], strict=True))}
    for name, value in zip(columns[4:], values[4:], strict=True):
        if value is None:
            continue
        known = number(value)
        if not isinstance(known, float | int):
            return None
        fields[name] = known
    return fields


def _begins_well(values: list[Any]) -> bool:
    at, epoch, adaptation_epoch, stage = values[:4]
    return (
        isinstance(at, int)
        and isinstance(epoch, int)
        and isinstance(adaptation_epoch, int | None)
        and isinstance(stage, str)
    )


def number(value: Any) -> Any:
    """Not-a-number and the infinities come as text."""
    return NUMBERS.get(value, value) if isinstance(value, str) else value


def _are_names(names: Any) -> bool:
    return isinstance(names, list) and len(names) >= 5 and all(isinstance(name, str) for name in names)


def columns_before(file: BinaryIO, offset: int) -> list[str] | None:
    """The columns in force at `offset`: those of the last such line before it, found from the end."""
    end, tail = offset, b""
    while end > 0:
        begin = max(0, end - CHUNK)
        file.seek(begin)
        block = file.read(end - begin) + tail
        at = len(block)
        while (at := block.rfind(COLUMNS, 0, at)) >= 0:
            fields = parse(block[at:].partition(b"\n")[0], None)
            if ((at == 0 and begin == 0) or block[at - 1 : at] == b"\n") and fields:
                names: list[str] = fields["names"]
                return names
        end, tail = begin, block[: len(COLUMNS) + 65536]
    return None


def line_number(path: Path, offset: int) -> int:
    """Which line begins at byte `offset`, counted from 1."""
    count = 1
    with path.open("rb") as file:
        while offset > 0 and (chunk := file.read(min(CHUNK, offset))):
            count += chunk.count(b"\n")
            offset -= len(chunk)
    return count
