"""Tables for programs: CSV and JSON."""

import csv
import json
from collections.abc import Iterable, Iterator
from typing import Any, TextIO

from clarinet_tui.text import printable


def write_csv(file: TextIO, names: list[str], rows: Iterable[dict[str, Any]]) -> int:
    """Write a header and the rows one by one; return the number of rows."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_csv_cell, names))
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        writer.writerow([_csv_cell(row.get(name)) for name in names])
    return count


def _csv_cell(value: Any) -> Any:
    """Return a text without control characters, but with its lines: names and messages come from journals."""
    return "\n".join(map(printable, value.splitlines())) if isinstance(value, str) else value


def json_rows(rows: Iterable[Any], *, lines: bool) -> Iterator[str]:
    """Yield the text of one JSON array, or with `lines` one object a line; each row as soon as it is there."""
    if lines:
        for row in rows:
            yield f"{json.dumps(row, separators=(',', ':'))}\n"
        return
    separator = "[\n  "
    for row in rows:
        yield f"{separator}{json.dumps(row)}"
        separator = ",\n  "
    yield "\n]\n" if separator != "[\n  " else "[]\n"
