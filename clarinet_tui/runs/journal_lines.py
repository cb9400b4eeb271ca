"""Parse a line of a journal or of annotations, and check every field that the program uses.

An event that passes can be stored in SQLite and shown: integers have at most 53 bits, and no text stands for a number.
"""

import re
from collections.abc import Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec

from clarinet_tui.runs.journal_format import FIXED_COLUMNS
from clarinet_tui.runs.run_files import ContentError, parse_json
from core.events import Event

MAX_INTEGER = 2**53
MAX_COLUMNS = 1000
RESERVED = frozenset({"step", "damaged"})
"""Names of iterations, which are arrays, and of rows for unreadable lines."""
NON_FINITE = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}
Integer = Annotated[int, msgspec.Meta(ge=-MAX_INTEGER, le=MAX_INTEGER)]
Number = float | Literal["nan", "inf", "-inf"]
Names = Sequence[str]
_PLACE = re.compile(r"(.*) - at `\$\.?(.*)`", re.DOTALL)


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
    for name in ("measured", "labels"):  # not stored under these names
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
    if content["event"] == "columns":
        _check_columns(content.get("names"))
    elif content["event"] in RESERVED:
        raise ContentError(f"is an object with the name of a {content['event']}")
    else:
        _check_fields(content)
    return content


def parse_event(line: bytes | None) -> dict[str, Any] | None:
    """Return the fields of an event that is not an iteration; None if the line cannot be used."""
    try:
        return parse_line(line, None)
    except ContentError:
        return None


def _check_fields(fields: dict[str, Any]) -> None:
    try:
        msgspec.convert(fields, KNOWN_FIELDS)
    except msgspec.ValidationError as error:
        match = _PLACE.fullmatch(str(error))
        raise ContentError(f"{match[2]}: {match[1]}" if match else str(error)) from None
    for name, value in fields.items():
        if type(value) is int and not -MAX_INTEGER <= value <= MAX_INTEGER:
            raise ContentError(f"{name[:40]}: integer of more than 53 bits")


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
    return NON_FINITE.get(value, value) if isinstance(value, str) else value


def is_confusion_matrix(matrix: Any) -> bool:
    """Return whether a recorded value is a square matrix of counts."""
    if not isinstance(matrix, list) or not matrix:
        return False
    rows = [row for row in matrix if isinstance(row, list) and len(row) == len(matrix)]
    return len(rows) == len(matrix) and all(type(count) is int and count >= 0 for row in rows for count in row)
