"""Text with roles. A role names the purpose of a text; themes give it a colour."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content

from clarinet_tui.runs.state import RunState
from clarinet_tui.text import printable

Span = tuple[str, str]
"""A text and its role; without a role it has the default colour."""
Spans = tuple[Span, ...]
GAP: Span = ("  ", "")

ROLES = {
    "muted": "$foreground-muted",
    "faint": "$foreground-disabled",
    "live": "$text-primary",
    "good": "$text-success",
    "bad": "$text-error",
    "warn": "$text-warning",
    "tag": "$text-secondary",
    "strong": "bold",
    "chosen": "bold reverse",
}
"""The style of each role, in terms of the theme's variables."""


class StateStyle(NamedTuple):
    """A glyph that is readable without colour, and the role of its colour."""

    glyph: str
    role: str


STATE_STYLES = {
    RunState.QUEUED: StateStyle("◦", "muted"),
    RunState.STARTING: StateStyle("▹", "live"),
    RunState.RUNNING: StateStyle("▸", "live"),
    RunState.FINISHED: StateStyle("✓", "good"),
    RunState.FAILED: StateStyle("✗", "bad"),
    RunState.STOPPED: StateStyle("▪", "warn"),
    RunState.LOST: StateStyle("?", "bad"),
    RunState.SILENT: StateStyle("~", "warn"),
}


def styled(*spans: Span) -> Content:
    """Join spans to one line of content. Text is literal, never markup; a role may also be a Textual style."""
    return Content.assemble(*((printable(text), ROLES.get(role, role)) for text, role in spans))


def fit_cell(cell: Content, width: int) -> Content:
    """Cut a cell with an ellipsis, or pad it, to exactly this width."""
    cut = cell.truncate(width, ellipsis=True)
    return cut.pad_right(max(width - cut.cell_length, 0))
