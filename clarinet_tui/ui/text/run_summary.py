"""What is to be said about one run in a few lines. Text from data is always literal, never markup."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import ago, bar, duration, number, percent, printable
from clarinet_tui.ui.snapshot.state_style import LIVE, ROLES, look, progress
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

Part = tuple[str, str]
GAP: Part = ("  ", "")


def said(*parts: Part) -> Content:
    """Pieces of text and their roles on one line."""
    return Content.assemble(*((printable(text), ROLES.get(role, role)) for text, role in parts))


def title(run: RunRow) -> Content:
    """Which run this is: state, method, task, seed."""
    seen = look(run.state)
    name = [GAP, (run.name, "")] if run.name else []
    return said(
        (f"{seen.sign} ", seen.role),
        (run.method or "?", "strong"),
        GAP,
        (task_name(run.task), "strong"),
        GAP,
        (f"seed {'?' if run.seed is None else run.seed}", ""),
        *name,
        GAP,
        (run.state, seen.role),
        GAP,
        (run.id, "muted"),
    )


def brief(run: RunRow) -> Content:
    """Which run this is and what it has reached, on one line."""
    return title(run) if run.target_accuracy is None else Content("  ").join([title(run), accuracies(run)])


def accuracies(run: RunRow) -> Content:
    """What the run has reached."""
    parts: list[Part] = [("target ", "muted"), (percent(run.target_accuracy), "strong"), (" %", "muted")]
    for name, value in (("source", run.source_accuracy), ("pseudo-labels", run.pseudo_label_accuracy)):
        if value is not None:
            parts += [GAP, (f"{name} ", "muted"), (percent(value), ""), (" %", "muted")]
    return said(*parts)


def reached(run: RunRow) -> list[Content]:
    """The same, a line each."""
    values = {
        "target accuracy": run.target_accuracy,
        "source accuracy": run.source_accuracy,
        "pseudo-labels": run.pseudo_label_accuracy,
    }
    known = [(name, value) for name, value in values.items() if value is not None]
    return [said((f"{name:<17}", "muted"), (percent(value), "strong"), (" %", "muted")) for name, value in known]


def advance(run: RunRow, width: int) -> Content:
    """How far it is, and how long it still takes."""
    share, left = progress(run), run.seconds_left
    counts = f"epoch {run.epoch or 0}/{run.epochs_total or '?'}"
    if run.iterations_total:
        counts += f"  iteration {number(run.iteration or 0)}/{number(run.iterations_total)}"
    if run.state not in LIVE or share is None:
        return said((counts, ""), GAP, (f"took {duration(run.seconds or 0.0)}", "muted"))
    words = f" {share:.0%}" + (f"  {duration(left)} left" if left is not None else "")
    done, rest = bar(share, max(8, min(40, width - len(words) - len(counts) - 4)))
    return said((done, "live"), (rest, "faint"), (words, "strong"), GAP, (counts, "muted"))


def surroundings(run: RunRow, now: float) -> Content:
    """Where and when it ran."""
    where = " on ".join(filter(None, (run.device, run.host)))
    when = datetime.fromtimestamp(run.created).strftime("%Y-%m-%d %H:%M")
    return said(*_between((run.preset or "", ""), (where, ""), (f"{when}, {ago(max(now - run.created, 0))}", "")))


def remarks(run: RunRow) -> list[Content]:
    """What a person wrote, and what went wrong."""
    lines = []
    if run.tags:
        lines.append(said((" ".join(f"#{tag}" for tag in run.tags), "tag")))
    if run.note:
        lines.append(said(("note ", "muted"), (run.note, "")))
    if run.error:
        lines.append(said((run.error, "bad")))
    return lines


def _between(*parts: Part) -> list[Part]:
    """The parts that say something, with dots between them."""
    spoken: list[Part] = []
    for text, role in parts:
        if text:
            spoken += [(" · ", "faint")] if spoken else []
            spoken.append((text, role or "muted"))
    return spoken
