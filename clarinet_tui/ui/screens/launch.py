"""Launch: a form for methods × tasks × seeds, with its errors, duration and command line before anything starts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Input, OptionList

from clarinet_tui.ui.actions import ActionResult
from clarinet_tui.ui.error_guard import report_error
from clarinet_tui.ui.feed.child_process import SamplesFeed
from clarinet_tui.ui.launch_check import CheckedForm, check_form, estimate_times
from clarinet_tui.ui.launch_form import LaunchForm, list_settings
from clarinet_tui.ui.screens.view_screen import MachineScreen
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from clarinet_tui.ui.text import launch as launch_text
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.launch_fields import Choices, LaunchFields, SampleGrid, SettingList
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.errors import describe_error
from core.tasks import parse_task

HINTS = {
    "slurm": "Options of sbatch, such as partition=main time=02:00:00 gres=gpu:1, and setup='module load cuda'.",
    "seeds": "Seeds: 1..5 means five seeds, 1,2,7 means three.",
    "other-tasks": 'Any other pair of M, U, S, m, Y and D, such as M->D, or two folders: "photos->scans".',
}


class LaunchScreen(MachineScreen):
    """Every change of the form is checked at once, in a thread."""

    NAME = "launch"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start(False)", "Start", id="launch.start", tooltip="Start these runs before waiting runs"),
        Binding("ctrl+l", "start(True)", "Queue paused", id="launch.paused", tooltip="Queue these runs, paused"),
        Binding("y,ctrl+y", "copy_command", "Copy", id="launch.copy", tooltip="Copy the command line"),
        Binding("tab", "app.focus_next", "Next", id="launch.tab", tooltip="Next field"),
        Binding("down", "app.focus_next", "Next field", id="launch.next", show=False),
        Binding("up", "app.focus_previous", "Previous field", id="launch.before", show=False),
        Binding("ctrl+o", "samples", "Samples", id="launch.samples", show=False, tooltip="Show or hide samples"),
        Binding("escape", "app.view('history')", "Back", id="launch.back"),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield LaunchFields(id="form")
        yield StyledText(id="hint")
        with Vertical(id="launch-summary"):
            yield StyledText(id="count")
            yield StyledText(id="command")
            with Horizontal(id="buttons"):
                yield Button("Start now", variant="primary", compact=True, action="screen.start(False)")
                yield Button("Queue paused", compact=True, action="screen.start(True)")
                yield Button("Copy command", compact=True, action="screen.copy_command")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._form = LaunchForm()
        self._checked = CheckedForm(self._form)
        self._is_starting = False
        self._samples_feed = SamplesFeed(self.state.data_dir, partial(self.call_later, self._show_samples))
        for field in self.query(Input):
            field.cursor_blink = self.app.animation_level != "none"
        self.query_one("#form").can_focus = False
        self.query_one("#methods").focus()

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        """Fill the form with the settings of a cloned run, if there is one."""
        form = self.state.cloned_form or self._form
        self.state.cloned_form = None
        with self.prevent(Input.Changed):
            self._fields.fill(form)
        self._change(form)

    def _change(self, form: LaunchForm) -> None:
        self._form = form
        self._draw_choices()
        self.run_worker(partial(self._check, form), thread=True, exclusive=True, group="check", exit_on_error=False)

    def _check(self, form: LaunchForm) -> None:
        state, unexpected = self.state, None
        try:
            checked = estimate_times(check_form(form), state.runs_dir, state.data_dir, state.database)
        except Exception as error:  # noqa: BLE001  reported by the app
            checked, unexpected = CheckedForm(form, problems={"runs": describe_error(error)}), error
        self.call_later(self._show_checked, checked, unexpected)

    def _show_checked(self, checked: CheckedForm, unexpected: Exception | None) -> None:
        if checked.form == self._form:
            self._checked = checked
            self._draw()
        if unexpected:
            report_error(self, unexpected)

    def on_unmount(self) -> None:
        self._samples_feed.stop()

    def _show_samples(self, samples: TaskSamples) -> None:
        self.query_one(SampleGrid).samples = samples

    def _request_samples(self) -> None:
        """Read samples of the first task with data, while there is room for them."""
        machine = self.state.machine if self.query_one(SampleGrid).display else None
        configs = self._checked.first_runs if machine else ()
        config = next((run for run in configs if launch_text.has_data(parse_task(run.task), machine)), None)
        self._samples_feed.request(config)
        if config is None:
            self.query_one(SampleGrid).samples = None

    def on_choices_selection_changed(self, event: Choices.SelectionChanged) -> None:
        name, values = str(event.choices.id), event.values
        change: dict[str, Any] = {name: values if event.choices.multiple else values[0]}
        self._change(replace(self._form, **change))

    def on_input_changed(self, event: Input.Changed) -> None:
        change: dict[str, Any] = {str(event.input.id).replace("-", "_"): event.value}
        self._change(replace(self._form, **change))

    def on_input_submitted(self) -> None:
        self.focus_next()

    def on_setting_list_setting_changed(self, event: SettingList.SettingChanged) -> None:
        self._change(self._form.with_setting(event.name, event.text))

    def show_machine(self, machine: MachineSnapshot) -> None:
        self._draw()

    @property
    def _fields(self) -> LaunchFields:
        return self.query_one(LaunchFields)

    def _draw_choices(self) -> None:
        self._fields.show_choices(self._form, self._checked, self.state.machine)

    def _draw(self) -> None:
        self._fields.show(self._form, self._checked, self.state.machine)
        if isinstance(self.focused, Choices):
            self.on_choices_choice_highlighted(Choices.ChoiceHighlighted(self.focused.highlighted))
        checked = self._checked
        if checked.grid is None:
            count = launch_text.format_problem(checked) if checked.problems else styled()
        else:
            duration = launch_text.format_time_estimate(checked, self.state.machine, self.size.width)
            count = launch_text.format_run_count(checked.grid) + "  " + duration
        self.set_text("#count", count)
        command = self._command()
        self.set_text("#command", styled(("$ " if command else "", "faint"), (command, "live")))
        for button in self.query(Button):
            button.disabled = checked.grid is None
        self._request_samples()

    def on_resize(self) -> None:
        if self._is_ready:
            self.call_after_refresh(self._draw_choices)
            self.call_after_refresh(self._request_samples)

    def _hint(self, text: str) -> None:
        self.set_text("#hint", styled((text, "muted")))

    def on_choices_choice_highlighted(self, event: Choices.ChoiceHighlighted) -> None:
        if isinstance(self.focused, Choices) and event.choice:
            self._hint(f"{event.choice.label}: {event.choice.description}")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list.has_focus:
            self._hint_setting(event.option.id)

    def _hint_setting(self, name: str | None) -> None:
        """Show a setting's first words in the hint line, and all about it below the form's fields."""
        setting = next((setting for setting in list_settings() if setting.name == name), None)
        self._hint(f"{setting.name}: {setting.description}" if setting else "")
        help_text = launch_text.format_setting_help(setting, self._checked) if setting else styled()
        self.set_text("#setting-help", help_text)
        self.query_one("#setting-help").set_class(setting is not None, "-shown")

    def on_descendant_focus(self) -> None:
        focused = self.focused
        if isinstance(focused, Input):
            self._hint(HINTS.get(focused.id or "", ""))
        elif isinstance(focused, OptionList) and focused.highlighted_option:
            self._hint_setting(focused.highlighted_option.id)

    def action_samples(self) -> None:
        """Hide the samples, or show them again; where there is no room for both, show them instead of the form."""
        self.toggle_class("-samples")
        self.call_after_refresh(self._request_samples)

    def action_copy_command(self) -> None:
        if command := self._command():
            self.copy(command)

    def _command(self) -> str:
        return self.actions.add_directories(self._checked.command) if self._checked.command else ""

    def action_start(self, paused: bool) -> None:
        """Start the runs; ask first if data is missing, because such runs fail at once."""
        missing = launch_text.format_missing_data(self._checked, self.state.machine)
        if not missing or paused:
            self._start(paused)
            return
        details = f"{'; '.join(missing.plain.splitlines())}. Runs without it fail."
        self.confirm("Start without this data?", "Start", details, partial(self._start, paused))

    def _start(self, paused: bool) -> None:
        if not self._is_starting:
            self._is_starting = True
            self.start_action(partial(self._submit, self._form, paused), self._started)

    def _submit(self, form: LaunchForm, paused: bool) -> ActionResult:
        """Check the form again and submit it: the last check may be of an older form."""
        checked = check_form(form)
        if checked.grid is None:
            return ActionResult(errors=tuple(checked.problems.values()))
        return self.actions.submit(checked.grid, paused=paused, slurm=checked.slurm)

    def _started(self, result: ActionResult) -> None:
        self._is_starting = False
        if result.runs:
            self.state.new_runs = result.runs
            self.app.switch_mode("history")
