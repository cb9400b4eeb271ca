"""A run as text: its summary, open alarms, and the panes About and Settings."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import (
    format_age_of,
    format_duration,
    format_number,
    format_percent,
    format_seed,
    format_task,
    format_time,
    printable,
    progress_bar,
    shorten,
)
from clarinet_tui.ui.text.styled import GAP, STATE_STYLES, Span, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import Alarm, RunRow
    from clarinet_tui.ui.snapshot.snapshot import RunDetails, Setting

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


def format_summary(run: RunRow, alarms: tuple[Alarm, ...], width: int) -> Content:
    lines = [format_title(run), format_accuracies(run), format_run_progress(run, width)]
    return Content("\n").join([*lines, *format_alarms(alarms, width), *format_annotations(run)])


def format_title(run: RunRow) -> Content:
    """Format state, method, task, seed, open alarms, id and name, of which a narrow screen cuts the last."""
    style = STATE_STYLES[run.state]
    spans: list[Span] = [(f"{style.glyph} ", style.role), (run.method or "?", "strong")]
    spans += [GAP, (format_task(run.task), "strong")]
    spans += [GAP, (f"seed {format_seed(run.seed)}", "")]
    spans += [GAP, (run.state, style.role)]
    spans += [GAP, (name_alarms(run.alarms), "warn")] if run.alarms else []
    spans += [GAP, (run.id, "muted")]
    return styled(*spans, *([GAP, (run.name, "")] if run.name else []))


def format_accuracies(run: RunRow) -> Content:
    """Format the known accuracies on one line."""
    spans: list[Span] = [("target ", "muted"), (format_percent(run.target_accuracy), "strong"), (" %", "muted")]
    for name, value in (("source", run.source_accuracy), ("pseudo-labels", run.pseudo_label_accuracy)):
        if value is not None:
            spans += [GAP, (f"{name} ", "muted"), (format_percent(value), ""), (" %", "muted")]
    return styled(*spans)


def format_run_progress(run: RunRow, width: int) -> Content:
    """Format a live run's progress bar and time left, or an ended run's duration."""
    if run.iteration is None and not run.seconds:
        return styled(("no iteration yet", "muted"))
    share, left = run.progress, run.seconds_left
    counts = f"epoch {run.epoch or 0}/{run.epochs_total or '?'}"
    if run.iterations_total:
        counts += f"  iteration {format_number(run.iteration or 0)}/{format_number(run.iterations_total)}"
    if not run.state.is_live or share is None:
        return styled((counts, ""), GAP, (f"took {format_duration(run.seconds or 0.0)}", "muted"))
    text = f" {share:.0%}" + (f"  {format_duration(left)} left" if left is not None else "")
    done, rest = progress_bar(share, max(8, min(40, width - len(text) - len(counts) - 4)))
    return styled((done, "live"), (rest, "faint"), (text, "strong"), GAP, (counts, "muted"))


def format_origin(run: RunRow, now: float) -> Content:
    """Format preset, device, host and time of creation."""
    device = " on ".join(filter(None, (run.device, run.host)))
    created = f"{format_time(run.created)}, {format_age_of(run.created, now)}"
    texts = [styled((text, "muted")) for text in (run.preset, device, created) if text]
    return styled((" · ", "faint")).join(texts)


def format_annotations(run: RunRow) -> list[Content]:
    """Format tags, note and error, one line each."""
    lines = []
    if run.tags:
        lines.append(styled((" ".join(f"#{tag}" for tag in run.tags), "tag")))
    if run.note:
        lines.append(styled(("note ", "muted"), (run.note, "")))
    if run.error:
        lines.append(styled((run.error, "bad")))
    return lines


def format_overview(run: RunRow, now: float) -> Content:
    """Format what stands above the metrics of a run: accuracies, origin, notes on its data, and annotations."""
    accuracies = {
        "target accuracy": run.target_accuracy,
        "source accuracy": run.source_accuracy,
        "pseudo-labels": run.pseudo_label_accuracy,
    }
    lines = [
        styled((f"{name:<17}", "muted"), (format_percent(value), "strong"), (" %", "muted"))
        for name, value in accuracies.items()
        if value is not None
    ]
    notes = [styled((f"· {note}", "muted")) for note in run.notes]
    return Content("\n").join([*lines, format_origin(run, now), *notes, *format_annotations(run)])


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
    failure = detail.failure if detail else None
    lines += format_field("error", failure.message if failure else run.error or "", width, "bad")
    if failure:
        for index, frame in enumerate(failure.frames):
            lines += format_field("" if index else "at", frame, width, "muted" if index else "warn")
        terms = ", ".join(f"{name} {format_number(value)}" for name, value in failure.terms)
        lines += format_field("last step", terms, width)
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
