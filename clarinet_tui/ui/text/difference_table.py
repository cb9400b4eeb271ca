"""A comparison in numbers: each left side, and below it a line for each side that it is compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content

from clarinet_tui.chart.palette import colour, marker
from clarinet_tui.evidence.difference_text import spread
from clarinet_tui.text import duration, fitted
from clarinet_tui.ui.text.run_summary import Part as Piece
from clarinet_tui.ui.text.run_summary import said
from clarinet_tui.ui.text.side_curves import labels, slots_of
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Contrast
    from clarinet_tui.evidence.sides import Side
    from clarinet_tui.ui.snapshot.comparison import Compared, Part

NAME = 16
HEADS = ("n", "target", "pseudo", "each", "diff.", "95 % interval")
WIDTHS = (4, 12, 7, 6, 7, 16, 9)
"""Columns right of the name, p the last; on 80 columns they just fit."""
MOST_AIR = 5
"""Columns between them at most, where there is room."""


class Sign(NamedTuple):
    """How a side is told from others: its marker in its colour."""

    marker: str
    colour: str
    name: str


def signs_of(part: Part, palette: str) -> dict[int, Sign]:
    """By the identity of the side."""
    slots, names = slots_of(part.sides), labels(part.sides)
    return {
        id(side): Sign(marker(slot), colour(slot, palette), name)
        for side, slot, name in zip(part.sides, slots, names, strict=True)
    }


def table(compared: Compared, chosen: int, palette: str, width: int) -> tuple[Content, int]:
    """Every part with its contrasts, the chosen one marked; and the line on which that one stands."""
    lines: list[Content] = []
    at, number = 0, 0
    air = max(0, min((width - NAME - sum(WIDTHS) - 1) // (len(WIDTHS) + 1), MOST_AIR))
    for part in compared.parts:
        lines.append(_head(part, air))
        signs = signs_of(part, palette)
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


def _head(part: Part, air: int) -> Content:
    task, preset = part.place
    place = f"{task_name(task)} {preset or ''}"
    tests = max((one.comparisons for one in part.contrasts), default=0)
    heads = (*HEADS, f"p/Holm {tests}" if tests else "p")
    cells = [f"{head:>{width + air}}" for head, width in zip(heads, WIDTHS, strict=True)]
    return said((f" {place:<{NAME + air}}"[: NAME + air + 1], "strong"), ("".join(cells), "muted"))


def _row(sign: Sign, side: Side, air: int, contrast: Contrast | None = None, *, here: bool = False) -> Content:
    facts = [
        f"{side.accuracy.n}/{len(side.runs)}",
        spread(side.accuracy).replace("±", " ±"),
        "–" if side.pseudo_label_accuracy.mean is None else f"{side.pseudo_label_accuracy.mean:.1f}",
        "–" if side.seconds.mean is None else ("≥" if side.cost_unknown else "") + duration(side.seconds.mean),
    ]
    pieces: list[Piece] = [(f"{fact:>{width + air}}", "") for fact, width in zip(facts, WIDTHS, strict=False)]
    if contrast is None:
        return said((" ", ""), (f"{sign.marker} ", sign.colour), (fitted(sign.name, NAME + air - 2), "strong"), *pieces)
    numbers = zip(differences(contrast), WIDTHS[len(facts) :], strict=True)
    pieces += [(f"{text:>{width + air}}", role) for (text, role), width in numbers]
    lead: list[Piece] = [("▸" if here else " ", "live"), ("  − ", "muted"), (f"{sign.marker} ", sign.colour)]
    row = said(*lead, (fitted(sign.name, NAME + air - 6), "strong" if here else ""), *pieces)
    return row.stylize("$background 0% on $foreground 9%") if here else row


def differences(contrast: Contrast) -> list[Piece]:
    """Difference, its interval, and p or why there is none, each with its role."""
    found = contrast.paired
    interim = ("interim", "warn") if contrast.interim else None
    if found.difference.mean is None:
        return [("no pairs", "muted"), ("–", "muted"), interim or ("–", "muted")]
    interval = found.interval
    clear = interval is not None and (interval.low > 0 or interval.high < 0)
    role = "" if not clear else "good" if found.difference.mean > 0 else "bad"
    span = f"{interval.low:+.2f} … {interval.high:+.2f}" if interval else "–"
    p = "–" if contrast.p is None else "<0.0001" if contrast.p < 1e-4 else f"{contrast.p:.4f}"
    return [(f"{found.difference.mean:+.2f}", role or "strong"), (span, role), interim or (p, "")]


def verdict(contrast: Contrast, signs: tuple[Sign, Sign]) -> Content:
    """One difference in a line, for screens that have no room for the table."""
    (difference, role), (interval, _), (p, p_role) = differences(contrast)
    left, right = signs
    pieces: list[Piece] = [(" ", ""), (f"{left.marker} ", left.colour), (f"{left.name} − ", "strong")]
    pieces += [(f"{right.marker} ", right.colour), (f"{right.name}  ", "strong"), (f"{difference}  ", role)]
    if interval != "–":
        pieces.append((f"95 % {interval}  ", role if role != "strong" else ""))
    if p != "–":
        pieces.append((p if contrast.interim else f"p {p} (Holm {contrast.comparisons})", p_role))
    return said(*pieces)
