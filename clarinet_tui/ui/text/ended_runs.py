"""The runs that ended last, as lines: how they ended, their result, and what they used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import (
    format_age_of,
    format_bytes,
    format_duration,
    format_energy,
    format_percent,
    format_seed,
    format_task,
)
from clarinet_tui.ui.text.queue import column_widths
from clarinet_tui.ui.text.styled import STATE_STYLES, Span, fit_cell, styled

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow


def format_ended_runs(runs: Sequence[RunRow], now: float, width: int) -> Content:
    """Format these runs below each other, in the columns of the queue."""
    lines = [styled((" Last ended", "strong")), *(_format_run(run, now, width) for run in runs)]
    return Content("\n").join(lines) if runs else styled()


def _format_run(run: RunRow, now: float, width: int) -> Content:
    style = STATE_STYLES[run.state]
    spans: list[Span] = [
        ("", ""),
        (style.glyph, style.role),
        (run.id, "muted"),
        (run.method or "?", ""),
        (format_task(run.task), ""),
        (format_seed(run.seed).rjust(4), ""),
        (run.device or "", "muted"),
    ]
    cells = [fit_cell(styled(span), size) for span, size in zip(spans, column_widths(width), strict=True)]
    age = f"{format_age_of(run.ended or 0.0, now):<8}"
    accuracy = (f"{format_percent(run.target_accuracy):>5}", "strong")
    start = Content(" ").join([Content(""), *cells, styled(accuracy, (f"  {age}  ", "muted"))])
    use = format_use(run)
    use = use if start.cell_length + len(use) <= width else use.partition(",")[0]
    return (start + styled((use, "muted"))).truncate(width, ellipsis=True)


def format_use(run: RunRow) -> str:
    """Format the time of a run, and the use, memory and energy of its GPU, or the memory of its processes."""
    parts = ["" if not run.seconds else format_duration(run.seconds)]
    parts.append("" if run.gpu_use is None else f"GPU {run.gpu_use:.0f} %")
    memory = run.gpu_memory if run.gpu_memory is not None else run.memory
    parts.append("" if memory is None else format_bytes(memory))
    parts.append("" if run.energy is None else format_energy(run.energy))
    return ", ".join(filter(None, parts))
