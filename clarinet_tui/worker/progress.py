"""A run as a Rich progress bar, with the sentences of its turns above it."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from clarinet_tui.logs.event_text import accuracies, sentence
from core.events import Evaluated, Event, Resumed, StageStarted, Started, Stepped


class ProgressBar:
    def __init__(self, run_id: str, console: Console | None = None) -> None:
        self._run_id = run_id
        self._console = console or Console(highlight=False)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[result]}", markup=False),
            console=self._console,
            refresh_per_second=8,
        )
        self._preparing = self._bar.add_task("preparing", total=None, result="", visible=False)
        self._training = self._bar.add_task("training", total=None, result="", visible=False)
        self._total = 0
        self._bar.start()

    def preparing(self, what: str, done: int, total: int) -> None:
        self._bar.update(self._preparing, description=what, completed=done, total=total, visible=done < total)

    def notice(self, sentence: str) -> None:
        self._console.print(Text(sentence))

    def show(self, event: Event) -> None:
        match event:
            case Stepped():
                self._bar.update(self._training, completed=event.iteration)
            case Evaluated():
                self._bar.update(self._training, result=accuracies(event.target_accuracy, event.source_accuracy))
            case _:
                self._turn(event)

    def _turn(self, event: Event) -> None:
        if isinstance(event, Started):
            self._total = event.iterations_total
            self._bar.update(self._training, total=event.iterations_total, description=event.method, visible=True)
        if isinstance(event, StageStarted):
            self._bar.update(self._training, description=event.stage)
        if isinstance(event, Resumed):
            self._bar.update(self._training, completed=event.from_iteration, visible=True)
        if line := sentence(event, self._total, self._run_id):
            self._console.print(Text(line))

    def close(self) -> None:
        self._bar.stop()
