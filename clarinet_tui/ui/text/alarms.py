"""Open alarms of a run: their names for a line, and their sentences with advice."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clarinet_tui.text import printable
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from textual.content import Content

    from clarinet_tui.history.queries import Alarm

GLYPH = "!"
"""Marks a run with open alarms in tables and titles, and the place on a chart where one began."""


def name_alarms(kinds: Sequence[str]) -> str:
    """Name the first alarm, and count the others: ! collapse +1."""
    more = f" +{len(kinds) - 1}" if len(kinds) > 1 else ""
    return f"{GLYPH} {kinds[0]}{more}" if kinds else ""


def format_alarms(alarms: Iterable[Alarm], width: int) -> list[Content]:
    """Format each alarm as a wrapped sentence, and below it what to try."""
    lines = []
    for alarm in alarms:
        since = "" if alarm.iteration is None else f" since iteration {alarm.iteration}"
        for text, role in ((f"{GLYPH} {alarm.kind}{since}: {alarm.message}", "warn"), (alarm.advice, "muted")):
            rows = textwrap.wrap(printable(text), max(width - 2, 10))
            lines += [
                styled((row if index == 0 and role == "warn" else f"  {row}", role)) for index, row in enumerate(rows)
            ]
    return lines
