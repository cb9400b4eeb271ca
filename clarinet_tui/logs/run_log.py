"""What a run said and what its worker printed, as one stream of lines that people read."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from itertools import chain, islice
from operator import or_
from typing import Any, Self

import msgspec

from clarinet_tui.logs.event_text import sentence
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.supervisor_process import supervisor
from clarinet_tui.runs.atomic_files import modified
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import parse
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import alive
from clarinet_tui.runs.tail import Growing
from clarinet_tui.text import printable
from core.errors import InputError
from core.events import Event

ANY_EVENT: Any = reduce(or_, Event.__subclasses__())
FINAL = frozenset({"finished", "failed", "stopped"})
LONGEST = 2000
"""Characters of a line."""
LONGEST_BYTES, LONGEST_EVENT = 4 * LONGEST, 4 << 20
MOST_BYTES, A_LINE = 64 << 20, 64
"""What the last lines may take in memory, and what each takes beside its characters."""
ECHOES = 1000
"""How far journal and log may be apart when they say the same."""


class Story:
    """The worker prints most of what the run says, so that each sentence is in both files: it is told once."""

    def __init__(self, run: RunDirectory, wanted: Callable[[str], bool] = lambda line: True) -> None:
        self._run, self._wanted = run, wanted
        self._journal = Growing(run.journal, LONGEST_EVENT)
        self._log = Growing(run.log, LONGEST_BYTES)
        self._only_said: deque[str] = deque(maxlen=ECHOES)
        self._only_printed: deque[str] = deque(maxlen=ECHOES)
        self.said_last_word = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *trouble: object) -> None:
        self._journal.__exit__(*trouble)
        self._log.__exit__(*trouble)

    def last(self, count: int) -> list[str]:
        """The last lines of what is there now; `new` goes on after them."""
        printed = _most(self._chosen(map(cleaned, self._log.before())), count + ECHOES)
        said = _most(self._said_before(), count + ECHOES)
        pairs = [*_pairs(printed, said), (len(printed), len(said))]
        self._only_printed.extend(reversed(printed[: pairs[0][0]]))
        self._only_said.extend(reversed(said[: pairs[0][1]]))
        log_is_older = modified(self._run.log) <= modified(self._run.journal)
        return _together(printed, said, pairs, log_is_older)[:count][::-1]

    def new(self) -> Iterator[str]:
        """What came since. The log first: it has more, and everything in its order."""
        for line in self._chosen(map(cleaned, self._log.new())):
            if not _echo(line, self._only_said, self._only_printed):
                yield line
        for said in self._journal.new():
            self.said_last_word = _is_final(said)
            for line in self._chosen(sentences(said, self._run.id)):
                if not _echo(line, self._only_printed, self._only_said):
                    yield line

    def torn(self) -> Iterator[str]:
        """What the worker printed last, without an end; for when nothing more is to come."""
        yield from self._chosen(map(cleaned, self._log.torn()))

    def over(self) -> bool:
        """Whether nothing more is to come. A run that has not begun is not over, one that is gone is."""
        if not self._run.config.exists():
            return True
        if self._is_queued():
            return False
        holder = read_holder(self._run.lock)
        if holder is None or (lives := alive(holder)) is None:
            return self.said_last_word
        began = self._run.journal.exists() or holder.released is None
        return began and not lives

    def _is_queued(self) -> bool:
        """Whether it is to start, or to be tried again: the supervisor takes out what has ended."""
        try:
            queue = read_queue(self._run.runs_dir)
        except InputError:
            return False
        return self._run.id in queue and (queue[self._run.id].waits or supervisor(self._run.runs_dir) is not None)

    def _said_before(self) -> Iterator[str]:
        """Sentences of the journal, last first."""
        lines = self._journal.before()
        last = next(lines, b"")
        self.said_last_word = _is_final(last)
        said = (reversed(sentences(line, self._run.id)) for line in chain([last], lines))
        return self._chosen(chain.from_iterable(said))

    def _chosen(self, lines: Iterable[str]) -> Iterator[str]:
        return filter(self._wanted, lines)


def sentences(line: bytes, run_id: str) -> list[str]:
    """A line of a journal in words; iterations, and what cannot be read, say nothing."""
    fields = parse(line, None) if line.startswith(b"{") else None
    if fields is None:
        return []
    try:
        # The journal leaves labels out, and has not-a-number as text.
        event: Event = msgspec.convert({"labels": [], **fields}, ANY_EVENT, strict=False)
    except msgspec.ValidationError:
        message = fields.get("message")
        return [shortened(printable(message))] if isinstance(message, str) else []
    said = sentence(event, 0, run_id)
    return [shortened(part) for part in said.split("\n")] if said else []


def cleaned(line: bytes) -> str:
    """Foreign bytes as harmless text."""
    return shortened(printable(line.decode(errors="replace")))


def shortened(text: str) -> str:
    text = text.rstrip()
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _is_final(line: bytes) -> bool:
    fields = parse(line, None) if line.startswith(b"{") else None
    return fields is not None and fields["event"] in FINAL


def _most(lines: Iterator[str], count: int) -> list[str]:
    """At most `count`, and no more than memory should hold."""
    taken: list[str] = []
    room = MOST_BYTES
    for line in islice(lines, count):
        room -= len(line) + A_LINE
        if room < 0:
            break
        taken.append(line)
    return taken


def _pairs(printed: list[str], said: list[str]) -> Iterator[tuple[int, int]]:
    """Where both say the same; both are in the same order."""
    places: dict[str, deque[int]] = {}
    for place, line in enumerate(said):
        places.setdefault(line, deque()).append(place)
    at = 0
    for number, line in enumerate(printed):
        same = places.get(line, deque())
        while same and same[0] < at:
            same.popleft()
        if same:
            at = same[0] + 1
            yield number, same[0]


def _together(printed: list[str], said: list[str], pairs: list[tuple[int, int]], log_is_older: bool) -> list[str]:
    """Both, last first, as one. What only one of them has stays between what both have.

    Beyond the last of that, the file that was written last has the last word.
    """
    told: list[str] = []
    a = b = 0
    for number, place in pairs:
        between = [printed[a:number], said[b:place]]
        for lines in reversed(between) if log_is_older and not told else between:
            told += lines
        told += printed[number : number + 1]
        a, b = number + 1, place + 1
    return told


def _echo(line: str, expected: deque[str], heard: deque[str]) -> bool:
    """Whether the other file has said this; if not, it may yet."""
    if line in expected:
        expected.remove(line)
        return True
    heard.append(line)
    return False
