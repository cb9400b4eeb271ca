"""The log of a run: the events of its journal and the output of its worker, merged by time."""

import heapq
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import reduce
from itertools import chain, islice
from operator import itemgetter, or_
from pathlib import Path
from typing import Any, BinaryIO, Self

import msgspec

from clarinet_tui.logs.event_text import describe_event
from clarinet_tui.queue.queue_file import Queue, read_queue
from clarinet_tui.queue.supervisor import find_supervisor
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import UnreadableFileError, open_file
from clarinet_tui.runs.journal import parse_event
from clarinet_tui.runs.lock import is_held_by, read_lock_owner
from clarinet_tui.runs.state import FINAL_EVENTS
from clarinet_tui.runs.worker_log import split_timestamp
from clarinet_tui.text import printable, shorten
from core.errors import InputError
from core.events import Event

CHUNK = 1 << 16
ANY_EVENT: Any = reduce(or_, Event.__subclasses__())
MAX_CHARACTERS = 2000
MAX_LINE_BYTES, MAX_EVENT_BYTES = 4 * MAX_CHARACTERS, 4 << 20
MAX_MEMORY, LINE_OVERHEAD = 64 << 20, 64
"""Bytes that the last lines may use in memory, and what each uses beside its characters."""
MAX_UNTIMED = 1000
"""Lines without a time that are kept in memory until the time of an earlier line is known."""

TimedLine = tuple[float, str]
"""A line of the log and its Unix time."""


class RunLog:
    """The lines for which `accept` returns True, by time; a line without a time gets that of the line before it."""

    def __init__(
        self, run: RunDirectory, accept: Callable[[str], bool] = lambda line: True, runs_dir: Path | str = "runs"
    ) -> None:
        """`runs_dir` is that of the commands in its text."""
        self._run, self._accept, self._runs_dir = run, accept, runs_dir
        self._journal = FileTail(run.journal, MAX_EVENT_BYTES)
        self._output = FileTail(run.log, MAX_LINE_BYTES)
        self._output_time = 0.0
        self.has_final_event = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._journal.close()
        self._output.close()

    def read_last(self, count: int) -> list[str]:
        """Return the last `count` lines that are there now; `read_new` continues after them."""
        timed = _timed_backwards(self._output.read_backwards())
        newest = list(islice(timed, 1))
        self._output_time = newest[0][0] if newest else 0.0
        output = self._take_accepted(chain(newest, timed), count)
        journal = self._journal.read_backwards()
        last = next(journal, b"")
        self.has_final_event = _parse_event(last).get("event") in FINAL_EVENTS
        # A long run has a million iterations, which are arrays, between a few events, which are objects.
        objects = (line for line in chain([last], journal) if line.startswith(b"{"))
        events = self._take_accepted(chain.from_iterable(reversed(self._describe(line)) for line in objects), count)
        lines = heapq.merge(output, events, key=itemgetter(0))
        return [text for _, text in lines][-count:] if count else []

    def read_new(self) -> Iterator[str]:
        """Yield the lines since the last call."""
        lines = heapq.merge(self._new_output(), self._new_events(), key=itemgetter(0))
        yield from filter(self._accept, (text for _, text in lines))

    def read_partial(self) -> Iterator[str]:
        """Yield the last line of the worker's output if it has no line end; called when the run is over."""
        yield from filter(self._accept, (clean_line(split_timestamp(line)[1]) for line in self._output.read_partial()))

    def is_over(self) -> bool:
        """Return whether no more lines will come; a removed run is over, a run that has not started is not."""
        if not self._run.config.exists():
            return True
        try:
            queue = read_queue(self._run.runs_dir)
        except InputError:
            queue = Queue()
        # The supervisor removes ended runs from the queue: this one will start, or be retried.
        if self._run.id in queue and (queue[self._run.id].is_waiting or find_supervisor(self._run.runs_dir)):
            return False
        owner = read_lock_owner(self._run.lock)
        if owner is None or (alive := is_held_by(self._run.lock, owner)) is None:
            return self.has_final_event
        has_started = self._run.journal.exists() or owner.released is None
        return has_started and not alive

    def _take_accepted(self, lines: Iterator[TimedLine], count: int) -> list[TimedLine]:
        """Return the first `count` accepted lines in reverse order, or fewer if they use too much memory."""
        accepted: list[TimedLine] = []
        memory = MAX_MEMORY
        for line in islice((line for line in lines if self._accept(line[1])), count):
            memory -= len(line[1]) + LINE_OVERHEAD
            if memory < 0:
                break
            accepted.append(line)
        return accepted[::-1]

    def _new_output(self) -> Iterator[TimedLine]:
        for line in self._output.read_new():
            time, text = split_timestamp(line)
            self._output_time = self._output_time if time is None else time
            yield self._output_time, clean_line(text)

    def _new_events(self) -> Iterator[TimedLine]:
        for line in self._journal.read_new():
            self.has_final_event = _parse_event(line).get("event") in FINAL_EVENTS
            yield from self._describe(line)

    def _describe(self, line: bytes) -> list[TimedLine]:
        fields = _parse_event(line)
        time = fields.get("time")
        time = time if isinstance(time, float | int) else 0.0
        return [(time, text) for text in describe_fields(fields, self._run.id, self._runs_dir)]


def describe_fields(fields: dict[str, Any], run_id: str, runs_dir: Path | str = "runs") -> list[str]:
    """Return the lines of text that describe an event of a journal."""
    try:
        # The journal does not store the labels, and stores NaN as text.
        event: Event = msgspec.convert({"labels": [], **fields}, ANY_EVENT, strict=False)
        text = describe_event(event, 0, run_id, runs_dir)
    except msgspec.ValidationError:
        text = printable(fields.get("message") or "")
    return [shorten(line.rstrip(), MAX_CHARACTERS) for line in text.split("\n")] if text else []


def clean_line(line: bytes) -> str:
    """Return foreign bytes as printable text."""
    return shorten(printable(line.decode(errors="replace")).rstrip(), MAX_CHARACTERS)


def _parse_event(line: bytes) -> dict[str, Any]:
    """Return the fields of an event; none for iterations and unreadable lines."""
    return (parse_event(line) if line.startswith(b"{") else None) or {}


def _timed_backwards(lines: Iterator[bytes]) -> Iterator[TimedLine]:
    """Yield lines from the last to the first, with the time of the closest earlier line if they have none."""
    untimed: list[str] = []
    for line in lines:
        time, text = split_timestamp(line)
        untimed.append(clean_line(text))
        if time is not None or len(untimed) == MAX_UNTIMED:
            yield from ((time or 0.0, text) for text in untimed)
            untimed = []
    yield from ((0.0, text) for text in untimed)


class FileTail:
    """Lines are cut to `max_line` bytes. Anything but a regular file counts as missing."""

    def __init__(self, path: Path, max_line: int) -> None:
        self._path, self._max_line = path, max_line
        self._file: BinaryIO | None = None
        self._offset = 0
        self._partial = b""
        """The last line while it has no line end."""
        self._open()

    def read_backwards(self) -> Iterator[bytes]:
        """Yield the lines that are there now, last first; `read_new` continues after them."""
        if self._file is None:
            return iter(())
        self._offset = os.fstat(self._file.fileno()).st_size
        lines = _backwards(self._file, self._offset, self._max_line)
        self._partial = next(lines)
        return lines

    def read_new(self) -> Iterator[bytes]:
        """Yield the lines since the last call; if the file was replaced, the rest of the old one comes first."""
        replaced = False
        with suppress(OSError):  # a file that was only moved may still grow
            if self._file is not None:
                replaced = not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        yield from self._complete_lines()
        if self._file is None or replaced:
            yield from self.read_partial()
            self.close()
            self._open()
            yield from self._complete_lines()

    def read_partial(self) -> Iterator[bytes]:
        """Yield the last line if it has no line end; to be called when the file grows no more."""
        partial, self._partial = self._partial, b""
        if partial:
            yield partial

    def _complete_lines(self) -> Iterator[bytes]:
        if self._file is None:
            return
        if os.fstat(self._file.fileno()).st_size < self._offset:
            self._offset, self._partial = 0, b""
        while chunk := os.pread(self._file.fileno(), CHUNK, self._offset):
            self._offset += len(chunk)
            *lines, rest = (self._partial + chunk).split(b"\n")
            self._partial = rest[: self._max_line]
            yield from (line[: self._max_line] for line in lines)

    def _open(self) -> None:
        self._offset, self._partial = 0, b""
        with suppress(UnreadableFileError):
            self._file = open_file(self._path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def _backwards(file: BinaryIO, end: int, max_line: int) -> Iterator[bytes]:
    """Yield what follows the last line end, and then the lines from the last to the first."""
    rest = b""
    while end > 0:
        begin = max(0, end - CHUNK)
        rest, *lines = (os.pread(file.fileno(), end - begin, begin) + rest).split(b"\n")
        for line in reversed(lines):
            yield line[:max_line]
        rest, end = rest[:max_line], begin
    yield rest
