"""What is to be said about one run in a few lines. Text from data is always literal, never markup."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import (
    format_age,
    format_duration,
    format_number,
    format_percent,
    format_task,
    progress_bar,
)
from clarinet_tui.ui.text.styled import GAP, Span, state_style, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow


def format_title(run: RunRow) -> Content:
    """Which run this is: state, method, task, seed."""
    seen = state_style(run.state)
    name = [GAP, (run.name, "")] if run.name else []
    return styled(
        (f"{seen.sign} ", seen.role),
        (run.method or "?", "strong"),
        GAP,
        (format_task(run.task), "strong"),
        GAP,
        (f"seed {'?' if run.seed is None else run.seed}", ""),
        *name,
        GAP,
        (run.state, seen.role),
        GAP,
        (run.id, "muted"),
    )


def format_brief(run: RunRow) -> Content:
    """Which run this is and what it has reached, on one line."""
    return (
        format_title(run)
        if run.target_accuracy is None
        else Content("  ").join([format_title(run), format_accuracies(run)])
    )


def format_accuracies(run: RunRow) -> Content:
    """What the run has reached."""
    parts: list[Span] = [("target ", "muted"), (format_percent(run.target_accuracy), "strong"), (" %", "muted")]
    for name, value in (("source", run.source_accuracy), ("pseudo-labels", run.pseudo_label_accuracy)):
        if value is not None:
            parts += [GAP, (f"{name} ", "muted"), (format_percent(value), ""), (" %", "muted")]
    return styled(*parts)


def format_accuracy_list(run: RunRow) -> list[Content]:
    """The same, a line each."""
    values = {
        "target accuracy": run.target_accuracy,
        "source accuracy": run.source_accuracy,
        "pseudo-labels": run.pseudo_label_accuracy,
    }
    known = [(name, value) for name, value in values.items() if value is not None]
    return [
        styled((f"{name:<17}", "muted"), (format_percent(value), "strong"), (" %", "muted")) for name, value in known
    ]


def format_run_progress(run: RunRow, width: int) -> Content:
    """How far it is, and how long it still takes."""
    share, left = run.progress, run.seconds_left
    counts = f"epoch {run.epoch or 0}/{run.epochs_total or '?'}"
    if run.iterations_total:
        counts += f"  iteration {format_number(run.iteration or 0)}/{format_number(run.iterations_total)}"
    if not run.state.is_live or share is None:
        return styled((counts, ""), GAP, (f"took {format_duration(run.seconds or 0.0)}", "muted"))
    words = f" {share:.0%}" + (f"  {format_duration(left)} left" if left is not None else "")
    done, rest = progress_bar(share, max(8, min(40, width - len(words) - len(counts) - 4)))
    return styled((done, "live"), (rest, "faint"), (words, "strong"), GAP, (counts, "muted"))


def format_environment(run: RunRow, now: float) -> Content:
    """Where and when it ran."""
    where = " on ".join(filter(None, (run.device, run.host)))
    when = datetime.fromtimestamp(run.created).strftime("%Y-%m-%d %H:%M")
    return styled(
        *_join_spans((run.preset or "", ""), (where, ""), (f"{when}, {format_age(max(now - run.created, 0))}", ""))
    )


def format_annotations(run: RunRow) -> list[Content]:
    """What a person wrote, and what went wrong."""
    lines = []
    if run.tags:
        lines.append(styled((" ".join(f"#{tag}" for tag in run.tags), "tag")))
    if run.note:
        lines.append(styled(("note ", "muted"), (run.note, "")))
    if run.error:
        lines.append(styled((run.error, "bad")))
    return lines


def _join_spans(*parts: Span) -> list[Span]:
    """The parts that say something, with dots between them."""
    spoken: list[Span] = []
    for text, role in parts:
        if text:
            spoken += [(" · ", "faint")] if spoken else []
            spoken.append((text, role or "muted"))
    return spoken
