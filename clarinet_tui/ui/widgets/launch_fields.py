"""The fields of the launch form, with their problems below them, and the list of settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Input, Static

from clarinet_tui.chart.picture import CELL_COLUMNS
from clarinet_tui.place import PlaceName
from clarinet_tui.ui.launch_form import LISTED_TASKS
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from clarinet_tui.ui.text import launch as launch_text
from clarinet_tui.ui.text.inspection import format_samples
from clarinet_tui.ui.text.launch import Choice
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.choices import Choices
from clarinet_tui.ui.widgets.setting_list import SettingList
from clarinet_tui.ui.widgets.styled_text import StyledText
from core.presets import PRESETS

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_check import CheckedForm
    from clarinet_tui.ui.launch_form import LaunchForm
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot

FIELDS_WITH_ERRORS = ("Methods", "Tasks", "Seeds", "Slurm")
"""Fields with an error line below; the list of settings shows its errors itself."""
PRESET_CHOICES = tuple(Choice(name, name, preset.description) for name, preset in PRESETS.items())
SMALL = 12
"""Columns of a sample on a low screen, where two lines of them fit."""


class SampleGrid(StyledText):
    """Empty until there are samples."""

    SCOPED_CSS = False
    DEFAULT_CSS = """
    SampleGrid { height: auto; margin-top: 1; }
    .-narrow SampleGrid, .-low SampleGrid { display: none; margin-top: 0; }
    .-samples SampleGrid { display: none; }
    .-samples.-narrow SampleGrid, .-samples.-low SampleGrid { display: block; }
    .-samples.-narrow .field, .-samples.-low .field { display: none; }
    .-samples.-narrow #settings { display: none; }
    """

    samples: reactive[TaskSamples | None] = reactive[TaskSamples | None](None)

    def watch_samples(self) -> None:
        self.on_resize()

    def on_resize(self) -> None:
        """Draw as many samples as fit."""
        columns = SMALL if self.screen.has_class("-low") else CELL_COLUMNS
        self.set_content(format_samples(self.samples, self.size.width, columns) if self.samples else Content())


class LaunchFields(Container):
    """Shows a form; the screen that it is on keeps the form and checks it."""

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="what", can_focus=False):
            yield from self._field("Methods", Choices(multiple=True, id="methods"))
            yield from self._field(
                "Tasks",
                Choices(multiple=True, id="tasks"),
                Input(placeholder="others, such as M->D or photos->scans", compact=True, id="other-tasks"),
                StyledText(id="missing-data"),
            )
            yield from self._field("Seeds", Input(placeholder="1..5", compact=True, id="seeds"))
            yield from self._field("Preset", Choices(id="preset"))
            yield from self._field("Device", Choices(one_per_line=True, id="device"))
            yield from self._field("Slurm", Input(placeholder="partition=main time=02:00:00", compact=True, id="slurm"))
            yield StyledText(id="setting-help")
            yield SampleGrid(id="samples")
        yield SettingList(id="settings")

    def _field(self, label: str, *parts: Choices | Input | StyledText) -> ComposeResult:
        with Horizontal(classes="field", id=f"{label.lower()}-field"):
            yield Static(label, classes="label", markup=False)
            with Vertical(classes="body"):
                yield from parts
                if label in FIELDS_WITH_ERRORS:
                    yield StyledText(id=f"{label.lower()}-problem", classes="problem")

    def fill(self, form: LaunchForm) -> None:
        """Put the form's text into the fields that are typed."""
        self.query_one("#seeds", Input).value = form.seeds
        self.query_one("#other-tasks", Input).value = form.other_tasks
        self.query_one("#slurm", Input).value = form.slurm

    def show_choices(self, form: LaunchForm, checked: CheckedForm, machine: MachineSnapshot | None) -> None:
        """Show what is selected of the methods, tasks, presets and devices that exist."""
        methods = [Choice(spec.name, spec.name, spec.description) for spec in checked.methods]
        width = self.query_one("#device", Choices).size.width
        self.query_one("#slurm-field").display = form.place is not PlaceName.LOCAL
        self.query_one("#methods", Choices).show(methods, form.methods)
        self.query_one("#tasks", Choices).show(launch_text.task_choices(LISTED_TASKS, machine), form.tasks)
        self.query_one("#preset", Choices).show(PRESET_CHOICES, (form.preset,))
        self.query_one("#device", Choices).show(launch_text.device_choices(form.device, machine, width), (form.device,))

    def show(self, form: LaunchForm, checked: CheckedForm, machine: MachineSnapshot | None) -> None:
        """Show the choices, and what the check has found."""
        self.show_choices(form, checked, machine)
        for name in map(str.lower, FIELDS_WITH_ERRORS):
            line = self.query_one(f"#{name}-problem", StyledText)
            line.set_content(styled((checked.problems.get(name, ""), "bad")))
            line.display = name in checked.problems
        missing = launch_text.format_missing_data(checked, machine)
        self.query_one("#missing-data", StyledText).set_content(missing)
        self.query_one("#missing-data").display = bool(missing)
        self.query_one(SettingList).show(checked)
