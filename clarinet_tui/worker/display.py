"""What a run looks like where it was started: a progress bar, JSON lines, or plain lines."""

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from clarinet_tui.logs.event_text import sentence
from core.events import Event, Started, Stepped, plain


class Display(Protocol):
    def preparing(self, what: str, done: int, total: int) -> None:
        """Data is being read or made."""

    def show(self, event: Event) -> None: ...

    def notice(self, sentence: str) -> None: ...

    def close(self) -> None: ...


def choose_display(run_id: str, *, json: bool, out: TextIO = sys.stdout) -> Display:
    if json:
        return JsonLines(out, run_id)
    if out.isatty():
        from clarinet_tui.worker.progress import ProgressBar

        return ProgressBar(run_id)
    return PlainLines(out, run_id)


class Lines:
    """Lines to a file or a pipe. When nobody reads any more, the run goes on without them."""

    def __init__(self, out: TextIO) -> None:
        self._out: TextIO | None = out

    def write(self, line: str) -> None:
        if self._out is None:
            return
        try:
            self._out.write(line + "\n")
            self._out.flush()
        except OSError:
            with contextlib.suppress(OSError):  # so that the interpreter's last flush finds somewhere to go
                os.dup2(os.open(os.devnull, os.O_WRONLY), self._out.fileno())
            self._out = None

    def close(self) -> None:
        """Nothing to tidy up."""


class JsonLines(Lines):
    """One event a line; the first one says which run. Numbers that JSON does not have are given as text."""

    def __init__(self, out: TextIO, run_id: str) -> None:
        super().__init__(out)
        self._first: dict[str, Any] = {"id": run_id}

    def show(self, event: Event) -> None:
        said = jsonable({**plain(event), **self._first})
        self._first = {}
        self.write(json.dumps(said, separators=(",", ":")))

    def preparing(self, what: str, done: int, total: int) -> None:
        """Events only."""

    def notice(self, sentence: str) -> None:
        self.write(json.dumps({"event": "notice", "message": sentence}))


def jsonable(value: object) -> object:
    """NaN and the infinities as "nan", "inf" and "-inf", as the journal has them."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: jsonable(inner) for key, inner in value.items()}
    return value


class PlainLines(Lines):
    """For a log file: a line at each turn of the run, and at most one every ten seconds between."""

    def __init__(
        self, out: TextIO, run_id: str, clock: Callable[[], float] = time.monotonic, every: float = 10.0
    ) -> None:
        super().__init__(out)
        self._run_id = run_id
        self._clock, self._every = clock, every
        self._next = 0.0
        self._total = 0
        self._prepared = ""

    def preparing(self, what: str, done: int, total: int) -> None:
        if done >= total and what != self._prepared:
            self._prepared = what
            self.write(what)

    def notice(self, sentence: str) -> None:
        self.write(sentence)

    def show(self, event: Event) -> None:
        if isinstance(event, Started):
            self._total = event.iterations_total
        if isinstance(event, Stepped):
            if self._clock() < self._next:
                return
            self._next = self._clock() + self._every
        if line := sentence(event, self._total, self._run_id):
            self.write(line)
