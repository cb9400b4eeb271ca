"""What a run looks like where it was started: a progress bar, JSON lines, or plain lines."""

import contextlib
import json
import sys
import time
from collections.abc import Callable
from typing import Literal, Protocol, TextIO

from core.events import (
    Evaluated,
    Event,
    Failed,
    Finished,
    Noticed,
    PseudoLabelled,
    Resumed,
    StageStarted,
    Started,
    Stepped,
    Stopped,
    plain,
)


class Display(Protocol):
    def preparing(self, what: str, done: int, total: int) -> None:
        """Data is being read or made."""

    def show(self, event: Event) -> None: ...

    def notice(self, sentence: str) -> None: ...

    def close(self) -> None: ...


def choose_display(kind: Literal["json"] | None, out: TextIO = sys.stdout) -> Display:
    if kind == "json":
        return JsonLines(out)
    if out.isatty():
        from clarinet_tui.launch.progress import ProgressBar

        return ProgressBar()
    return PlainLines(out)


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
            self._out = None
            with contextlib.suppress(OSError):
                sys.stdout = open("/dev/null", "w")  # noqa: SIM115, PTH123 - stands in until the process ends

    def close(self) -> None:
        """Nothing to tidy up."""


class JsonLines(Lines):
    """One event a line; numbers that JSON does not have are given as text."""

    def show(self, event: Event) -> None:
        self.write(json.dumps(jsonable(plain(event)), ensure_ascii=False, separators=(",", ":")))

    def preparing(self, what: str, done: int, total: int) -> None:
        """Events only."""

    def notice(self, sentence: str) -> None:
        self.write(json.dumps({"event": "notice", "message": sentence}, ensure_ascii=False))


def jsonable(value: object) -> object:
    """NaN and the infinities as "nan", "inf" and "-inf", as the journal has them."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)
    if isinstance(value, dict):
        return {key: jsonable(inner) for key, inner in value.items()}
    return value


class PlainLines(Lines):
    """For a log file: a line at each turn of the run, and at most one every ten seconds between."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic, every: float = 10.0) -> None:
        super().__init__(out)
        self._clock, self._every = clock, every
        self._next = 0.0
        self._total = 0

    def preparing(self, what: str, done: int, total: int) -> None:
        if done >= total:
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
        if line := sentence(event, self._total):
            self.write(line)


def sentence(event: Event, iterations_total: int) -> str | None:
    """An event in one line for people."""
    match event:
        case Started():
            made = "".join(f"\n  note: {note}" for note in event.notes)
            sizes = f"{event.source_size} source and {event.target_size} target images, {event.test_size} to test on"
            return f"{event.method} on {event.task}, seed {event.seed}, {event.device}: {sizes}{made}"
        case Resumed():
            return f"resumed from iteration {event.from_iteration}"
        case StageStarted():
            return f"stage {event.index}: {event.stage}"
        case Stepped():
            known = ("complementary_loss", "classification_loss", "adversarial_loss", "mmd")
            losses = ", ".join(f"{n.replace('_', ' ')} {event.measured[n]:.3f}" for n in known if n in event.measured)
            return f"iteration {event.iteration} of {iterations_total or '?'}, epoch {event.epoch}: {losses}"
        case Evaluated():
            return f"epoch {event.epoch}: {accuracies(event.target_accuracy, event.source_accuracy)}"
        case PseudoLabelled():
            right = "" if event.accuracy is None else f", {event.accuracy:.2f} % of them right"
            return f"pseudo-labels {event.label_hash}{' given' if event.given else ''}{right}"
        case Noticed():
            return event.message
        case Stopped():
            return f"stopped at iteration {event.iteration}; it can be resumed"
        case Failed():
            return f"failed: {event.message}"
        case Finished():
            result = accuracies(event.target_accuracy, event.source_accuracy)
            return f"finished after {event.seconds:.0f} s: {result}"
    return None


def accuracies(target: float | None, source: float | None) -> str:
    known = [f"{name} {value:.2f} %" for name, value in (("target", target), ("source", source)) if value is not None]
    return ", ".join(known) or "no labels to measure with"
