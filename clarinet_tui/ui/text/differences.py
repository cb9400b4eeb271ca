"""A comparison as text: a table with the differences from each left side, and the detail of one difference."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len
from textual.content import Content

from clarinet_tui.analysis.comparison_table import (
    INTERIM,
    NOT_AVAILABLE,
    format_correction,
    format_difference,
    format_excluded,
    format_unpaired,
    side_row,
)
from clarinet_tui.analysis.figures.figure import colour_indices
from clarinet_tui.analysis.statistics import Summary
from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.text import (
    fit_name,
    fit_width,
    format_count,
    format_mean,
    format_setting,
    format_task,
    printable,
    shorten,
)
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import PairedDifference, Side
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison

NAME = 23
WIDTHS = (4, 12, 6, 7, 16, 9)
"""Widths of the columns right of the name; together they fill 80 columns."""
RANK_WIDTH = 9
"""Width of the last column, the p-value of the rank test, where there is room."""


class SideLabel(NamedTuple):
    """A side's marker, its colour and the side's name."""

    marker: str
    colour: str
    name: str


def side_colours(sides: Sequence[Side]) -> list[int]:
    """The colour index of each side."""
    indices = colour_indices((side.method, side.title) for side in sides)
    return [indices[side.title] for side in sides]


def label_sides(comparison: TaskComparison, palette: str) -> dict[int, SideLabel]:
    """The label of each side, by the side's identity."""
    sides = comparison.sides
    return {
        id(side): SideLabel(marker(index), colour(index, palette), side.title)
        for side, index in zip(sides, side_colours(sides), strict=True)
    }


def format_difference_table(snapshot: ComparisonSnapshot, cursor: int, palette: str, width: int) -> tuple[Content, int]:
    """Format all differences, the one at the cursor highlighted; also return that one's line number."""
    lines: list[Content] = []
    cursor_line, index = 0, 0
    has_room = width - NAME - sum(WIDTHS) - 1 >= RANK_WIDTH
    widths = (*WIDTHS, RANK_WIDTH) if has_room else WIDTHS
    gap = max(0, min((width - NAME - sum(widths) - 1) // (len(widths) + 1), 5))
    for part in snapshot.parts:
        lines.append(_format_part_headings(part, widths, gap))
        labels = label_sides(part, palette)
        for left in part.lefts:
            lines.append(_format_side(labels[id(left)], left, gap))
            for difference in (difference for difference in part.differences if difference.left is left):
                if index == cursor:
                    cursor_line = len(lines)
                lines.append(_format_difference(labels[id(difference.right)], difference, widths, gap, index == cursor))
                index += 1
        if not part.differences:
            lines += [_format_side(labels[id(side)], side, gap) for side in part.rights]
    if snapshot.comparison and (correction := format_correction(snapshot.comparison)):
        lines.append(styled((f" {correction}", "muted")))
    return Content("\n").join(lines), cursor_line


def _format_part_headings(part: TaskComparison, widths: Sequence[int], gap: int) -> Content:
    task, preset = part.task_preset
    title = f"{format_task(task)} {preset or ''}"
    headings = ("n", "target", "each", "diff.", "95 % interval", "p (t)", "p (rank)")
    cells = [f"{heading:>{width + gap}}" for heading, width in zip(headings, widths, strict=False)]
    return styled((f" {title:<{NAME + gap}}"[: NAME + gap + 1], "strong"), ("".join(cells), "muted"))


def _side_spans(side: Side, gap: int, accuracy: Summary | None = None) -> list[Span]:
    row = side_row(side, " ±", accuracy)
    values = (row["seeds"], row["target %"], row["time each"])
    return [(f"{value:>{width + gap}}", "") for value, width in zip(values, WIDTHS, strict=False)]


def _format_side(label: SideLabel, side: Side, gap: int) -> Content:
    name = fit_name(label.name, NAME + gap - 2)
    return styled((" ", ""), (f"{label.marker} ", label.colour), (name, "strong"), *_side_spans(side, gap))


def _format_difference(
    label: SideLabel, difference: PairedDifference, widths: Sequence[int], gap: int, is_at_cursor: bool
) -> Content:
    spans: list[Span] = [("▸" if is_at_cursor else " ", "live"), ("  − ", "muted"), (f"{label.marker} ", label.colour)]
    spans.append((fit_name(label.name, NAME + gap - 6), "strong" if is_at_cursor else ""))
    spans += _side_spans(difference.right, gap, difference.paired.right if difference.paired.pairs else None)
    numbers = [_mean_span(difference), _interval_span(difference)]
    numbers += [_p_span(difference, p) for p in (difference.p, difference.rank_p)]
    spans += [(f"{text:>{width + gap}}", role) for (text, role), width in zip(numbers, widths[3:], strict=False)]
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


def _p_span(difference: PairedDifference, p: float | None) -> Span:
    if difference.is_interim:
        return "interim", "warn"
    if p is None:
        return "–", "muted"
    return ("<0.0001" if p < 1e-4 else f"{p:.4f}"), ""


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
        spans.append(_p_span(difference, difference.p))
    elif difference.p is not None:
        values = [_p_span(difference, p)[0] for p in (difference.p, difference.rank_p)]
        spans.append((f"p {values[0]}, rank {values[1]} (Holm over {difference.comparisons})", ""))
    return styled(*spans)


BAR = 8
"""Length of the largest difference's bar, to each side of zero."""


def format_difference_detail(
    difference: PairedDifference, labels: tuple[SideLabel, SideLabel], width: int, rule: str, all_settings: bool
) -> Content:
    """Format everything about a difference, in two columns where there is room."""
    names = labels[0].name, labels[1].name
    title: list[Span] = [(f" {format_task(difference.left.task)}  ", "strong")]
    title += [(f"{labels[0].marker} ", labels[0].colour), (names[0], "strong"), (" minus ", "muted")]
    title += [(f"{labels[1].marker} ", labels[1].colour), (names[1], "strong"), (f"   {rule}", "muted")]
    if difference.is_interim:
        title.append((f"   {INTERIM}" if width >= 100 else "   interim", "warn"))
    result, *rest = format_difference(difference)
    statistics = [styled((f" {result}", "strong")), *(styled((f" {line}", "")) for line in rest), styled()]
    statistics += _format_pairs(difference, names)
    sides = [*_format_sides(difference, names), styled(), *_format_settings(difference, names, all_settings)]
    remarks = [styled((f" ! {caution}", "warn")) for caution in difference.cautions]
    if difference.paired.pairs and not difference.refused:
        remarks.append(styled((" ✓ ", "good"), ("each pair has the same complementary labels", "muted")))
    not_counted = [*format_unpaired(difference, *names), *format_excluded(difference.left)]
    not_counted += format_excluded(difference.right)
    remarks += [styled((f" · {sentence}", "muted")) for sentence in not_counted]
    if width < 140:
        return Content("\n").join([styled(*title), *statistics, *remarks, styled(), *sides])
    left_width = min(width - 64, 90)
    statistics += [line for line in remarks if line.cell_length <= left_width]
    long = [line for line in remarks if line.cell_length > left_width]
    lines = [styled(*title)]
    for left, right in zip_longest(statistics, sides, fillvalue=Content("")):
        cut = left.truncate(left_width, ellipsis=True)
        lines.append(Content.assemble(cut, " " * max(0, left_width - cell_len(printable(cut.plain)) + 1), right))
    return Content("\n").join([*lines, *long])


def _format_pairs(difference: PairedDifference, names: tuple[str, str]) -> list[Content]:
    """A line for each seed: both accuracies, the difference with a bar, both pseudo-label accuracies."""
    pairs = difference.paired.pairs
    if not pairs:
        return []
    runs = [{run.seed: run for run in side.runs} for side in (difference.left, difference.right)]
    largest = max(abs(pair.difference) for pair in pairs) or 1.0
    widths = [max(8, min(14, len(name))) for name in names]
    headings = [f"{name[-width:]:>{width}}" for name, width in zip(names, widths, strict=True)]
    has_pseudo_labels = any(seeds[pair.seed].pseudo_label_accuracy is not None for pair in pairs for seeds in runs)
    last = "   pseudo-labels" if has_pseudo_labels else ""
    heading = f" {'seed':>5}  {headings[0]}  {headings[1]}  {'difference':>10}{'':{2 * BAR + 3}}{last}"
    lines = [styled((heading, "muted"))]
    for pair in pairs:
        role = "good" if pair.difference > 0 else "bad" if pair.difference < 0 else ""
        bar = "█" * round(abs(pair.difference) / largest * BAR)
        accuracies = (seeds[pair.seed].pseudo_label_accuracy for seeds in runs)
        pseudo_labels = [f"{accuracy:.2f}" for accuracy in accuracies if accuracy is not None]
        line = styled(
            (f" {pair.seed:>5}  ", "muted"),
            (f"{pair.left:>{widths[0]}.2f}  {pair.right:>{widths[1]}.2f}  ", ""),
            (f"{pair.difference:>+10.2f}  ", role or "strong"),
            (f"{bar if pair.difference < 0 else '':>{BAR}}", role),
            ("│", "faint"),
            (f"{bar if pair.difference > 0 else '':<{BAR}}", role),
            (f"   {' / '.join(pseudo_labels):>13}" if pseudo_labels else "", "muted"),
        )
        lines.append(line)
    return lines


def _format_headings(title: str, names: tuple[str, str]) -> Content:
    return styled((f" {title:<22}", "muted"), *((f"{name[-14:]:>16}", "muted") for name in names))


def _format_sides(difference: PairedDifference, names: tuple[str, str]) -> list[Content]:
    """Device time of one run, including its stage 1, and of all runs; accuracies that are not compared."""
    left, right = difference.left, difference.right
    left_row, right_row = side_row(left), side_row(right)
    lines = [_format_headings("each side", names)]
    if left.seconds.mean is not None or right.seconds.mean is not None:
        lines.append(_format_row("time each with stage 1", left_row["time each"], right_row["time each"]))
    if left.seconds.mean and right.seconds.mean:
        lines[-1] += styled((f"   ×{right.seconds.mean / left.seconds.mean:.2f}", "strong"))
    lines.append(_format_row("time of all runs", left_row["total"], right_row["total"]))
    accuracies = {
        "pseudo-label accuracy": (left.pseudo_label_accuracy.mean, right.pseudo_label_accuracy.mean),
        "source accuracy": (left.source_accuracy.mean, right.source_accuracy.mean),
    }
    for name, means in accuracies.items():
        if means != (None, None):
            lines.append(_format_row(name, *map(format_mean, means)))
    return lines


def _format_row(name: str, left: str, right: str) -> Content:
    return styled((f" {name:<22}", "muted"), (f"{left:>16}{right:>16}", ""))


def _format_settings(difference: PairedDifference, names: tuple[str, str], all_settings: bool) -> list[Content]:
    """List settings that both sides have with other values; those that one side alone has are counted."""
    rows = [(name, format_setting(left), format_setting(right)) for name, left, right in difference.settings]
    if not rows:
        return [styled((" no setting differs except the method", "muted"))]
    listed = rows if all_settings else [row for row in rows if NOT_AVAILABLE not in row]
    lines = [f" {fit_width(name, 22)}{shorten(left, 15):>16}{shorten(right, 15):>16}" for name, left, right in listed]
    shown = [_format_headings("setting that differs", names), *(styled((line, "")) for line in lines)]
    if len(listed) == len(rows):
        return shown
    counts = [sum(row[1 + side] == NOT_AVAILABLE for row in rows) for side in (1, 0)]
    alone = ", ".join(
        f"{format_count(count, 'setting')} only of {name}" for count, name in zip(counts, names, strict=True) if count
    )
    collapsed = styled((f" {alone}", ""), ("   d lists them", "muted"))
    return [*(shown if lines else []), collapsed]
