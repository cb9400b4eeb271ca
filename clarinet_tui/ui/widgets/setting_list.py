"""A searchable list of all settings, which can be edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from clarinet_tui.ui.launch_form import allowed_values, list_settings
from clarinet_tui.ui.text.launch import format_expected, format_setting, matching_settings
from clarinet_tui.ui.text.styled import styled
from clarinet_tui.ui.widgets.pick_list import PickList
from clarinet_tui.ui.widgets.styled_text import StyledText

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_check import CheckedForm


class SettingList(Vertical):
    """Enter edits the setting at the cursor. The text applies while it is typed; escape reverts it."""

    DEFAULT_CSS = """
    SettingList .line { height: 1; }
    SettingList Input { width: 1fr; background: $surface; }
    SettingList #finding, SettingList #editing { display: none; background: $surface; }
    SettingList #finding.-open, SettingList #editing.-open { display: block; }
    SettingList .prompt { width: auto; color: $text-accent; text-style: bold; }
    SettingList #edited-name { width: auto; }
    SettingList #expected { height: auto; background: $surface; padding: 0 1; display: none; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", key_display="/", id="settings.find", tooltip="Find a setting"),
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

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._settings = tuple(list_settings())
        self._checked: CheckedForm | None = None
        self._find = ""
        self._edited: tuple[str, str] | None = None
        """The name of the setting that is being edited, and its text before."""

    def compose(self) -> ComposeResult:
        yield StyledText(id="settings-title", classes="line")
        with Horizontal(id="finding", classes="line"):
            yield Static(" / ", classes="prompt", markup=False)
            yield Input(placeholder="words of its name or description", compact=True, id="find")
        with Horizontal(id="editing", classes="line"):
            yield StyledText(id="edited-name", classes="prompt")
            yield Input(compact=True, id="edit")
        yield StyledText(id="expected")
        yield PickList(id="setting-lines")

    @property
    def _list(self) -> PickList:
        return self.query_one(PickList)

    def on_mount(self) -> None:
        for field in self.query(Input):
            field.cursor_blink = self.app.animation_level != "none"

    def on_resize(self) -> None:
        self._update()

    def show(self, checked: CheckedForm) -> None:
        self._checked = checked
        self._update()

    def _update(self) -> None:
        checked = self._checked
        if checked is None:
            return
        changed = len(checked.form.settings)
        hint = f"{changed} changed" if changed else "enter edits, / finds"
        self.query_one("#settings-title", StyledText).set_content(
            styled(("Settings", "strong"), (f"  {hint}", "muted"))
        )
        width = max(20, self.size.width - 2)
        matches = matching_settings(self._settings, self._find)
        self._list.show([(setting.name, format_setting(setting, checked, width)) for setting in matches])
        if self._edited:
            edited = next(setting for setting in self._settings if setting.name == self._edited[0])
            problem = checked.problems.get(edited.name)
            expected = styled((problem, "bad")) if problem else format_expected(edited, checked)
            self.query_one("#expected", StyledText).set_content(expected)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        name = event.option.id
        if name is None or self._checked is None:
            return
        text = self._checked.form.settings.get(name, "")
        self._edited = (name, text)
        self.query_one("#edited-name", StyledText).set_content(styled((f" {name} = ", "")))
        field = self.query_one("#edit", Input)
        with self.prevent(Input.Changed):
            field.value = text
        field.cursor_position = len(text)
        self._set_open("#editing", True)
        field.focus()
        self._update()

    def _set_open(self, part: str, opened: bool) -> None:
        self.query_one(part).set_class(opened, "-open")
        if part == "#editing":
            self.query_one("#expected").display = opened

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if event.input.id == "find":
            self._find = event.value
            self._update()
        elif self._edited:
            self.post_message(self.SettingChanged(self._edited[0], event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.input.id == "edit":
            self._end_edit()
        self._list.focus()

    def on_descendant_blur(self, event: object) -> None:
        """Moving the focus elsewhere ends editing."""
        self.call_after_refresh(self._close_unfocused)

    def _close_unfocused(self) -> None:
        if self._edited and not self.query_one("#edit").has_focus:
            self._end_edit()
        if not self._find and not self.query_one("#find").has_focus:
            self._set_open("#finding", False)

    def _end_edit(self) -> None:
        self._edited = None
        self._set_open("#editing", False)

    def action_find(self) -> None:
        self._set_open("#finding", True)
        self.query_one("#find").focus()

    def action_close(self) -> None:
        """Revert the edited setting, or clear the search."""
        if self._edited:
            self.post_message(self.SettingChanged(*self._edited))
            self._end_edit()
        else:
            self.query_one("#find", Input).value = ""
            self._set_open("#finding", False)
        self._list.focus()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While an input has the focus, keys are letters; escape is passed on if there is nothing to close."""
        is_typing = isinstance(self.screen.focused, Input)
        if action == "close":
            return is_typing or bool(self._find)
        return not is_typing

    def action_cycle(self, step: int) -> None:
        """Change to the next or previous value of a setting with few values."""
        name = self._list.highlighted_id
        setting = next((setting for setting in self._settings if setting.name == name), None)
        if setting is None or self._checked is None or not (values := allowed_values(setting)):
            return
        default = self._checked.defaults.get(setting.name, "")
        current = self._checked.form.settings.get(setting.name) or default
        value = values[(values.index(current) + step) % len(values) if current in values else 0]
        self.post_message(self.SettingChanged(setting.name, "" if value == default else value))

    def action_reset(self) -> None:
        if self._list.highlighted_id:
            self.post_message(self.SettingChanged(self._list.highlighted_id, ""))
