"""A comparison in numbers: each left side, and below it a line for each side that it is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.evidence.comparison_rows import format_mean_std
from clarinet_tui.text import fit_width, format_duration, format_task
from clarinet_tui.ui.text.side_curves import side_colours, side_names
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import PairedDifference
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.ui.snapshot.comparison import ComparisonSnapshot, TaskComparison

NAME = 16
HEADS = ("n", "target", "pseudo", "each", "diff.", "95 % interval")
WIDTHS = (4, 12, 7, 6, 7, 16, 9)
"""Columns right of the name, p the last; on 80 columns they just fit."""
MOST_AIR = 5
"""Columns between them at most, where there is room."""


class SideLabel(NamedTuple):
    """How a side is told from others: its marker in its colour."""

    marker: str
    colour: str
    name: str


def side_labels(part: TaskComparison, palette: str) -> dict[int, SideLabel]:
    """By the identity of the side."""
    slots, names = side_colours(part.sides), side_names(part.sides)
    return {
        id(side): SideLabel(marker(slot), colour(slot, palette), name)
        for side, slot, name in zip(part.sides, slots, names, strict=True)
    }


def format_difference_table(compared: ComparisonSnapshot, chosen: int, palette: str, width: int) -> tuple[Content, int]:
    """Every part with its contrasts, the chosen one marked; and the line on which that one stands."""
    lines: list[Content] = []
    at, number = 0, 0
    air = max(0, min((width - NAME - sum(WIDTHS) - 1) // (len(WIDTHS) + 1), MOST_AIR))
    for part in compared.parts:
        lines.append(_head(part, air))
        signs = side_labels(part, palette)
        for left in part.lefts:
            lines.append(_row(signs[id(left)], left, air))
            for contrast in (one for one in part.contrasts if one.left is left):
                if number == chosen:
                    at = len(lines)
                lines.append(_row(signs[id(contrast.right)], contrast.right, air, contrast, here=number == chosen))
                number += 1
        if not part.contrasts:
            lines += [_row(signs[id(side)], side, air) for side in part.rights]
    return Content("\n").join(lines), at


def _head(part: TaskComparison, air: int) -> Content:
    task, preset = part.place
    place = f"{format_task(task)} {preset or ''}"
    tests = max((one.comparisons for one in part.contrasts), default=0)
    heads = (*HEADS, f"p/Holm {tests}" if tests else "p")
    cells = [f"{head:>{width + air}}" for head, width in zip(heads, WIDTHS, strict=True)]
    return styled((f" {place:<{NAME + air}}"[: NAME + air + 1], "strong"), ("".join(cells), "muted"))


def _row(
    sign: SideLabel, side: Side, air: int, contrast: PairedDifference | None = None, *, here: bool = False
) -> Content:
    facts = [
        f"{side.accuracy.n}/{len(side.runs)}",
        format_mean_std(side.accuracy).replace("±", " ±"),
        "–" if side.pseudo_label_accuracy.mean is None else f"{side.pseudo_label_accuracy.mean:.1f}",
        "–" if side.seconds.mean is None else ("≥" if side.cost_unknown else "") + format_duration(side.seconds.mean),
    ]
    pieces: list[Span] = [(f"{fact:>{width + air}}", "") for fact, width in zip(facts, WIDTHS, strict=False)]
    if contrast is None:
        return styled(
            (" ", ""), (f"{sign.marker} ", sign.colour), (fit_width(sign.name, NAME + air - 2), "strong"), *pieces
        )
    numbers = zip(difference_spans(contrast), WIDTHS[len(facts) :], strict=True)
    pieces += [(f"{text:>{width + air}}", role) for (text, role), width in numbers]
    lead: list[Span] = [("▸" if here else " ", "live"), ("  − ", "muted"), (f"{sign.marker} ", sign.colour)]
    row = styled(*lead, (fit_width(sign.name, NAME + air - 6), "strong" if here else ""), *pieces)
    return row.stylize("$background 0% on $foreground 9%") if here else row


def difference_spans(contrast: PairedDifference) -> list[Span]:
    """Difference, its interval, and p or why there is none, each with its role."""
    found = contrast.paired
    interim = ("interim", "warn") if contrast.is_interim else None
    if found.difference.mean is None:
        return [("no pairs", "muted"), ("–", "muted"), interim or ("–", "muted")]
    interval = found.interval
    clear = interval is not None and (interval.low > 0 or interval.high < 0)
    role = "" if not clear else "good" if found.difference.mean > 0 else "bad"
    span = f"{interval.low:+.2f} … {interval.high:+.2f}" if interval else "–"
    p = "–" if contrast.p is None else "<0.0001" if contrast.p < 1e-4 else f"{contrast.p:.4f}"
    return [(f"{found.difference.mean:+.2f}", role or "strong"), (span, role), interim or (p, "")]


def format_difference_line(contrast: PairedDifference, signs: tuple[SideLabel, SideLabel]) -> Content:
    """One difference in a line, for screens that have no room for the table."""
    (difference, role), (interval, _), (p, p_role) = difference_spans(contrast)
    left, right = signs
    pieces: list[Span] = [(" ", ""), (f"{left.marker} ", left.colour), (f"{left.name} − ", "strong")]
    pieces += [(f"{right.marker} ", right.colour), (f"{right.name}  ", "strong"), (f"{difference}  ", role)]
    if interval != "–":
        pieces.append((f"95 % {interval}  ", role if role != "strong" else ""))
    if p != "–":
        pieces.append((p if contrast.is_interim else f"p {p} (Holm {contrast.comparisons})", p_role))
    return styled(*pieces)
