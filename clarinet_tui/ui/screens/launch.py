"""Launch: methods × tasks × seeds, and everything about them before anything starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.widgets import Button, Input, OptionList, Static

from clarinet_tui.ui.action_result import Outcome
from clarinet_tui.ui.launch_check import Checked, check
from clarinet_tui.ui.launch_form import OFFERED_TASKS, Form, settings_offered
from clarinet_tui.ui.screens.dialogs import Ask
from clarinet_tui.ui.screens.machine_screen import MachineScreen
from clarinet_tui.ui.snapshot.machine import Machine
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.text import launch as launch_lines
from clarinet_tui.ui.text.choice import Choice
from clarinet_tui.ui.text.run_summary import said
from clarinet_tui.ui.widgets.choices import Choices
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.setting_list import SettingList
from clarinet_tui.ui.widgets.text_line import Words
from core.presets import PRESETS

HINTS = {
    "seeds": "Seeds: 1..5 is five of them, 1,2,7 are three.",
    "other-tasks": 'Any other pair of M, U, S, m, Y and D, such as M->D, or two folders: "photos->scans".',
}
CHECKED = ("Methods", "Tasks", "Seeds")
"""Fields under which it is said what is wrong with them; of settings their list says it."""
PRESET_CHOICES = tuple(Choice(name, name, preset.sentence) for name, preset in PRESETS.items())


class LaunchScreen(MachineScreen):
    """A form whose every change is checked at once, in a thread."""

    NAME = "launch"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "start(False)", "Start", id="launch.start", tooltip="Start these runs before all that wait"),
        Binding("ctrl+l", "start(True)", "Queue paused", id="launch.paused", tooltip="Queue them, and start none yet"),
        Binding("y,ctrl+y", "copy_command", "Copy", id="launch.copy", tooltip="Copy the command line"),
        Binding("tab", "app.focus_next", "Next", id="launch.tab", tooltip="Next field"),
        Binding("down", "app.focus_next", "Next field", id="launch.next", show=False),
        Binding("up", "app.focus_previous", "Field before", id="launch.before", show=False),
        Binding("escape", "app.view('history')", "Back", id="launch.back"),
    ]

    @dataclass
    class FormChecked(Message):
        """It is known what a form comes to."""

        checked: Checked

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        with Container(id="form"):
            with VerticalScroll(id="what", can_focus=False):
                yield from self._field("Methods", Choices(several=True, id="methods"))
                yield from self._field(
                    "Tasks",
                    Choices(several=True, id="tasks"),
                    Input(placeholder="others, such as M->D or photos->scans", compact=True, id="other-tasks"),
                    Words(id="absence"),
                )
                yield from self._field("Seeds", Input(placeholder="1..5", compact=True, id="seeds"))
                yield from self._field("Preset", Choices(id="preset"))
                yield from self._field("Device", Choices(lines=True, id="device"))
            yield SettingList(id="settings")
        yield Words(id="hint")
        with Vertical(id="sum"):
            yield Words(id="count")
            yield Words(id="command")
            with Horizontal(id="buttons"):
                yield Button("Start now", id="start", variant="primary", compact=True)
                yield Button("Queue paused", id="paused", compact=True)
                yield Button("Copy command", id="copy", compact=True)
        yield KeyFooter()

    def _field(self, label: str, *parts: Choices | Input | Words) -> ComposeResult:
        with Horizontal(classes="field"):
            yield Static(label, classes="label", markup=False)
            with Vertical(classes="body"):
                yield from parts
                if label in CHECKED:
                    yield Words(id=f"{label.lower()}-problem", classes="problem")

    def on_mount(self) -> None:
        self._form = Form()
        self._checked = Checked(self._form)
        self._starting = False
        for field in self.query(Input):
            field.cursor_blink = self.app.animation_level != "none"
        self.query_one("#form").can_focus = False
        self.query_one("#methods").focus()

    def on_screen_resume(self) -> None:
        self.call_after_refresh(self._fill)

    def _fill(self) -> None:
        """With what a run was cloned into, if one was."""
        form = self.session.cloned or self._form
        self.session.cloned = None
        with self.prevent(Input.Changed):
            self.query_one("#seeds", Input).value = form.seeds
            self.query_one("#other-tasks", Input).value = form.other_tasks
        self._change(form)

    def wanted(self) -> Wanted:
        return Wanted()

    def show(self, snapshot: Snapshot) -> None:
        """The history's counts stand in the top bar."""

    # -- what is typed and picked ----------------------------------------------------------------------------------

    def _change(self, form: Form) -> None:
        self._form = form
        self._draw_choices()
        self.run_worker(partial(self._check, form), thread=True, exclusive=True, group="check")

    def _check(self, form: Form) -> None:
        self.post_message(self.FormChecked(check(form)))

    def on_launch_screen_form_checked(self, event: FormChecked) -> None:
        if event.checked.form == self._form:
            self._checked = event.checked
            self._draw()

    def on_choices_picked(self, event: Choices.Picked) -> None:
        form, values = self._form, event.values
        match event.choices.id:
            case "methods":
                self._change(replace(form, methods=values))
            case "tasks":
                self._change(replace(form, tasks=values))
            case "preset":
                self._change(replace(form, preset=values[0]))
            case "device":
                self._change(replace(form, device=values[0]))

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "seeds":
            self._change(replace(self._form, seeds=event.value))
        else:
            self._change(replace(self._form, other_tasks=event.value))

    def on_input_submitted(self) -> None:
        self.focus_next()

    def on_setting_list_setting_typed(self, event: SettingList.SettingTyped) -> None:
        self._change(self._form.with_setting(event.name, event.text))

    # -- what is shown ---------------------------------------------------------------------------------------------

    def see(self, machine: Machine) -> None:
        self._draw()

    def _draw_choices(self) -> None:
        form, machine = self._form, self.session.machine
        methods = [Choice(spec.name, spec.name, spec.sentence) for spec in self._checked.methods]
        width = self.query_one("#device", Choices).size.width
        self.query_one("#methods", Choices).show(methods, form.methods)
        self.query_one("#tasks", Choices).show(launch_lines.task_choices(OFFERED_TASKS, machine), form.tasks)
        self.query_one("#preset", Choices).show(PRESET_CHOICES, (form.preset,))
        self.query_one("#device", Choices).show(
            launch_lines.device_choices(form.device, machine, width), (form.device,)
        )

    def _draw(self) -> None:
        checked, machine = self._checked, self.session.machine
        self._draw_choices()
        for name in map(str.lower, CHECKED):
            line = self.query_one(f"#{name}-problem", Words)
            line.say(said((checked.problems.get(name, ""), "bad")))
            line.display = name in checked.problems
        absent = launch_lines.absence(checked, machine)
        self.query_one("#absence", Words).say(absent)
        self.query_one("#absence").display = bool(absent)
        self.query_one(SettingList).show(checked)
        if isinstance(self.focused, Choices):
            self.on_choices_pointed(Choices.Pointed(self.focused.pointed))
        self._draw_sum()

    def _draw_sum(self) -> None:
        checked, machine = self._checked, self.session.machine
        if checked.grid is None:
            count = launch_lines.problem(checked) if checked.problems else said()
        else:
            count = launch_lines.count(checked.grid) + "  " + launch_lines.estimate(checked, machine, self.size.width)
        self.query_one("#count", Words).say(count)
        command = self._command()
        self.query_one("#command", Words).say(said(("$ " if command else "", "faint"), (command, "live")))
        for button in self.query(Button):
            button.disabled = checked.grid is None

    def on_resize(self) -> None:
        if self._ready:
            self.call_after_refresh(self._draw_choices)

    def _hint(self, text: str) -> None:
        self.query_one("#hint", Words).say(said((text, "muted")))

    def on_choices_pointed(self, event: Choices.Pointed) -> None:
        if isinstance(self.focused, Choices) and event.choice:
            self._hint(f"{event.choice.label}: {event.choice.sentence}")

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list.has_focus:
            self._hint_setting(event.option.id)

    def _hint_setting(self, name: str | None) -> None:
        self._hint(next((f"{one.name}: {one.sentence}" for one in settings_offered() if one.name == name), ""))

    def on_descendant_focus(self) -> None:
        focused = self.focused
        if isinstance(focused, Input):
            self._hint(HINTS.get(focused.id or "", ""))
        elif isinstance(focused, OptionList) and focused.highlighted_option:
            self._hint_setting(focused.highlighted_option.id)

    # -- what is done ----------------------------------------------------------------------------------------------

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "copy":
            self.action_copy_command()
        else:
            self.action_start(event.button.id == "paused")

    def action_copy_command(self) -> None:
        if command := self._command():
            self.copy(command)

    def _command(self) -> str:
        return self.acts.addressed(self._checked.command) if self._checked.command else ""

    def action_start(self, paused: bool) -> None:
        """Asks first where data is missing: such runs fail as soon as they start."""
        absent = launch_lines.absence(self._checked, self.session.machine)
        if not absent or paused:
            self._start(paused)
            return
        named = "; ".join(absent.plain.splitlines())
        question = Ask("Start without this data?", "Start", f"{named}. Runs without it fail.")
        self.app.push_screen(question, lambda answer: self._start(paused) if answer else None)

    def _start(self, paused: bool) -> None:
        if self._starting:
            return
        self._starting = True
        self.work(partial(self._submit, self._form, paused), self._started)

    def _submit(self, form: Form, paused: bool) -> Outcome:
        """What is started is what stands in the form now, checked or not yet."""
        checked = check(form)
        if checked.grid is None:
            return Outcome(problems=tuple(checked.problems.values()))
        return self.acts.submit(checked.grid, paused=paused)

    def _started(self, outcome: Outcome) -> None:
        self._starting = False
        if outcome.runs:
            self.session.arrived = outcome.runs
            self.app.switch_mode("history")
