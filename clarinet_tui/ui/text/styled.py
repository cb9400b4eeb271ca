"""Text with roles. A role names the purpose of a text; themes give it a colour."""

from collections.abc import Iterable

from rich.cells import cell_len, set_cell_size
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


STATE_STYLES: dict[RunState, Span] = {
    RunState.QUEUED: ("◦", "muted"),
    RunState.STARTING: ("▹", "live"),
    RunState.RUNNING: ("▸", "live"),
    RunState.FINISHED: ("✓", "good"),
    RunState.FAILED: ("✗", "bad"),
    RunState.STOPPED: ("▪", "warn"),
    RunState.LOST: ("?", "bad"),
    RunState.SILENT: ("~", "warn"),
}
"""A glyph that is readable without colour, and the role of its colour."""


def styled(*spans: Span) -> Content:
    """Join spans to one line of content. Text is literal, never markup; a role may also be a Textual style."""
    return Content.assemble(*((printable(text), ROLES.get(role, role)) for text, role in spans))


def fit_spans(spans: Iterable[Span], width: int, *, right: bool = False) -> list[Span]:
    """Return printable spans of exactly `width` columns together, cut with an ellipsis."""
    spans = [(printable(text), role) for text, role in spans]
    length = sum(cell_len(text) for text, _ in spans)
    if length < width:
        blank = (" " * (width - length), "")
        return [blank, *spans] if right else [*spans, blank]
    cut, left = [], width
    for text, role in spans:
        size = min(cell_len(text), left)
        short = set_cell_size(text, size)
        cut.append((f"{set_cell_size(text, size - 1)}…" if size < cell_len(text) and size > 1 else short, role))
        left -= size
    return cut
