"""The panes of text: all that is known of a run, and its settings."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import number, printable
from clarinet_tui.ui.text import run_summary as facts
from clarinet_tui.ui.text.run_summary import said

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.run_detail import Detail, Failure, Setting

MARGIN = 11
"""Where the text begins that follows a name."""
ROOMY = 84
"""The width from which on a setting's sentence stands beside it."""


def about(run: RunRow, detail: Detail | None, now: float, width: int) -> Content:
    """Everything: results, what people and the data say, why it failed, and with what it was made."""
    lines = [facts.accuracies(run), facts.advance(run, width), facts.surroundings(run, now)]
    lines += entry("tags", " ".join(f"#{tag}" for tag in run.tags), width, "tag")
    lines += entry("note", run.note, width)
    for note in run.notes:
        lines += entry("data", note, width)
    lines += failed(detail.failure if detail else None, run.error or "", width)
    for name, text in detail.surroundings if detail else ():
        lines += entry(name, text, width, "muted")
    return Content("\n").join([*lines, *problem(detail)])


def entry(name: str, text: str, width: int, role: str = "") -> list[Content]:
    """A name and its text, which goes on under itself."""
    parts = textwrap.wrap(printable(text), max(width - MARGIN, 10))
    return [said((f"{'' if place else name:<{MARGIN}}", "muted"), (part, role)) for place, part in enumerate(parts)]


def failed(failure: Failure | None, message: str, width: int) -> list[Content]:
    """The error, where it happened, and the losses of the last step."""
    lines = entry("error", failure.message if failure else message, width, "bad")
    if failure:
        for place, frame in enumerate(failure.frames):
            lines += entry("" if place else "at", frame, width, "warn" if place == 0 else "muted")
        lines += entry("last step", ", ".join(f"{name} {number(value)}" for name, value in failure.terms), width)
    return lines


def settings(run: RunRow, detail: Detail | None, width: int) -> Content:
    """What differs from the preset first, with what the preset has; then the rest."""
    if detail is None or not detail.settings:
        return Content("\n").join(problem(detail))
    changed = [setting for setting in detail.settings if setting.usual is not None]
    heading = f"Differs from the preset {run.preset}" if changed else f"Nothing differs from the preset {run.preset}"
    lines = [said((heading, "strong")), *(_setting(setting, width) for setting in changed), said()]
    lines.append(said(("As in the preset", "strong")))
    lines += [_setting(setting, width) for setting in detail.settings if setting.usual is None]
    return Content("\n").join(lines)


def _setting(setting: Setting, width: int) -> Content:
    name = f"{setting.name:<22}" if width >= 40 else f"{setting.name} "
    value = f"{setting.value:<12}" if width >= ROOMY else setting.value
    usual = f"  instead of {setting.usual}" if setting.usual is not None else ""
    left = width - len(name) - len(value) - len(usual) - 2
    sentence = f"  {shortened(setting.sentence, left)}" if width >= ROOMY and left > 10 else ""
    return said((name, "muted"), (value, "warn" if usual else ""), (usual, "muted"), (sentence, "faint"))


def shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def problem(detail: Detail | None) -> list[Content]:
    return [said((detail.problem, "bad"))] if detail and detail.problem else []
