"""A confusion matrix as a heat map: numbers where there is room, shades of one hue, readable without any colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from clarinet_tui.text import format_percent, printable
from clarinet_tui.ui.text.styled import styled

if TYPE_CHECKING:
    from clarinet_tui.ui.snapshot.run_detail import Confusion

BLOCKS = " ░▒▓█"
"""Shades for cells too narrow for a number."""
NUMBERED = 3
"""Cells so wide hold a percentage."""
WIDEST = 6
LONGEST_NAME = 10
MISTAKES = 5
"""How many of the most frequent confusions are listed."""


def format_confusion(confusion: Confusion, width: int) -> Content:
    """The map, if the classes fit, and below it what is confused most often."""
    counts = confusion.counts
    total, right = sum(map(sum, counts)), sum(row[place] for place, row in enumerate(counts) if place < len(row))
    title = f"rows true, columns predicted, in %: {total} target images, epoch {confusion.epoch}, "
    title += f"{format_percent(100 * right / max(total, 1))} % right"
    return Content("\n").join([*_map(confusion, width), styled((title, "muted")), *_mistakes(confusion)])


def _map(confusion: Confusion, width: int) -> list[Content]:
    names = [printable(name)[:LONGEST_NAME] for name in confusion.classes]
    margin = max(map(len, names), default=0) + 2
    size = min(WIDEST, (width - margin) // max(len(names), 1))
    if size < 1:
        return [styled((f"{len(names)} classes are too many to draw here", "muted"))]
    titles = "".join(name[: size - 1].rjust(size) if size > 1 else name[:1] for name in names)
    lines = [styled((" " * margin + titles, "muted"))]
    for name, row in zip(names, confusion.counts, strict=True):
        total = max(sum(row), 1)
        cells = [_cell(count / total, size) for count in row]
        lines.append(Content.assemble(styled((f" {name:>{margin - 2}} ", "muted")), *cells))
    return lines


def _cell(share: float, size: int) -> Content:
    """Of the images of a true class, the share that was taken for this one."""
    if size < NUMBERED:
        return styled((BLOCKS[min(4, round(share * 4 + 0.4 * (share > 0)))] * size, "live"))
    if share < 0.005:
        return styled(("·".rjust(size), "faint"))
    weight = "bold " if share >= 0.5 else ""
    return Content.styled(f"{share * 100:.0f}".rjust(size), f"{weight}auto on $primary {round(12 + 76 * share)}%")


def _mistakes(confusion: Confusion) -> list[Content]:
    found = [
        (count, true, taken)
        for true, row in enumerate(confusion.counts)
        for taken, count in enumerate(row)
        if count and true != taken
    ]
    found.sort(key=lambda mistake: -mistake[0])
    lines = [styled(), styled(("Most often confused", "strong"))] if found else []
    for count, true, taken in found[:MISTAKES]:
        names, total = confusion.classes, sum(confusion.counts[true])
        lines.append(
            styled(
                (f"{names[true]} taken for {names[taken]}", ""),
                (f"  {count} of {total}, {100 * count / total:.0f} %", "muted"),
            )
        )
    return lines
