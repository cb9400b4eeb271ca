"""A run as text: its summary, open alarms, and the panes About and Settings; and the first steps without any run."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
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
    shell_command,
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


def format_alarms(alarms: Iterable[Alarm], width: int) -> Iterator[Content]:
    """Format each alarm as a wrapped sentence, and below it what to try."""
    for alarm in alarms:
        since = "" if alarm.iteration is None else f" since iteration {alarm.iteration}"
        for text, role in ((f"{GLYPH} {alarm.kind}{since}: {alarm.message}", "warn"), (alarm.advice, "muted")):
            for index, row in enumerate(textwrap.wrap(printable(text), max(width - 2, 10))):
                yield styled((row if index == 0 and role == "warn" else f"  {row}", role))


def format_summary(run: RunRow, alarms: tuple[Alarm, ...], width: int) -> Content:
    lines = [format_title(run), format_accuracies(run), format_run_progress(run, width)]
    return Content("\n").join([*lines, *format_alarms(alarms, width), *format_annotations(run)])


def format_title(run: RunRow) -> Content:
    """Format state, method, task, seed, open alarms, id and name, of which a narrow screen cuts the last."""
    glyph, role = STATE_STYLES[run.state]
    spans: list[Span] = [(f"{glyph} ", role), (run.method or "?", "strong"), GAP, (format_task(run.task), "strong")]
    spans += [GAP, (f"seed {format_seed(run.seed)}", ""), GAP, (run.state, role)]
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


def format_annotations(run: RunRow) -> Iterator[Content]:
    """Format tags, note and error, one line each."""
    if run.tags:
        yield styled((" ".join(f"#{tag}" for tag in run.tags), "tag"))
    if run.note:
        yield styled(("note ", "muted"), (run.note, ""))
    if run.error:
        yield styled((run.error, "bad"))


def format_overview(run: RunRow, now: float) -> Content:
    """Format what stands above the metrics of a run: accuracies, origin, notes on its data, and annotations."""
    accuracies = {"target accuracy": run.target_accuracy, "source accuracy": run.source_accuracy}
    lines = []
    for name, value in (accuracies | {"pseudo-labels": run.pseudo_label_accuracy}).items():
        if value is not None:
            lines.append(styled((f"{name:<17}", "muted"), (format_percent(value), "strong"), (" %", "muted")))
    notes = [styled((f"· {note}", "muted")) for note in run.notes]
    return Content("\n").join([*lines, format_origin(run, now), *notes, *format_annotations(run)])


def format_about(run: RunRow, detail: RunDetails | None, now: float, width: int) -> Content:
    """Format alarms, results, annotations, data notes, failure and environment."""
    lines = [*format_alarms(detail.alarms if detail else (), width)]
    lines += [format_accuracies(run), format_run_progress(run, width), format_origin(run, now)]
    fields = [("tags", " ".join(f"#{tag}" for tag in run.tags), "tag"), ("note", run.note, "")]
    fields += [("data", note, "") for note in run.notes]
    failure = detail.failure if detail else None
    fields.append(("error", failure.message if failure else run.error or "", "bad"))
    if failure:
        frames = enumerate(failure.frames)
        fields += [("" if index else "at", frame, "muted" if index else "warn") for index, frame in frames]
        terms = ", ".join(f"{name} {format_number(value)}" for name, value in failure.terms)
        fields.append(("last step", terms, ""))
    fields += [("unreadable", problem, "warn") for problem in run.problems]
    fields += [(name, text, "muted") for name, text in (detail.environment if detail else ())]
    margin = 11
    for name, text, role in fields:
        rows = textwrap.wrap(printable(text), max(width - margin, 10))
        names = [shorten(name, margin - 1), *[""] * len(rows)]
        lines += [styled((f"{names[index]:<{margin}}", "muted"), (row, role)) for index, row in enumerate(rows)]
    return Content("\n").join([*lines, *_format_problem(detail)])


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
    name = f"{setting.name:<{names}}" if width >= names + 12 else f"{setting.name} "
    is_described = width >= 84
    value = f"{setting.value:<12}" if is_described else setting.value
    default = f"  instead of {setting.default}" if setting.default is not None else ""
    left = width - len(name) - len(value) - len(default) - 2
    description = f"  {shorten(setting.description, left)}" if is_described and left > 10 else ""
    return styled((name, "muted"), (value, "warn" if default else ""), (default, "muted"), (description, "faint"))


def _format_problem(detail: RunDetails | None) -> list[Content]:
    return [styled((detail.problem, "bad"))] if detail and detail.problem else []


DEMO = styled(("Press ", ""), ("D", "live"), (" to watch the demo: a few short runs, about two minutes on a CPU.", ""))
NEW = styled(("Press ", ""), ("n", "live"), (" to start a run of your own.", ""))
NO_RUN = Content("\n").join([styled(("No run to watch yet", "strong")), styled(), DEMO, NEW])


def format_welcome(runs_dir: str) -> Content:
    """Format the first steps in an empty runs directory."""
    lines = [styled(("No runs yet", "strong")), styled((f"in {runs_dir}", "muted")), styled(), DEMO, NEW, styled()]
    lines.append(styled(("Or start one in another terminal, and it appears here:", "muted")))
    commands = (("run", "--headless", "--preset", "smoke", "--method", "basset"), ("demo",))
    lines += [styled((shell_command("clarinet", *words, runs_dir=runs_dir), "live")) for words in commands]
    return Content("\n").join(lines)
