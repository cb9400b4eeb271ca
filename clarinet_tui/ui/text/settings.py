"""The settings of a launch form as lines: name, value, sentence, and under it what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.ui.text.run_summary import Part, said
from core.config import Field, describe

if TYPE_CHECKING:
    from clarinet_tui.ui.launch_check import Checked

NAME, VALUE = 25, 14
"""Columns of a setting's name and value."""


def matching(settings: tuple[Field, ...], find: str) -> list[Field]:
    """Those in whose name or sentence all the words are; those that are named so come first."""
    words = find.lower().split()
    found = [one for one in settings if all(word in f"{one.name} {one.sentence}".lower() for word in words)]
    return sorted(found, key=lambda one: not all(word in one.name for word in words))


def line(setting: Field, checked: Checked, width: int) -> Content:
    """What was asked for stands out; the rest is what the preset makes of it."""
    text = checked.form.settings.get(setting.name)
    problem = checked.problems.get(setting.name)
    usual = checked.usual.get(setting.name, "")
    sign: Part = ("✗ ", "bad") if problem else ("● ", "live") if text is not None else ("  ", "")
    value: Part = (text, "bad" if problem else "strong") if text is not None else (usual or '""', "muted")
    name = said(sign, (setting.name, "" if text is None else "strong"))
    cells = [_cut(name, NAME), _cut(said(value), VALUE), said((setting.sentence, "muted"))]
    shown = Content(" ").join(cells).truncate(width, ellipsis=True)
    return Content("\n").join([shown, said((f"  {problem}", "bad"))]) if problem else shown


def _cut(cell: Content, width: int) -> Content:
    return cell.truncate(width, ellipsis=True).pad_right(max(width - cell.cell_length, 0))


def expectation(setting: Field, checked: Checked) -> Content:
    """What may be typed, and what it is otherwise."""
    usual = checked.usual.get(setting.name)
    return said((describe(setting.type), "muted"), (f"; usually {usual}" if usual else "", "muted"))
