"""Views of runs: what can be done to the run in view or to those that are selected."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from clarinet_tui.ui.action_result import Outcome
from clarinet_tui.ui.screens.action_screen import WorkingScreen

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_form import Form

SHOWN = 6
"""Ids that a question names."""


class ActingScreen(WorkingScreen):
    """What is easily undone is done at once; what is not, and whatever concerns several runs, is asked first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "app.view('launch')", "New", id="act.new", tooltip="Start new runs"),
        Binding("s", "stop", "Stop", id="act.stop", tooltip="Stop: it saves itself and can be resumed"),
        Binding("r", "resume", "Resume", id="act.resume", tooltip="Go on with a stopped, failed or lost run"),
        Binding("e", "clone", "Clone", id="act.clone", tooltip="Clone and edit: the launch form with its settings"),
        Binding("t", "tag", "Tag", id="act.tag", tooltip="Give tags, or take them away with -name"),
        Binding("N", "note", "Note", id="act.note", tooltip="Write a note"),
        Binding("d", "remove", "Delete", id="act.remove", tooltip="Delete; u takes it back"),
        Binding("u", "restore", "Undo delete", id="act.restore", show=False, tooltip="Take back what was deleted last"),
        Binding("y", "copy_command", "Copy", id="act.copy", tooltip="Copy the run's command line"),
    ]

    @dataclass
    class Cloned(Message):
        """A run's settings were read, for the launch form."""

        form: Form

    @abstractmethod
    def runs_meant(self) -> tuple[str, ...]:
        """The selected runs, or the one in view."""

    @abstractmethod
    def note_of(self, run: str) -> str:
        """The note that a run has."""

    @abstractmethod
    def run_in_view(self) -> str | None:
        """The run under the cursor, even if others are selected."""

    def _meant(self) -> tuple[str, ...]:
        runs = self.runs_meant()
        if not runs:
            self.notify("There is no run here yet: n starts one.", timeout=4)
        return runs

    def _ask(self, question: str, yes: str, more: str, act: Callable[[], None]) -> None:
        from clarinet_tui.ui.screens.dialogs import Ask

        self.app.push_screen(Ask(question, yes, more), lambda answer: act() if answer else None)

    def _prompt(self, act: Callable[[str | None], None], *words: str) -> None:
        from clarinet_tui.ui.screens.dialogs import Prompt

        self.app.push_screen(Prompt(*words), act)

    def action_stop(self) -> None:
        runs = self._meant()
        act = partial(self.work, partial(self.acts.stop, runs))
        if len(runs) > 1:
            self._ask(f"Stop {len(runs)} runs?", "Stop", f"{named(runs)}. Each saves itself and can be resumed.", act)
        elif runs:
            act()

    def action_resume(self) -> None:
        if runs := self._meant():
            self.work(partial(self.acts.resume, runs))

    def action_remove(self) -> None:
        runs = self._meant()
        act = partial(self.work, partial(self.acts.remove, runs), self._remember)
        what, more = (f"run {runs[0]}", "") if len(runs) == 1 else (f"{len(runs)} runs", f"{named(runs)}. ")
        if runs:
            self._ask(f"Delete {what}?", "Delete", f"{more}u takes back what was deleted last.", act)

    def _remember(self, outcome: Outcome) -> None:
        if not outcome.runs:
            return
        self.session.removed.append(outcome.runs)
        if self.session.watched in outcome.runs:
            self.session.watched = None
        self.session.compared = tuple(run for run in self.session.compared if run not in outcome.runs)
        self.runs_left(outcome.runs)

    def runs_left(self, runs: tuple[str, ...]) -> None:
        """These runs are gone."""

    def action_restore(self) -> None:
        if not self.session.removed:
            self.notify("Nothing was deleted here: clarinet rm --undo takes older runs back.", timeout=4)
            return
        self.work(partial(self.acts.restore, self.session.removed.pop()))

    def action_tag(self) -> None:
        runs = self._meant()

        def tag(words: str | None) -> None:
            if words:
                self.work(partial(self.acts.tag, runs, words))

        if runs:
            more = "Words give tags; a word such as -old takes one away."
            self._prompt(tag, f"Tag {named(runs)}", more, "", "icml -old")

    def action_note(self) -> None:
        runs = self._meant()

        def note(text: str | None) -> None:
            if text is not None:
                self.work(partial(self.acts.note, runs, text))

        if runs:
            before = self.note_of(runs[0]) if len(runs) == 1 else ""
            more = "An empty line takes the note away."
            self._prompt(note, f"Note to {named(runs)}", more, before, "what to remember")

    def action_copy_command(self) -> None:
        run = self.run_in_view()
        if run is None:
            self._meant()
        else:
            self.work(partial(self.acts.command, run), self._copy_text)

    def _copy_text(self, outcome: Outcome) -> None:
        if outcome.text:
            self.copy(outcome.text)

    def action_clone(self) -> None:
        run = self.run_in_view()
        if run is None:
            self._meant()
            return

        def read() -> Outcome:
            self.post_message(self.Cloned(self.acts.form(run)))
            return Outcome()

        self.work(read)

    def on_acting_screen_cloned(self, event: Cloned) -> None:
        self.session.cloned = event.form
        self.app.switch_mode("launch")


def named(runs: tuple[str, ...]) -> str:
    more = f" and {len(runs) - SHOWN} more" if len(runs) > SHOWN else ""
    return ", ".join(runs[:SHOWN]) + more
