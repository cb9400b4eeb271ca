"""The settings of a launch form as lines: name, value, sentence, and under it what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.ui.text.styled import Span, styled
from core.config import SettingSpec, describe_type

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_check import CheckedForm

NAME, VALUE = 25, 14
"""Columns of a setting's name and value."""


def matching_settings(settings: tuple[SettingSpec, ...], find: str) -> list[SettingSpec]:
    """Those in whose name or sentence all the words are; those that are named so come first."""
    words = find.lower().split()
    found = [one for one in settings if all(word in f"{one.name} {one.description}".lower() for word in words)]
    return sorted(found, key=lambda one: not all(word in one.name for word in words))


def format_setting(setting: SettingSpec, checked: CheckedForm, width: int) -> Content:
    """What was asked for stands out; the rest is what the preset makes of it."""
    text = checked.form.settings.get(setting.name)
    problem = checked.problems.get(setting.name)
    usual = checked.defaults.get(setting.name, "")
    sign: Span = ("✗ ", "bad") if problem else ("● ", "live") if text is not None else ("  ", "")
    value: Span = (text, "bad" if problem else "strong") if text is not None else (usual or '""', "muted")
    name = styled(sign, (setting.name, "" if text is None else "strong"))
    cells = [_cut(name, NAME), _cut(styled(value), VALUE), styled((setting.description, "muted"))]
    shown = Content(" ").join(cells).truncate(width, ellipsis=True)
    return Content("\n").join([shown, styled((f"  {problem}", "bad"))]) if problem else shown


def _cut(cell: Content, width: int) -> Content:
    return cell.truncate(width, ellipsis=True).pad_right(max(width - cell.cell_length, 0))


def format_expected(setting: SettingSpec, checked: CheckedForm) -> Content:
    """What may be typed, and what it is otherwise."""
    usual = checked.defaults.get(setting.name)
    return styled((describe_type(setting.type), "muted"), (f"; usually {usual}" if usual else "", "muted"))
