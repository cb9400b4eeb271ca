"""Show the events of a run where it was started: as a progress bar, JSON lines or plain lines."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any, Literal, TextIO

from clarinet_tui.logs.event_text import describe_event, format_accuracies
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal import encode_non_finite
from core.events import Evaluated, Event, Resumed, StageStarted, Started, Stepped, flatten_event


def choose_display(
    run: RunDirectory, planned_iterations: int, *, json: Literal["lines", "array"] | None = None, queued: bool = False
) -> "LogDisplay | ProgressBar":
    """`planned_iterations` of a resumed run are known from its journal."""
    out = sys.stdout
    if queued:
        return LogDisplay(out)
    if json:
        return JsonLines(out, run.id) if json == "lines" else JsonArray(out, run.id)
    return ProgressBar(run, planned_iterations) if out.isatty() else PlainLines(out, run, planned_iterations)


class LogDisplay:
    """Write messages that are not events to a file or pipe."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._prepared = ""

    def write(self, line: str) -> None:
        self._out.write(line + "\n")
        self._out.flush()

    def show_preparation(self, name: str, done: int, total: int) -> None:
        """Show how far data is read or generated."""
        if done >= total and name != self._prepared:
            self._prepared = name
            self.write(name)

    def show(self, event: Event) -> None:
        """Show nothing: events are in the journal, which `clarinet logs` merges with this output."""

    def notice(self, message: str) -> None:
        """Show a message that is not an event."""
        self.write(message)

    def close(self) -> None:
        """Keep the stream open: it belongs to the process."""


class JsonLines(LogDisplay):
    """One event per line, the first with the run's id. NaN and the infinities are text."""

    def __init__(self, out: TextIO, run_id: str) -> None:
        super().__init__(out)
        self._first: dict[str, Any] = {"id": run_id}

    def show(self, event: Event) -> None:
        fields = encode_non_finite({**flatten_event(event), **self._first})
        self._first = {}
        self.write(json.dumps(fields, separators=(",", ":")))

    def show_preparation(self, name: str, done: int, total: int) -> None:
        """Show nothing: the output consists of events."""

    def notice(self, message: str) -> None:
        self.write(json.dumps({"event": "notice", "message": message}))


class JsonArray(JsonLines):
    """The same events as one array, which ends when the run does."""

    _separator = "["

    def write(self, line: str) -> None:
        self._out.write(f"{self._separator}\n{line}")
        self._separator = ","

    def close(self) -> None:
        self._out.write("[]\n" if self._separator == "[" else "\n]\n")
        self._out.flush()


class PlainLines(LogDisplay):
    """A line for each event, but for iterations at most one every ten seconds."""

    def __init__(
        self, out: TextIO, run: RunDirectory, planned_iterations: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(out)
        self._run, self._total, self._clock, self._next = run, planned_iterations, clock, 0.0

    def show(self, event: Event) -> None:
        if isinstance(event, Started):
            self._total = event.iterations_total
        if isinstance(event, Stepped):
            if self._clock() < self._next:
                return
            self._next = self._clock() + 10.0
        if text := describe_event(event, self._total, self._run.id, self._run.runs_dir):
            self.write(text)


class ProgressBar:
    """A Rich progress bar under the text of the events."""

    def __init__(self, run: RunDirectory, planned_iterations: int) -> None:
        from rich import progress
        from rich.console import Console

        self._run = run
        self._console = Console(highlight=False)
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(bar_width=None),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            progress.TimeRemainingColumn(),
            progress.TextColumn("{task.fields[result]}", markup=False),
            console=self._console,
            refresh_per_second=8,
        )
        self._preparing = self._bar.add_task("preparing", total=None, result="", visible=False)
        self._training = self._bar.add_task("training", total=planned_iterations or None, result="", visible=False)
        self._total = planned_iterations
        self._bar.start()

    def show_preparation(self, name: str, done: int, total: int) -> None:
        self._bar.update(self._preparing, description=name, completed=done, total=total, visible=done < total)

    def notice(self, message: str) -> None:
        self._console.print(message, markup=False, emoji=False, highlight=False)

    def show(self, event: Event) -> None:
        match event:
            case Stepped():
                self._bar.update(self._training, completed=event.iteration)
                return
            case Evaluated():
                result = format_accuracies(event.target_accuracy, event.source_accuracy)
                self._bar.update(self._training, result=result)
                return
            case Started():
                self._total = event.iterations_total
                self._bar.update(self._training, total=event.iterations_total, description=event.method, visible=True)
            case StageStarted():
                self._bar.update(self._training, description=event.stage)
            case Resumed():
                self._bar.update(self._training, completed=event.from_iteration, visible=True)
        if text := describe_event(event, self._total, self._run.id, self._run.runs_dir):
            self.notice(text)

    def close(self) -> None:
        self._bar.stop()
