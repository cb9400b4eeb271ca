"""The base of every view: sends the feed a request, and shows the snapshots that answer it."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType

from clarinet_tui.text import printable
from clarinet_tui.ui.error_guard import report_error
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, ViewRequest
from clarinet_tui.ui.textual_private import GuardedHandlers, PrestyledScreen
from clarinet_tui.ui.widgets.styled_text import StyledText
from clarinet_tui.ui.widgets.top_bar import TopBar

if TYPE_CHECKING:
    from textual.content import Content

    from clarinet_tui.ui.actions import ActionResult, RunActions
    from clarinet_tui.ui.app_state import AppState
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot
    from clarinet_tui.ui.widgets.chart import Chart

    OnDone = Callable[[ActionResult], object]

Value = TypeVar("Value")
MAX_NAMED = 6
"""Maximum number of run ids in a question."""
_action_lock = threading.Lock()
"""Two keys in quick succession start two actions, one after the other."""


def next_value(values: Sequence[Value], current: object, step: int = 1) -> Value:
    """Return the value `step` places after the current one, in a circle; the first if there is no current one."""
    return values[(values.index(current) + step) % len(values)] if current in values else values[0]


class ViewScreen(GuardedHandlers, PrestyledScreen):
    """All charts of a view share their x range and crosshair."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (120, "-wide")]  # noqa: RUF012  Textual's own declaration
    VERTICAL_BREAKPOINTS = [(0, "-low"), (36, "-high")]  # noqa: RUF012
    AUTO_FOCUS = ""
    NAME: ClassVar[str]
    READS_MACHINE: ClassVar[bool] = False
    """Whether devices and queue are read while this view is open."""

    def __init__(self, state: AppState) -> None:
        super().__init__()
        self.state = state
        self._is_ready = False
        """Whether the widgets that `show` changes are mounted."""
        self._shown_machine: MachineSnapshot | None = None
        self.apply_styles_early()

    def make_request(self) -> ViewRequest:
        """Return what the feed should read for this view; by default, what the top bar shows."""
        return ViewRequest()

    def show(self, snapshot: HistorySnapshot) -> None:
        """Show a snapshot."""

    def show_machine(self, machine: MachineSnapshot) -> None:
        """Show devices and queue."""

    def palette_commands(self) -> Iterable[SystemCommand]:
        """Return commands of the palette that select one value directly, where a key steps through all values."""
        return ()

    def sweep_commands(self) -> Iterable[SystemCommand]:
        """Return a command of the palette for the sweep of each known run."""
        for name in dict.fromkeys(row.settings.get("sweep", "") for row in self.state.known_runs()):
            if name:
                open_sweep = partial(self.open_sweep, name)
                yield SystemCommand(f"Sweep: {printable(name)}", "Show the runs of the sweep as a grid", open_sweep)

    def open_sweep(self, name: str) -> None:
        self.state.sweep = name
        self.app.switch_mode("sweep")

    def top_bar(self) -> TopBar:
        return TopBar(self.NAME, str(self.state.runs_dir))

    def set_text(self, selector: str, content: Content) -> None:
        self.query_one(selector, StyledText).set_content(content)

    def watch_runs(self, *runs: str) -> None:
        """Show a run in the Live view, or several overlaid runs."""
        self.state.live_run, self.state.overlaid_runs = runs[0], runs if len(runs) > 1 else ()
        self.app.switch_mode("live")

    def send_request(self) -> None:
        if self.is_current and self._is_ready:
            self.state.history_feed.request(self.make_request())
            self.state.machine_feed.request(self.NAME if self.READS_MACHINE else None)

    def on_mount(self) -> None:
        self._is_ready = True
        self.app.theme_changed_signal.subscribe(self, lambda _: self.restyle())

    def restyle(self) -> None:
        """Draw text again in the colours of the new theme."""
        self.update_view()

    def use_glyphs(self) -> None:
        from clarinet_tui.ui.widgets.chart import Chart

        for chart in self.query(Chart):
            chart.glyphs = self.state.chart_glyphs()
            chart.refresh()

    def copy(self, command: str) -> None:
        """Copy through the terminal, which works over SSH; the toast shows the text where that is forbidden."""
        self.app.copy_to_clipboard(command)
        self.notify(command, title="Copied", timeout=6, markup=False)

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._resume)

    def _resume(self) -> None:
        if self.state.glyphs:
            self.use_glyphs()
        self.update_view()
        self.send_request()

    def on_chart_resized(self) -> None:
        self.send_request()

    def update_view(self) -> None:
        """Show the newest snapshots of the app's state."""
        if self._is_ready and self.state.snapshot:
            self.query_one(TopBar).show(self.state.snapshot)
            self.show(self.state.snapshot)
        if self._is_ready and self.state.machine and self.state.machine is not self._shown_machine:
            self._shown_machine = self.state.machine
            self.show_machine(self._shown_machine)

    def charts(self) -> list[Chart]:
        """Return the charts that share their x range and crosshair."""
        from clarinet_tui.ui.widgets.chart import Chart

        return list(self.query(Chart))

    def on_chart_view_changed(self, event: Chart.ViewChanged) -> None:
        for chart in self.charts():
            chart.view = event.view
        self.send_request()

    def on_chart_crosshair_moved(self, event: Chart.CrosshairMoved) -> None:
        for chart in self.charts():
            chart.crosshair = event.x

    @property
    def actions(self) -> RunActions:
        return self.state.actions

    def start_action(self, action: Callable[[], ActionResult | None], on_done: OnDone | None = None) -> None:
        """Run the action in a thread, show its result, and call `on_done` with it, whether it failed or not."""
        self.run_worker(lambda: self._run_action(action, on_done), thread=True, group="actions", exit_on_error=False)

    def _run_action(self, action: Callable[[], ActionResult | None], on_done: OnDone | None) -> None:
        # Not for the first paint: `core` imports all settings.
        from clarinet_tui.ui.actions import ActionResult
        from core.errors import ClarinetError, describe_error

        unexpected = None
        with _action_lock:
            try:
                result = action() or ActionResult()
            except Exception as error:  # noqa: BLE001  reported by the app
                result = ActionResult(errors=(describe_error(error),))
                unexpected = None if isinstance(error, ClarinetError | OSError) else error
        self.call_later(self._finish_action, result, on_done, unexpected)

    def _finish_action(self, result: ActionResult, on_done: OnDone | None, unexpected: Exception | None) -> None:
        if result.message:
            self.notify(result.message, timeout=6, markup=False)
        if result.errors and not unexpected:
            self.notify("\n".join(result.errors), severity="error", timeout=10, markup=False)
        self.state.machine_feed.refresh()
        if on_done:
            on_done(result)
        if unexpected:
            report_error(self, unexpected)

    def ensure_supervisor(self) -> None:
        """Start a supervisor if runs wait and theirs was killed."""

        def ensure() -> None:
            from clarinet_tui.queue.local import ensure_supervisor_if_needed

            ensure_supervisor_if_needed(self.state.runs_dir)

        self.start_action(ensure)

    def confirm(self, question: str, yes: str, details: str, on_yes: Callable[[], None]) -> None:
        from clarinet_tui.ui.screens.dialogs import ConfirmDialog

        self.app.push_screen(ConfirmDialog(question, yes, details), lambda answer: on_yes() if answer else None)

    def stop(self, runs: tuple[str, ...]) -> None:
        self.start_action(partial(self.actions.stop, runs))

    def ask_to_stop(self, runs: tuple[str, ...]) -> None:
        name, details = name_runs(runs)
        saved = "It saves a checkpoint; r resumes it." if len(runs) == 1 else "Each saves a checkpoint; r resumes them."
        self.confirm(f"Stop {name}?", "Stop", f"{details}{saved}", partial(self.stop, runs))


def format_ids(runs: tuple[str, ...]) -> str:
    more = f" and {len(runs) - MAX_NAMED} more" if len(runs) > MAX_NAMED else ""
    return ", ".join(runs[:MAX_NAMED]) + more


def name_runs(runs: tuple[str, ...]) -> tuple[str, str]:
    """Return the subject of a question, and the ids of several runs as a sentence of their own."""
    return (f"run {runs[0]}", "") if len(runs) == 1 else (f"{len(runs)} runs", f"{format_ids(runs)}. ")


class RunActionScreen(ViewScreen):
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
    def run_in_view(self) -> str | None:
        """Return the run under the cursor, even if others are selected."""

    def target_runs(self) -> tuple[str, ...]:
        """Return the selected runs, or the run under the cursor."""
        run = self.run_in_view()
        return (run,) if run else ()

    def _require_runs(self) -> tuple[str, ...]:
        runs = self.target_runs()
        if not runs:
            self.notify("There is no run yet: n starts one.", timeout=4)
        return runs

    def action_stop(self) -> None:
        if runs := self._require_runs():
            self.ask_to_stop(runs)

    def action_stop_now(self) -> None:
        if runs := self._require_runs():
            self.stop(runs)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "demo":
            return super().check_action(action, parameters)
        snapshot = self.state.snapshot  # the demo is offered while there are no runs
        return snapshot is not None and snapshot.is_ingested and snapshot.listing.all_runs == 0

    def action_demo(self) -> None:
        self.start_action(
            self.actions.start_demo, lambda result: self.watch_runs(result.runs[0]) if result.runs else None
        )

    def action_resume(self) -> None:
        if runs := self._require_runs():
            self.start_action(partial(self.actions.resume, runs))

    def action_remove(self) -> None:
        if runs := self._require_runs():
            delete = partial(self.start_action, partial(self.actions.delete, runs), self._forget_deleted)
            name, details = name_runs(runs)
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
        from clarinet_tui.ui.screens.dialogs import TextDialog

        if runs := self._require_runs():
            details = "Separate tags with spaces; -old removes the tag old."
            self.app.push_screen(
                TextDialog(f"Tag {format_ids(runs)}", details, "", "icml -old"),
                lambda text: self.start_action(partial(self.actions.tag, runs, text)) if text else None,
            )

    def action_note(self) -> None:
        from clarinet_tui.ui.screens.dialogs import TextDialog

        if runs := self._require_runs():
            notes = [row.note for row in self.state.known_runs() if (row.id,) == runs]
            current, details = next(iter(notes), ""), "An empty line removes the note."
            self.app.push_screen(
                TextDialog(f"Note to {format_ids(runs)}", details, current, "text of the note"),
                lambda text: None if text is None else self.start_action(partial(self.actions.note, runs, text)),
            )

    def action_copy_command(self) -> None:
        if self._require_runs() and (run := self.run_in_view()):
            self.start_action(
                partial(self.actions.make_command, run), lambda result: self.copy(result.text) if result.text else None
            )

    def action_clone(self) -> None:
        if self._require_runs() and (run := self.run_in_view()):
            self.start_action(partial(self.actions.make_form, [run]), self._open_clone)

    def _open_clone(self, result: ActionResult) -> None:
        if result.form:
            self.state.cloned_form = result.form
            self.app.switch_mode("launch")
