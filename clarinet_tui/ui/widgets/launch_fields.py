"""The launch form: its fields and choices with their problems below them, samples of the data, and the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, Static

from clarinet_tui.chart.picture import CELL_COLUMNS
from clarinet_tui.place import PlaceName
from clarinet_tui.ui.launch_form import LISTED_TASKS
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from clarinet_tui.ui.text import launch as launch_text
from clarinet_tui.ui.text.inspection import format_samples
from clarinet_tui.ui.text.launch import Choice
from clarinet_tui.ui.text.styled import fit_cell, styled
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
GAP = 3
"""Columns between two choices."""


class Choices(Widget, can_focus=True):
    """Arrows move between choices and, beyond the first and last row, to the next field; space selects."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "Choices { height: auto; width: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "select", "Select", key_display="space", id="form.pick", tooltip="Select or deselect"),
        Binding("right,l", "move(1)", "Next choice", id="form.right", show=False),
        Binding("left,h", "move(-1)", "Previous choice", id="form.left", show=False),
        Binding("down,j", "move_row(1)", "Down", id="form.down", show=False),
        Binding("up,k", "move_row(-1)", "Up", id="form.up", show=False),
    ]

    @dataclass
    class SelectionChanged(Message):
        """The user changed the selection."""

        choices: Choices
        values: tuple[str, ...]

    @dataclass
    class ChoiceHighlighted(Message):
        """The cursor moved to another choice."""

        choice: Choice | None

    choices: reactive[tuple[Choice, ...]] = reactive(())
    selected: reactive[tuple[str, ...]] = reactive(())
    cursor: reactive[int] = reactive(0)

    def __init__(self, *, multiple: bool = False, one_per_line: bool = False, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.multiple, self.one_per_line = multiple, one_per_line

    @property
    def highlighted(self) -> Choice | None:
        return self.choices[self.cursor] if self.cursor < len(self.choices) else None

    def show(self, choices: Iterable[Choice], selected: Sequence[str]) -> None:
        """Show these choices with these values selected."""
        new = tuple(choices)
        if new != self.choices:
            labels = [choice.label for choice in self.choices]
            self.choices = new
            self.refresh(layout=labels != [choice.label for choice in new])
        self.selected = tuple(selected)
        self.cursor = min(self.cursor, max(len(new) - 1, 0))

    def _columns(self, width: int) -> list[int]:
        """The widths of as many columns as fit, as in `ls`."""
        sizes = [cell_len(choice.label) + 2 for choice in self.choices]
        for count in range(1 if self.one_per_line else len(sizes), 1, -1):
            widths = [max(sizes[column::count]) for column in range(count)]
            if sum(widths) + GAP * (count - 1) <= width:
                return widths
        return [max(sizes, default=0)]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return max(1, -(-len(self.choices) // len(self._columns(width))))

    def render(self) -> Content:
        widths = self._columns(self.size.width)
        rows = []
        for start in range(0, len(self.choices), len(widths)):
            row = zip(self.choices[start : start + len(widths)], widths, strict=False)
            cells = [self._render_cell(start + index, choice, width) for index, (choice, width) in enumerate(row)]
            rows.append(Content(" " * GAP).join(cells).truncate(self.size.width, ellipsis=True))
        return Content("\n").join(rows)

    def _render_cell(self, index: int, choice: Choice, width: int) -> Content:
        is_selected = choice.value in self.selected
        role = "chosen" if index == self.cursor and self.has_focus else "strong" if is_selected else choice.role
        on, off = ("■", "□") if self.multiple else ("●", "○")
        glyph_role = "live" if is_selected and role != "chosen" else role
        cell = styled((f"{on if is_selected else off} ", glyph_role), (choice.label, role))
        return fit_cell(cell, width + GAP) + styled(*choice.suffix) if self.one_per_line else fit_cell(cell, width)

    def watch_cursor(self) -> None:
        self.post_message(self.ChoiceHighlighted(self.highlighted))

    def on_focus(self) -> None:
        """Move the cursor to the selected choice, if there can be only one."""
        selected = [index for index, choice in enumerate(self.choices) if choice.value in self.selected]
        if selected and not self.multiple:
            self.cursor = selected[0]
        self.post_message(self.ChoiceHighlighted(self.highlighted))
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def action_move(self, step: int) -> None:
        self.cursor = min(max(self.cursor + step, 0), max(len(self.choices) - 1, 0))

    def action_move_row(self, step: int) -> None:
        columns, last = len(self._columns(self.size.width)), len(self.choices) - 1
        index = self.cursor + step * columns
        if 0 <= index <= last or (step > 0 and self.cursor // columns < last // columns):
            self.cursor = min(index, last)
        elif step > 0:
            self.screen.focus_next()
        else:
            self.screen.focus_previous()

    def action_select(self) -> None:
        choice = self.highlighted
        if choice is None:
            return
        if not self.multiple:
            self.selected = (choice.value,)
        elif choice.value in self.selected:
            self.selected = tuple(value for value in self.selected if value != choice.value)
        else:
            values = {*self.selected, choice.value}
            self.selected = tuple(choice.value for choice in self.choices if choice.value in values)
        self.post_message(self.SelectionChanged(self, self.selected))

    def on_click(self, event: events.Click) -> None:
        widths = self._columns(self.size.width)
        column, edge = 0, widths[0] + GAP
        while event.x >= edge and column < len(widths) - 1:
            column += 1
            edge += widths[column] + GAP
        index = event.y * len(widths) + column
        if index < len(self.choices):
            self.cursor = index
            self.action_select()


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
