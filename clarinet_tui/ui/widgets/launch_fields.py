"""Widgets of the launch form: choices, samples of the data, and the settings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events, getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from clarinet_tui.chart.picture import CELL_COLUMNS
from clarinet_tui.ui.launch_form import allowed_values, list_settings
from clarinet_tui.ui.snapshot.snapshot import TaskSamples
from clarinet_tui.ui.text.inspection import format_samples
from clarinet_tui.ui.text.launch import (
    GRID_HINT,
    Choice,
    format_expected,
    format_setting,
    format_settings_title,
    matching_settings,
)
from clarinet_tui.ui.text.styled import fit_spans, styled
from clarinet_tui.ui.usual_settings import usual_settings
from clarinet_tui.ui.widgets.pick_list import PickList
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_check import CheckedForm
    from core.config import SettingSpec


class SettingList(Vertical):
    """Enter edits the setting at the cursor. The text applies while it is typed; escape reverts it."""

    DEFAULT_CSS = """
    SettingList .line { height: 1; }
    SettingList Input { width: 1fr; background: $surface; }
    SettingList #finding, SettingList #editing { display: none; background: $surface; }
    SettingList .prompt { width: auto; color: $text-accent; text-style: bold; }
    SettingList #edited-name { width: auto; }
    SettingList #expected { height: auto; background: $surface; padding: 0 1; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", key_display="/", id="settings.find", tooltip="Find a setting"),
        Binding("n", "match(1)", "Next match", id="settings.next_match", show=False, tooltip="Next found setting"),
        Binding("N", "match(-1)", "Last match", id="settings.last_match", show=False, tooltip="Previous found setting"),
        Binding("a", "all", "All", id="settings.all", tooltip="Show all settings, or the usual ones"),
        Binding("right,l", "cycle(1)", "Next value", id="settings.next", show=False),
        Binding("left,h", "cycle(-1)", "Previous value", id="settings.before", show=False),
        Binding("backspace,delete", "reset", "Reset", id="settings.forget", tooltip="Reset to the preset's value"),
        Binding("escape", "close", "Close", id="settings.leave", show=False),
    ]

    @dataclass
    class SettingChanged(Message):
        """A setting's text changed; an empty text means the preset's value."""

        name: str
        text: str

    def __init__(self, checked: CheckedForm, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._checked = checked
        self._find = ""
        self._shows_all = False
        self._edited: tuple[str, str] | None = None
        """The name of the setting that is being edited, and its text before."""

    def compose(self) -> ComposeResult:
        yield StyledText(id="settings-title", classes="line")
        yield StyledText(id="settings-hint", classes="line")
        with Horizontal(id="finding", classes="line"):
            yield Static(" / ", classes="prompt", markup=False)
            yield Input(placeholder="words of its name or description", compact=True, id="find")
        with Horizontal(id="editing", classes="line"):
            yield StyledText(id="edited-name", classes="prompt")
            yield Input(compact=True, id="edit")
        yield StyledText(id="expected")
        yield PickList(id="setting-lines")

    _list = getters.query_one(PickList)

    @property
    def _settings(self) -> dict[str, SettingSpec]:
        return {setting.name: setting for setting in self._checked.settings or list_settings()}

    @property
    def _listed(self) -> Sequence[SettingSpec]:
        """The settings that are found, or all, or the usual ones with those that are changed."""
        settings, form = list(self._settings.values()), self._checked.form
        if self._find or self._shows_all:
            return matching_settings(settings, self._find)
        chosen = [method for method in self._checked.methods if method.name in form.methods]
        edited = [self._edited[0]] if self._edited else []
        return usual_settings(settings, chosen, [*form.settings, *edited])

    def on_resize(self) -> None:
        self._update()

    def show(self, checked: CheckedForm) -> None:
        self._checked = checked
        self._update()

    def _update(self) -> None:
        checked = self._checked
        every, listed = list(self._settings.values()), self._listed
        title = format_settings_title(checked, len(listed), len(every))
        self.query_one("#settings-title", StyledText).set_content(title)
        self.query_one("#settings-hint", StyledText).set_content(styled((GRID_HINT, "muted")))
        width = max(20, self.size.width - 2)
        self._list.show([(setting.name, format_setting(setting, checked, width)) for setting in listed])
        if self._edited:
            name, _ = self._edited
            problem = checked.problems.get(name)
            expected = styled((problem, "bad")) if problem else format_expected(self._settings[name], checked)
            self.query_one("#expected", StyledText).set_content(expected)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        name = event.option.id
        if name is None:
            return
        text = self._checked.form.settings.get(name, "")
        self.query_one("#edited-name", StyledText).set_content(styled((f" {name} = ", "")))
        field = self.query_one("#edit", Input)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self._set_edited((name, text))
        field.focus()
        self._update()

    def _set_edited(self, edited: tuple[str, str] | None) -> None:
        self._edited = edited
        self.query_one("#editing").display = self.query_one("#expected").display = edited is not None

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "find":
            self._find = event.value
            self._update()
            self._list.action_first()
        elif self._edited:
            self.post_message(self.SettingChanged(self._edited[0], event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "edit":
            self._set_edited(None)
        self._list.focus()

    def on_descendant_blur(self, event: object) -> None:
        """Moving the focus elsewhere ends editing."""
        self.call_after_refresh(self._close_unfocused)

    def _close_unfocused(self) -> None:
        if self._edited and not self.query_one("#edit").has_focus:
            self._set_edited(None)
        if not self._find and not self.query_one("#find").has_focus:
            self.query_one("#finding").display = False

    def action_find(self) -> None:
        self.query_one("#finding").display = True
        self.query_one("#find").focus()

    def action_match(self, step: int) -> None:
        """Move to the next or previous setting that was found; after the last one comes the first."""
        (self._list.action_cursor_down if step > 0 else self._list.action_cursor_up)()

    def action_all(self) -> None:
        self._shows_all = not self._shows_all
        self._update()

    def action_close(self) -> None:
        """Revert the edited setting, or clear the search."""
        if self._edited:
            self.post_message(self.SettingChanged(*self._edited))
            self._set_edited(None)
        else:
            self.query_one("#find", Input).value = ""
            self.query_one("#finding").display = False
        self._list.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While an input has the focus, keys are letters; escape is passed on if there is nothing to close."""
        is_typing = isinstance(self.screen.focused, Input)
        if action == "close":
            return is_typing or bool(self._find)
        return not is_typing and (action != "match" or bool(self._find))

    def action_cycle(self, step: int) -> None:
        """Change to the next or previous value of a setting with few values."""
        setting = self._settings.get(self._list.highlighted_id or "")
        if setting is None or not (values := allowed_values(setting)):
            return
        default = self._checked.defaults.get(setting.name, "")
        current = self._checked.form.settings.get(setting.name) or default
        value = values[(values.index(current) + step) % len(values) if current in values else 0]
        self.post_message(self.SettingChanged(setting.name, "" if value == default else value))

    def action_reset(self) -> None:
        if self._list.highlighted_id:
            self.post_message(self.SettingChanged(self._list.highlighted_id, ""))


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
        choices: Choices

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
        spans = [(f"{on if is_selected else off} ", glyph_role), (choice.label, role)]
        if self.one_per_line:
            return styled(*fit_spans(spans, width + GAP), *choice.suffix)
        return styled(*fit_spans(spans, width))

    def on_focus(self) -> None:
        """Move the cursor to the selected choice, if there can be only one."""
        selected = [index for index, choice in enumerate(self.choices) if choice.value in self.selected]
        if selected and not self.multiple:
            self.cursor = selected[0]
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
        self.post_message(self.SelectionChanged(self))

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
        columns = 12 if self.screen.has_class("-low") else CELL_COLUMNS  # two lines of 12 fit on a low screen
        self.set_content(format_samples(self.samples, self.size.width, columns) if self.samples else Content())
