"""A comparison as a table: each left side, and below it each right side with the difference from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from clarinet_tui.analysis.comparison_table import side_labels, side_row
from clarinet_tui.analysis.figures.figure import colour_indices
from clarinet_tui.analysis.statistics import Summary
from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.text import fit_width, format_task
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import PairedDifference, Side
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison

NAME = 23
HEADINGS = ("n", "target", "each", "diff.", "95 % interval")
WIDTHS = (4, 12, 6, 7, 16, 9)
"""Widths of the columns right of the name, the last one for p; together they fill 80 columns."""
MAX_GAP = 5
"""Largest extra gap between columns."""


class SideLabel(NamedTuple):
    """A side's marker, its colour and the side's name."""

    marker: str
    colour: str
    name: str


def side_colours(sides: Sequence[Side]) -> list[int]:
    """The colour index of each side: its method's, and a free one for further sides of the same method."""
    indices = colour_indices(side.method for side in sides)
    free = (index for index in count() if index not in indices.values())
    firsts = {side.method: position for position, side in reversed(list(enumerate(sides)))}
    return [
        indices[side.method] if firsts[side.method] == position else next(free) for position, side in enumerate(sides)
    ]


def label_sides(comparison: TaskComparison, palette: str) -> dict[int, SideLabel]:
    """The label of each side, by the side's identity."""
    sides = comparison.sides
    return {
        id(side): SideLabel(marker(index), colour(index, palette), name)
        for side, index, name in zip(sides, side_colours(sides), side_labels(sides), strict=True)
    }


def format_difference_table(snapshot: ComparisonSnapshot, cursor: int, palette: str, width: int) -> tuple[Content, int]:
    """Format all differences, the one at the cursor highlighted; also return that one's line number."""
    lines: list[Content] = []
    cursor_line, index = 0, 0
    gap = max(0, min((width - NAME - sum(WIDTHS) - 1) // (len(WIDTHS) + 1), MAX_GAP))
    for part in snapshot.parts:
        lines.append(_format_headings(part, gap))
        labels = label_sides(part, palette)
        for left in part.lefts:
            lines.append(_format_side(labels[id(left)], left, gap))
            for difference in (difference for difference in part.differences if difference.left is left):
                if index == cursor:
                    cursor_line = len(lines)
                lines.append(_format_difference(labels[id(difference.right)], difference, gap, index == cursor))
                index += 1
        if not part.differences:
            lines += [_format_side(labels[id(side)], side, gap) for side in part.rights]
    return Content("\n").join(lines), cursor_line


def _format_headings(part: TaskComparison, gap: int) -> Content:
    task, preset = part.task_preset
    title = f"{format_task(task)} {preset or ''}"
    tests = max((difference.comparisons for difference in part.differences), default=0)
    headings = (*HEADINGS, f"p/Holm {tests}" if tests else "p")
    cells = [f"{heading:>{width + gap}}" for heading, width in zip(headings, WIDTHS, strict=True)]
    return styled((f" {title:<{NAME + gap}}"[: NAME + gap + 1], "strong"), ("".join(cells), "muted"))


def _side_spans(side: Side, gap: int, accuracy: Summary | None = None) -> list[Span]:
    row = side_row(side, " ±", accuracy)
    values = (row.seeds, row.target, row.time_each)
    return [(f"{value:>{width + gap}}", "") for value, width in zip(values, WIDTHS, strict=False)]


def _format_side(label: SideLabel, side: Side, gap: int) -> Content:
    name = fit_width(label.name, NAME + gap - 2)
    return styled((" ", ""), (f"{label.marker} ", label.colour), (name, "strong"), *_side_spans(side, gap))


def _format_difference(label: SideLabel, difference: PairedDifference, gap: int, is_at_cursor: bool) -> Content:
    spans: list[Span] = [("▸" if is_at_cursor else " ", "live"), ("  − ", "muted"), (f"{label.marker} ", label.colour)]
    spans.append((fit_width(label.name, NAME + gap - 6), "strong" if is_at_cursor else ""))
    spans += _side_spans(difference.right, gap, difference.paired.right if difference.paired.pairs else None)
    numbers = (_mean_span(difference), _interval_span(difference), _p_span(difference))
    spans += [(f"{text:>{width + gap}}", role) for (text, role), width in zip(numbers, WIDTHS[3:], strict=True)]
    row = styled(*spans)
    return row.stylize("$background 0% on $foreground 9%") if is_at_cursor else row


def _significance_role(difference: PairedDifference) -> str:
    """Good or bad if the interval excludes zero."""
    interval = difference.paired.interval
    if interval is None or interval.low <= 0 <= interval.high:
        return ""
    return "good" if interval.low > 0 else "bad"


def _mean_span(difference: PairedDifference) -> Span:
    mean = difference.paired.difference.mean
    return ("no pairs", "muted") if mean is None else (f"{mean:+.2f}", _significance_role(difference) or "strong")


def _interval_span(difference: PairedDifference) -> Span:
    interval = difference.paired.interval
    if interval is None:
        return "–", "muted"
    return f"{interval.low:+.2f} … {interval.high:+.2f}", _significance_role(difference)


def _p_span(difference: PairedDifference) -> Span:
    if difference.is_interim:
        return "interim", "warn"
    if difference.p is None:
        return "–", "muted"
    return ("<0.0001" if difference.p < 1e-4 else f"{difference.p:.4f}"), ""


def format_difference_line(difference: PairedDifference, labels: tuple[SideLabel, SideLabel]) -> Content:
    """Format one difference in a line, for screens without room for the table."""
    left, right = labels
    mean, role = _mean_span(difference)
    spans: list[Span] = [(" ", ""), (f"{left.marker} ", left.colour), (f"{left.name} − ", "strong")]
    spans += [(f"{right.marker} ", right.colour), (f"{right.name}  ", "strong"), (f"{mean}  ", role)]
    if difference.paired.interval:
        interval, role = _interval_span(difference)
        spans.append((f"95 % {interval}  ", role))
    if difference.is_interim:
        spans.append(_p_span(difference))
    elif difference.p is not None:
        spans.append((f"p {_p_span(difference)[0]} (Holm {difference.comparisons})", ""))
    return styled(*spans)
