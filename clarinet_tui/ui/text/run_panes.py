"""The panes of text: all that is known of a run, and its settings."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import format_number, printable
from clarinet_tui.ui.text import run_summary as facts
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.run_detail import Failure, RunDetails, Setting

MARGIN = 11
"""Where the text begins that follows a name."""
ROOMY = 84
"""The width from which on a setting's sentence stands beside it."""


def format_about(run: RunRow, detail: RunDetails | None, now: float, width: int) -> Content:
    """Everything: results, what people and the data say, why it failed, and with what it was made."""
    lines = [facts.format_accuracies(run), facts.format_run_progress(run, width), facts.format_environment(run, now)]
    lines += format_field("tags", " ".join(f"#{tag}" for tag in run.tags), width, "tag")
    lines += format_field("note", run.note, width)
    for note in run.notes:
        lines += format_field("data", note, width)
    lines += format_failure(detail.failure if detail else None, run.error or "", width)
    for name, text in detail.environment if detail else ():
        lines += format_field(name, text, width, "muted")
    return Content("\n").join([*lines, *_format_problem(detail)])


def format_field(name: str, text: str, width: int, role: str = "") -> list[Content]:
    """A name and its text, which goes on under itself."""
    parts = textwrap.wrap(printable(text), max(width - MARGIN, 10))
    return [styled((f"{'' if place else name:<{MARGIN}}", "muted"), (part, role)) for place, part in enumerate(parts)]


def format_failure(failure: Failure | None, message: str, width: int) -> list[Content]:
    """The error, where it happened, and the losses of the last step."""
    lines = format_field("error", failure.message if failure else message, width, "bad")
    if failure:
        for place, frame in enumerate(failure.frames):
            lines += format_field("" if place else "at", frame, width, "warn" if place == 0 else "muted")
        lines += format_field(
            "last step", ", ".join(f"{name} {format_number(value)}" for name, value in failure.terms), width
        )
    return lines


def format_settings(run: RunRow, detail: RunDetails | None, width: int) -> Content:
    """What differs from the preset first, with what the preset has; then the rest."""
    if detail is None or not detail.settings:
        return Content("\n").join(_format_problem(detail))
    changed = [setting for setting in detail.settings if setting.default is not None]
    heading = f"Differs from the preset {run.preset}" if changed else f"Nothing differs from the preset {run.preset}"
    lines = [styled((heading, "strong")), *(_setting(setting, width) for setting in changed), styled()]
    lines.append(styled(("As in the preset", "strong")))
    lines += [_setting(setting, width) for setting in detail.settings if setting.default is None]
    return Content("\n").join(lines)


def _setting(setting: Setting, width: int) -> Content:
    name = f"{setting.name:<22}" if width >= 40 else f"{setting.name} "
    value = f"{setting.value:<12}" if width >= ROOMY else setting.value
    usual = f"  instead of {setting.default}" if setting.default is not None else ""
    left = width - len(name) - len(value) - len(usual) - 2
    sentence = f"  {_shorten(setting.description, left)}" if width >= ROOMY and left > 10 else ""
    return styled((name, "muted"), (value, "warn" if usual else ""), (usual, "muted"), (sentence, "faint"))


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1].rstrip()}…"


def _format_problem(detail: RunDetails | None) -> list[Content]:
    return [styled((detail.problem, "bad"))] if detail and detail.problem else []
