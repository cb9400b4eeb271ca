"""Views of runs: actions on the run under the cursor or on the selected runs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from clarinet_tui.ui.screens.action_screen import ActionScreen, format_ids, name_runs

if TYPE_CHECKING:
    from clarinet_tui.ui.actions import ActionResult


class RunActionScreen(ActionScreen):
    """Asks before runs are stopped or deleted; everything else is done at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "app.view('launch')", "New", id="act.new", tooltip="Start new runs"),
        Binding("D", "demo", "Demo", id="act.demo", tooltip="Start the demo: short runs, without any download"),
        Binding("s", "stop", "Stop", id="act.stop", tooltip="Stop: saves a checkpoint and can be resumed"),
        Binding("S", "stop_now", "Stop now", id="act.stop_now", show=False, tooltip="Stop without a question"),
        Binding("r", "resume", "Resume", id="act.resume", tooltip="Resume a stopped, failed or lost run"),
        Binding("e", "clone", "Clone", id="act.clone", tooltip="Clone: open the launch form with its settings"),
        Binding("t", "tag", "Tag", id="act.tag", tooltip="Add tags, or remove them with -name"),
        Binding("N", "note", "Note", id="act.note", tooltip="Write a note"),
        Binding("d", "remove", "Delete", id="act.remove", tooltip="Delete; u restores it"),
        Binding("u", "restore", "Undo delete", id="act.restore", show=False, tooltip="Restore the runs deleted last"),
        Binding("y", "copy_command", "Copy", id="act.copy", tooltip="Copy the run's command line"),
    ]

    @abstractmethod
    def target_runs(self) -> tuple[str, ...]:
        """Return the selected runs, or the run under the cursor."""

    @abstractmethod
    def note_of(self, run: str) -> str:
        """Return the note of a run."""

    @abstractmethod
    def run_in_view(self) -> str | None:
        """Return the run under the cursor, even if others are selected."""

    def _require_runs(self) -> tuple[str, ...]:
        runs = self.target_runs()
        if not runs:
            self.notify("There is no run yet: n starts one.", timeout=4)
        return runs

    def _prompt(self, on_text: Callable[[str | None], None], *texts: str) -> None:
        from clarinet_tui.ui.screens.dialogs import TextDialog

        self.app.push_screen(TextDialog(*texts), on_text)

    def action_stop(self) -> None:
        if runs := self._require_runs():
            self.ask_to_stop(runs)

    def action_stop_now(self) -> None:
        if runs := self._require_runs():
            self.stop(runs)

    def has_no_runs(self) -> bool:
        """Whether the history is empty, so that the demo is offered."""
        snapshot = self.state.snapshot
        return snapshot is not None and snapshot.is_ingested and snapshot.listing.all_runs == 0

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.has_no_runs() if action == "demo" else super().check_action(action, parameters)

    def action_demo(self) -> None:
        self.start_action(self.actions.start_demo, self._watch_first)

    def _watch_first(self, result: ActionResult) -> None:
        if result.runs:
            self.state.live_run, self.state.overlaid_runs = result.runs[0], ()
            self.app.switch_mode("live")

    def action_resume(self) -> None:
        if runs := self._require_runs():
            self.start_action(partial(self.actions.resume, runs))

    def action_remove(self) -> None:
        runs = self._require_runs()
        delete = partial(self.start_action, partial(self.actions.delete, runs), self._forget_deleted)
        name, details = name_runs(runs)
        if runs:
            self.confirm(f"Delete {name}?", "Delete", f"{details}u restores the runs deleted last.", delete)

    def _forget_deleted(self, result: ActionResult) -> None:
        if not result.runs:
            return
        self.state.deletions.append(result.runs)
        if self.state.live_run in result.runs:
            self.state.live_run = None
        self.state.compared_runs = tuple(run for run in self.state.compared_runs if run not in result.runs)
        self.forget_runs(result.runs)

    def forget_runs(self, runs: tuple[str, ...]) -> None:
        """Remove deleted runs from the view."""

    def action_restore(self) -> None:
        if not self.state.deletions:
            self.notify("Nothing was deleted in this session: clarinet rm --undo restores older runs.", timeout=4)
            return
        runs = self.state.deletions.pop()

        def keep_failed(result: ActionResult) -> None:
            failed = tuple(run for run in runs if run not in result.runs)
            if failed:
                self.state.deletions.append(failed)

        self.start_action(partial(self.actions.restore, runs), keep_failed)

    def action_tag(self) -> None:
        runs = self._require_runs()

        def tag(text: str | None) -> None:
            if text:
                self.start_action(partial(self.actions.tag, runs, text))

        if runs:
            details = "Separate tags with spaces; -old removes the tag old."
            self._prompt(tag, f"Tag {format_ids(runs)}", details, "", "icml -old")

    def action_note(self) -> None:
        runs = self._require_runs()

        def note(text: str | None) -> None:
            if text is not None:
                self.start_action(partial(self.actions.note, runs, text))

        if runs:
            current = self.note_of(runs[0]) if len(runs) == 1 else ""
            details = "An empty line removes the note."
            self._prompt(note, f"Note to {format_ids(runs)}", details, current, "text of the note")

    def action_copy_command(self) -> None:
        run = self.run_in_view()
        if run is None:
            self._require_runs()
        else:
            self.start_action(partial(self.actions.make_command, run), self._copy_text)

    def _copy_text(self, result: ActionResult) -> None:
        if result.text:
            self.copy(result.text)

    def action_clone(self) -> None:
        run = self.run_in_view()
        if run is None:
            self._require_runs()
        else:
            self.start_action(partial(self.actions.make_form, run), self._open_clone)

    def _open_clone(self, result: ActionResult) -> None:
        if result.form:
            self.state.cloned_form = result.form
            self.app.switch_mode("launch")
