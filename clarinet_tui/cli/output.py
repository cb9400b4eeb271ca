"""Print to terminals, files and pipes."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import typer

from clarinet_tui.text import printable
from core.errors import InputError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.console import Console


def make_console(width: int = 200) -> "Console":
    """Return a console as wide as the terminal, or `width` columns wide where output goes to a file."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def as_object(record: "DataclassInstance", **public_names: str) -> dict[str, Any]:
    """Return a dataclass as a JSON object; `public_names` are the keys of fields that have another name there."""
    return {public_names.get(name, name): value for name, value in asdict(record).items()}


def print_json(content: Any, indent: int | None = 2) -> None:
    print(json.dumps(content, indent=indent))


def print_json_rows(rows: Iterable[Any], *, lines: bool) -> None:
    """Print one JSON array, or with `lines` one object a line; each row as soon as it is there."""
    if lines:
        for row in rows:
            print(json.dumps(row, separators=(",", ":")))
        return
    separator = "[\n  "
    for row in rows:
        print(f"{separator}{json.dumps(row)}", end="")
        separator = ",\n  "
    print("\n]" if separator != "[\n  " else "[]")


def warn(message: str) -> None:
    print(f"clarinet: {printable(message)}", file=sys.stderr)


@contextmanager
def show_progress() -> "Iterator[Callable[[str, int, int], None]]":
    """Show what is done on standard error while that is a terminal: a name, how much is done, and the total."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=escape(printable(what)), completed=done, total=total
        )


def write_csv(file: TextIO, names: list[str], rows: Iterable[dict[str, Any]]) -> int:
    """Write a header and the rows one by one; return the number of rows."""
    import csv

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(_csv_cell, names))
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007
        writer.writerow([_csv_cell(row.get(name)) for name in names])
    return count


def _csv_cell(value: Any) -> Any:
    """Return a text without control characters, but with its lines: names and messages come from journals."""
    return "\n".join(map(printable, value.splitlines())) if isinstance(value, str) else value


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """Exit without an error when the reader of a pipe, such as `head`, has closed it."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes stdout once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None


def check_out(out: Path, *suffixes: str) -> None:
    """Raise InputError for another suffix or a place that takes no file, before a command does its work."""
    if out.suffix not in suffixes:
        raise InputError(f"--out: expected FILE{' or FILE'.join(suffixes)}, got {out.name!a}")
    if not out.parent.is_dir():
        raise InputError(f"--out: {out.parent} is not a directory")
    if out.is_dir():
        raise InputError(f"--out: {out} is a directory")


def write_file(path: Path, content: bytes) -> None:
    """Write a file atomically and print its path."""
    from clarinet_tui.runs.atomic_files import USER_FILE, as_input_error, replace_file

    with as_input_error(path.parent):
        replace_file(path, content, USER_FILE)
    print(f"Written: {path}")
