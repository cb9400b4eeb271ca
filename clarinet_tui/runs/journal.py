"""The lines of a journal: format events, parse and check lines, and read lines that may be growing or damaged.

An event is a JSON object; iterations are compact arrays under a line of column names. Every field that the program uses
is checked: an event that passes can be stored in SQLite and shown, since integers have at most 53 bits, and no text
stands for a number.
"""

import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, BinaryIO, Literal, Union, get_args, get_origin

import msgspec

from clarinet_tui.runs.files import ContentError, open_file, parse_json, read_end
from core.events import Event, Stepped, flatten_event

FIXED_COLUMNS = ("iteration", "epoch", "adaptation_epoch", "stage", "seconds")
"""The first columns of every iteration; the metrics follow."""
Epoch = tuple[int, int | None, str]
"""Epoch, adaptation epoch and stage: what a template is made for."""
MAX_INTEGER = 2**53
MAX_COLUMNS = 1000
RESERVED = frozenset({"step", "damaged"})
"""Names of iterations, which are arrays, and of rows for unreadable lines."""
NON_FINITE = frozenset({"nan", "inf", "-inf"})
Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Number = float | Literal["nan", "inf", "-inf"]
Names = Sequence[str]
CHUNK = 1 << 20
MAX_LINE_BYTES = 16 << 20
ATTEMPT_STARTS = frozenset({"started", "resumed"})
"""The first events of an attempt. An unreadable line before one is where the previous attempt was killed."""


def format_event(event: Event, now: float, attempt: str = "") -> bytes:
    """Return one JSON object, with the Unix time added, and the attempt's id if it is the first."""
    fields = flatten_event(event)
    fields["time"] = round(now, 3)
    if attempt:
        fields["attempt"] = attempt
    return msgspec.json.encode(encode_non_finite(fields)) + b"\n"


class IterationFormatter:
    """Format iterations with a template that changes once an epoch; its %.9g reproduces every float32 exactly."""

    def __init__(self) -> None:
        self._columns: tuple[str, ...] | None = None
        self._epoch: Epoch | None = None
        self._template = ""

    def format(self, event: Stepped) -> bytes:
        """Return the iteration's line, preceded by a line of columns if the current ones do not fit."""
        measured = event.metrics
        names = tuple(measured)
        epoch = (event.epoch, event.adaptation_epoch, event.stage)
        is_finite = event.is_finite and math.isfinite(event.seconds)
        if is_finite and names == self._columns and epoch == self._epoch:
            return (self._template % (event.iteration, event.seconds, *measured.values())).encode()
        # A new epoch, other metrics, or a number that is not finite.
        header, fixed = b"", json.dumps(epoch, separators=(",", ":"))[1:-1]
        # Within a stage a missing metric is written as null; any other change of metrics needs new columns.
        fits = self._epoch is not None and event.stage == self._epoch[2] and set(names) <= set(self._columns or ())
        if names != self._columns and not fits:
            self._columns = names
            header = msgspec.json.encode({"event": "columns", "names": FIXED_COLUMNS + names}) + b"\n"
        columns = self._columns or ()
        if columns == names:
            self._epoch = epoch
            self._template = "[%d," + fixed.replace("%", "%%") + ",%.9g" * (len(names) + 1) + "]\n"
        values = [_format_number(value) for value in (event.seconds, *(measured.get(name) for name in columns))]
        return header + f"[{event.iteration},{fixed},{','.join(values)}]\n".encode()


def _format_number(value: float | None) -> str:
    if value is None:
        return "null"
    return f"{value:.9g}" if math.isfinite(value) else f'"{value}"'


def encode_non_finite(value: Any) -> Any:
    """Replace NaN and the infinities, which JSON does not have, by "nan", "inf" and "-inf"."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {key: encode_non_finite(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [encode_non_finite(inner) for inner in value]
    return value


def _stored_type(type_: Any) -> Any:
    """Return the type of a field of an event as the journal stores it."""
    origin, arguments = get_origin(type_), tuple(map(_stored_type, get_args(type_)))
    if origin in (Union, UnionType):
        return Union[arguments]  # noqa: UP007 - the types are known only here
    if origin is not None:
        return origin[arguments]
    return {int: Integer, float: Number}.get(type_, type_)


def _known_fields() -> type[msgspec.Struct]:
    """Return a struct of the fields of all events and annotations; each may be missing or null."""
    types: dict[str, Any] = {"event": str, "time": Number, "tag": str, "note": str, "attempt": str}
    for event in Event.__subclasses__():
        types |= {field.name: _stored_type(field.type) for field in msgspec.structs.fields(event)}
    for name in ("metrics", "labels"):  # not stored under these names
        del types[name]
    return msgspec.defstruct("KnownFields", [(name, type_ | None, None) for name, type_ in types.items()])


KNOWN_FIELDS = _known_fields()


def parse_line(line: bytes | None, columns: Names | None) -> dict[str, Any]:
    """Return a line's fields; raise ContentError with the reason if it cannot be used."""
    if not line:
        raise ContentError("is too long" if line is None else "is empty")
    content = parse_json(line)
    if isinstance(content, list):
        return parse_iteration(content, columns)
    if not isinstance(content, dict) or not isinstance(content.get("event"), str):
        raise ContentError("is not an event")
    if content["event"] in RESERVED:
        raise ContentError(f"is an object with the name of a {content['event']}")
    if content["event"] == "columns":
        _check_columns(content.get("names"))
        return content
    try:
        msgspec.convert(content, KNOWN_FIELDS)
    except msgspec.ValidationError as error:
        match = re.fullmatch(r"(.*) - at `\$\.?(.*)`", str(error), re.DOTALL)
        raise ContentError(f"{match[2]}: {match[1]}" if match else str(error)) from None
    for name, value in content.items():
        if type(value) is int and not is_integer(value):
            raise ContentError(f"{name[:40]}: integer of more than 53 bits")
    return content


def parse_event(line: bytes | None) -> dict[str, Any] | None:
    """Return the fields of an event that is not an iteration; None if the line cannot be used."""
    try:
        return parse_line(line, None)
    except ContentError:
        return None


def _check_columns(names: Any) -> None:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ContentError("names: expected a list of text")
    if tuple(names[:5]) != FIXED_COLUMNS or len(set(names)) < len(names) or "event" in names:
        raise ContentError(f"names: expected {', '.join(FIXED_COLUMNS)} and metrics, each once")
    if len(names) > MAX_COLUMNS:
        raise ContentError(f"names: expected at most {MAX_COLUMNS}, got {len(names)}")


def parse_iteration(values: list[Any], columns: Names | None) -> dict[str, Any]:
    """Return an iteration's fields; a metric that is null was not measured."""
    if columns is None:
        raise ContentError("is an iteration without columns")
    if len(values) != len(columns):
        raise ContentError(f"expected {len(columns)} values, got {len(values)}")
    iteration, epoch, adaptation_epoch, stage = values[:4]
    if not (
        is_integer(iteration)
        and is_integer(epoch)
        and (adaptation_epoch is None or is_integer(adaptation_epoch))
        and isinstance(stage, str)
    ):
        raise ContentError(f"expected integers and text for {', '.join(FIXED_COLUMNS[:4])}")
    fields: dict[str, Any] = {"event": "step", **dict(zip(columns[:4], values[:4], strict=True))}
    for name, value in zip(columns[4:], values[4:], strict=True):
        if value is None:
            continue
        number = parse_number(value)
        if type(number) is not float and not is_integer(number):
            raise ContentError(f"{name[:40]}: expected a number")
        fields[name] = number
    return fields


def is_integer(value: Any) -> bool:
    """Return whether this is an integer that SQLite and a float can store."""
    return type(value) is int and -MAX_INTEGER <= value <= MAX_INTEGER


def parse_number(value: Any) -> Any:
    """Return the float of the texts "nan", "inf" and "-inf", and any other value as it is."""
    return float(value) if isinstance(value, str) and value in NON_FINITE else value


def is_confusion_matrix(matrix: Any) -> bool:
    """Return whether a recorded value is a square matrix of counts."""
    if not isinstance(matrix, list) or not all(isinstance(row, list) and len(row) == len(matrix) for row in matrix):
        return False
    return bool(matrix) and all(type(count) is int and count >= 0 for row in matrix for count in row)


def read_first_event(path: Path) -> dict[str, Any] | None:
    """Return the event of the first line; None if there is none, or it is unreadable."""
    file = open_file(path)
    if file is None:
        return None
    with file:
        return next((parse_event(line) for _, _, line in read_lines(file)), None)


def read_last_event(path: Path) -> dict[str, Any] | None:
    """Return the event of the last complete line; None if that is an iteration or unreadable."""
    lines = read_end(path, CHUNK).split(b"\n")
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
