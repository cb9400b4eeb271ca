"""The summary of a run: title, accuracies, progress, origin, annotations."""

from __future__ import annotations

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
    progress_bar,
)
from clarinet_tui.ui.text.alarms import format_alarms, name_alarms
from clarinet_tui.ui.text.styled import GAP, STATE_STYLES, Span, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import Alarm, RunRow


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


def format_accuracy_list(run: RunRow) -> list[Content]:
    """Format the known accuracies, one line each."""
    values = {
        "target accuracy": run.target_accuracy,
        "source accuracy": run.source_accuracy,
        "pseudo-labels": run.pseudo_label_accuracy,
    }
    known = {f"{name:<17}": format_percent(value) for name, value in values.items() if value is not None}
    return [styled((name, "muted"), (text, "strong"), (" %", "muted")) for name, text in known.items()]


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


def format_about(run: RunRow, now: float) -> Content:
    """Format what stands above the metrics of a run: accuracies, origin, notes on its data, and annotations."""
    notes = [styled((f"· {note}", "muted")) for note in run.notes]
    return Content("\n").join([*format_accuracy_list(run), format_origin(run, now), *notes, *format_annotations(run)])
