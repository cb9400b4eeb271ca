"""Text with roles: a role names what a text is about, and has its colour in every theme."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content

from clarinet_tui.runs.state import RunState
from clarinet_tui.text import printable

Span = tuple[str, str]
"""A text and its role; an empty role has the usual colour."""
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
"""What a piece of text is about, and its colour in the theme."""


@dataclass(frozen=True)
class StateStyle:
    sign: str
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


def state_style(state: RunState) -> StateStyle:
    return STATE_STYLES[state]


def styled(*parts: Span) -> Content:
    """Pieces of text and their roles on one line."""
    return Content.assemble(*((printable(text), ROLES.get(role, role)) for text, role in parts))
