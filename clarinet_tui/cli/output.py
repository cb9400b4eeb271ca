"""Output that others read: a pipe that is closed ends it quietly."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def quiet_pipe() -> Iterator[None]:
    """`| head` has seen enough: there is nothing to complain about, neither now nor in the interpreter's last flush."""
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(0) from None
