"""Print to terminals, files and pipes."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from clarinet_tui.tables.table import Table
from clarinet_tui.text import printable
from core.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console


def make_console(width: int = 200) -> "Console":
    """Return a console as wide as the terminal, or `width` columns wide where output goes to a file."""
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else width)


def print_json(content: Any, indent: int | None = 2) -> None:
    print(json.dumps(content, indent=indent))


def print_json_rows(rows: Iterable[Any], *, lines: bool) -> None:
    """Print one JSON array, or with `lines` one object a line; each row as soon as it is there."""
    if lines:
        sys.stdout.writelines(f"{json.dumps(row, separators=(',', ':'))}\n" for row in rows)
        return
    separator = "[\n  "
    for row in rows:
        print(separator, json.dumps(row), sep="", end="")
        separator = ",\n  "
    print("[]" if separator.startswith("[") else "\n]")


def print_table(table: Table, *, json: bool = False, jsonl: bool = False, gap: int = 2, width: int = 200) -> None:
    """Print a table for a person, or its rows as JSON; `width` is that of a file."""
    if json or jsonl:
        print_json_rows(table.objects(), lines=jsonl)
        return
    from clarinet_tui.tables.writers import to_rich

    console = make_console(width)
    console.print(to_rich(table, console.width, gap=gap))


def warn(message: str) -> None:
    print(f"clarinet: {printable(message)}", file=sys.stderr)


@contextmanager
def show_progress(*, in_bytes: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Show what is done on standard error while that is a terminal: a name, how much is done, and the total."""
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import DownloadColumn, Progress

    columns = (*Progress.get_default_columns(), *([DownloadColumn()] if in_bytes else []))
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bar:
        task = bar.add_task("", total=None)
        yield lambda what, done, total: bar.update(
            task, description=escape(printable(what)), completed=done, total=total or None
        )


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
    from clarinet_tui.runs.files import USER_FILE, as_input_error
    from core.files import replace_file

    with as_input_error(path.parent):
        replace_file(path, content, USER_FILE)
    print(f"Written: {path}")
