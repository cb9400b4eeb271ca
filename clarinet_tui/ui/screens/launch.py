"""Launch: a form for methods × tasks × seeds, with its errors, duration and command line before anything starts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.widgets import Button, Input, OptionList, Static

from clarinet_tui.place import PlaceName
from clarinet_tui.ui.actions import ActionResult
from clarinet_tui.ui.error_guard import report_error
from clarinet_tui.ui.feed.child_process import SamplesFeed
from clarinet_tui.ui.launch_check import CheckedForm, check_form, estimate_times
from clarinet_tui.ui.launch_form import LISTED_TASKS, LaunchForm
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from clarinet_tui.ui.text import launch as launch_text
from clarinet_tui.ui.text.launch import Choice
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.launch_fields import Choices, SampleGrid, SettingList
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.errors import describe_error
from core.presets import PRESETS
from core.tasks import parse_task

HINTS = {
    "slurm": "Options of sbatch, such as partition=main time=02:00:00 gres=gpu:1, and setup='module load cuda'.",
    "sweep": "A name for these runs; an existing one extends that sweep. Without a name, one is made of what varies.",
    "tags": "Tags of the new runs, separated by spaces.",
    "seeds": "Seeds: 1..5 means five seeds, 1,2,7 means three.",
    "other-tasks": 'Any other pair of M, U, S, m, Y and D, such as M->D, or two folders: "photos->scans".',
}
FIELDS_WITH_ERRORS = ("Methods", "Tasks", "Seeds", "Sweep", "Tags", "Slurm")
"""Fields with an error line below; the list of settings shows its errors itself."""


class LaunchScreen(ViewScreen):
    """Every change of the form is checked at once, in a thread."""

    NAME = "launch"
    READS_MACHINE = True
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

    _form = LaunchForm()
    _checked = CheckedForm(_form)

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        with Container(id="form"):
            with VerticalScroll(id="what", can_focus=False):
                others = Input(placeholder="others, such as M->D or photos->scans", compact=True, id="other-tasks")
                yield from _field("Methods", Choices(multiple=True, id="methods"))
                yield from _field("Tasks", Choices(multiple=True, id="tasks"), others, StyledText(id="missing-data"))
                yield from _field("Seeds", Input(placeholder="1..5", compact=True, id="seeds"))
                yield from _field("Preset", Choices(id="preset"))
                yield from _field("Device", Choices(one_per_line=True, id="device"))
                yield from _field("Slurm", Input(placeholder="partition=main time=02:00:00", compact=True, id="slurm"))
                yield from _field("Sweep", Input(placeholder="made of what varies", compact=True, id="sweep"))
                yield from _field("Tags", Input(placeholder="such as icml", compact=True, id="tags"))
                yield StyledText(id="setting-help")
                yield SampleGrid(id="samples")
            yield SettingList(self._checked, id="settings")
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
        self._is_starting = False
        self._samples_feed = SamplesFeed(self.state.data_dir, partial(self.call_later, self._show_samples))
        for field in self.query(Input):
            field.cursor_blink = self.app.animation_level != "none"
        for choices in self.query(Choices):
            self.watch(choices, "cursor", self._show_hint, init=False)
        self.query_one("#methods").focus()

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        """Fill the form with the settings of a cloned run, if there is one."""
        form = self.state.cloned_form or self._form
        self.state.cloned_form = None
        with self.prevent(Input.Changed):
            self.query_one("#seeds", Input).value = form.seeds
            self.query_one("#other-tasks", Input).value = form.other_tasks
            self.query_one("#slurm", Input).value = form.slurm
            self.query_one("#sweep", Input).value = form.sweep
            self.query_one("#tags", Input).value = form.tags
        self._change(form)

    def _change(self, form: LaunchForm) -> None:
        self._form = form
        self._draw_choices()
        self._check(form)

    @work(thread=True, exclusive=True, group="check", exit_on_error=False)
    def _check(self, form: LaunchForm) -> None:
        state = self.state
        try:
            checked = estimate_times(check_form(form), state.runs_dir, state.data_dir, state.database)
        except Exception as error:  # noqa: BLE001  reported by the app
            checked = CheckedForm(form, problems={"runs": describe_error(error)})
            self.call_later(report_error, self, error)
        self.call_later(self._show_checked, checked)

    def _show_checked(self, checked: CheckedForm) -> None:
        if checked.form == self._form:
            self._checked = checked
            self._draw()

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
        choices = event.choices
        change: dict[str, Any] = {str(choices.id): choices.selected if choices.multiple else choices.selected[0]}
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

    def _draw_choices(self) -> None:
        """Show what is selected of the methods, tasks, presets and devices that exist."""
        form, machine, device = self._form, self.state.machine, self.query_one("#device", Choices)
        methods = [Choice(spec.name, spec.name, spec.description) for spec in self._checked.methods]
        presets = [Choice(name, name, preset.description) for name, preset in PRESETS.items()]
        self.query_one("#slurm-field").display = form.place is not PlaceName.LOCAL
        is_sweep = bool(form.sweep) or len(self._checked.grid or ()) > 1
        self.query_one("#sweep-field").display = is_sweep or self.query_one("#sweep").has_focus
        self.query_one("#methods", Choices).show(methods, form.methods)
        self.query_one("#tasks", Choices).show(launch_text.task_choices(LISTED_TASKS, machine), form.tasks)
        self.query_one("#preset", Choices).show(presets, (form.preset,))
        device.show(launch_text.device_choices(form.device, machine, device.size.width), (form.device,))

    def _draw(self) -> None:
        """Show the choices, and what the check has found."""
        self._draw_choices()
        self._show_hint()
        checked = self._checked
        for name in map(str.lower, FIELDS_WITH_ERRORS):
            problem, notice = checked.problems.get(name, ""), checked.notices.get(name, "")
            self.set_text(f"#{name}-problem", styled((problem, "bad")) if problem else styled((notice, "warn")))
            self.query_one(f"#{name}-problem").display = bool(problem or notice)
        missing = launch_text.format_missing_data(checked, self.state.machine)
        self.set_text("#missing-data", missing)
        self.query_one("#missing-data").display = bool(missing)
        self.query_one(SettingList).show(checked)
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

    @on(events.DescendantFocus)
    @on(OptionList.OptionHighlighted)
    def _show_hint(self) -> None:
        """Describe what has the focus in the hint line, and a setting in full below the form's fields."""
        focused, hint = self.focused, ""
        if isinstance(focused, Choices) and focused.highlighted:
            hint = f"{focused.highlighted.label}: {focused.highlighted.description}"
        elif isinstance(focused, Input):
            hint = HINTS.get(focused.id or "", "")
        elif isinstance(focused, OptionList):
            name = focused.highlighted_option.id if focused.highlighted_option else None
            setting = next((setting for setting in self._checked.settings if setting.name == name), None)
            hint = f"{setting.name}: {setting.description}" if setting else ""
            help_text = launch_text.format_setting_help(setting, self._checked) if setting else styled()
            self.set_text("#setting-help", help_text)
            self.query_one("#setting-help").set_class(setting is not None, "-shown")
        self.set_text("#hint", styled((hint, "muted")))

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
        return self.actions.submit(checked.grid, paused=paused, slurm=checked.slurm, tags=checked.tags)

    def _started(self, result: ActionResult) -> None:
        self._is_starting = False
        if result.runs:
            self.state.new_runs = result.runs
            self.app.switch_mode("history")


def _field(label: str, *parts: Choices | Input | StyledText) -> ComposeResult:
    with Horizontal(classes="field", id=f"{label.lower()}-field"):
        yield Static(label, classes="label", markup=False)
        with Vertical(classes="body"):
            yield from parts
            if label in FIELDS_WITH_ERRORS:
                yield StyledText(id=f"{label.lower()}-problem", classes="problem")
