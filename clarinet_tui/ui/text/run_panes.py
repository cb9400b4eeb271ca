"""The panes About and Settings of a run."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import format_number, printable, shorten
from clarinet_tui.ui.text.alarms import format_alarms
from clarinet_tui.ui.text.run_summary import format_accuracies, format_origin, format_run_progress
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow
    from clarinet_tui.ui.snapshot.snapshot import Failure, RunDetails, Setting

MARGIN = 11
"""Width of a field's name."""
VALUE = 12
"""Width of a setting's value where a description follows."""
DESCRIBED = 84
"""Width from which settings are shown with their descriptions."""


def format_about(run: RunRow, detail: RunDetails | None, now: float, width: int) -> Content:
    """Format alarms, results, annotations, data notes, failure and environment."""
    lines = format_alarms(detail.alarms if detail else (), width)
    lines += [format_accuracies(run), format_run_progress(run, width), format_origin(run, now)]
    lines += format_field("tags", " ".join(f"#{tag}" for tag in run.tags), width, "tag")
    lines += format_field("note", run.note, width)
    for note in run.notes:
        lines += format_field("data", note, width)
    lines += format_failure(detail.failure if detail else None, run.error or "", width)
    for problem in run.problems:
        lines += format_field("unreadable", problem, width, "warn")
    for name, text in detail.environment if detail else ():
        lines += format_field(name, text, width, "muted")
    return Content("\n").join([*lines, *_format_problem(detail)])


def format_field(name: str, text: str, width: int, role: str = "") -> list[Content]:
    """Format a name and its text, wrapped and indented."""
    lines = textwrap.wrap(printable(text), max(width - MARGIN, 10))
    names = [f"{shorten(name, MARGIN - 1):<{MARGIN}}", *[" " * MARGIN] * len(lines)]
    return [styled((names[index], "muted"), (line, role)) for index, line in enumerate(lines)]


def format_failure(failure: Failure | None, message: str, width: int) -> list[Content]:
    """Format the error, its stack frames and the losses of the last step."""
    lines = format_field("error", failure.message if failure else message, width, "bad")
    if failure:
        for index, frame in enumerate(failure.frames):
            lines += format_field("" if index else "at", frame, width, "muted" if index else "warn")
        terms = ", ".join(f"{name} {format_number(value)}" for name, value in failure.terms)
        lines += format_field("last step", terms, width)
    return lines


def format_settings(run: RunRow, detail: RunDetails | None, width: int) -> Content:
    """Format the settings that differ from the preset, then the others."""
    if detail is None or not detail.settings:
        return Content("\n").join(_format_problem(detail))
    changed = [setting for setting in detail.settings if setting.default is not None]
    heading = f"Differs from the preset {run.preset}" if changed else f"Nothing differs from the preset {run.preset}"
    names = max(len(setting.name) for setting in detail.settings) + 2
    lines = [styled((heading, "strong")), *(_format_setting(setting, names, width) for setting in changed), styled()]
    lines.append(styled(("As in the preset", "strong")))
    lines += [_format_setting(setting, names, width) for setting in detail.settings if setting.default is None]
    return Content("\n").join(lines)


def _format_setting(setting: Setting, names: int, width: int) -> Content:
    """Format a setting with its name in a column of `names` characters, if there is room."""
    name = f"{setting.name:<{names}}" if width >= names + VALUE else f"{setting.name} "
    value = f"{setting.value:<{VALUE}}" if width >= DESCRIBED else setting.value
    default = f"  instead of {setting.default}" if setting.default is not None else ""
    left = width - len(name) - len(value) - len(default) - 2
    description = f"  {shorten(setting.description, left)}" if width >= DESCRIBED and left > 10 else ""
    return styled((name, "muted"), (value, "warn" if default else ""), (default, "muted"), (description, "faint"))


def _format_problem(detail: RunDetails | None) -> list[Content]:
    return [styled((detail.problem, "bad"))] if detail and detail.problem else []
