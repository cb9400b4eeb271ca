"""All about one contrast: what may be said of the difference, its pairs, cost, and the settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from clarinet_tui.evidence.difference_text import (
    INTERIM,
    differences_in_words,
    left_out_in_words,
    unpaired_in_words,
    value_of,
)
from clarinet_tui.text import duration, printable
from clarinet_tui.ui.text.run_summary import Part as Piece
from clarinet_tui.ui.text.run_summary import said
from clarinet_tui.ui.text.task_name import task_name

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Contrast
    from clarinet_tui.evidence.sides import RunFact, Side
    from clarinet_tui.evidence.statistics import Pair
    from clarinet_tui.ui.text.difference_table import Sign

BAR = 8
"""Cells of the longest difference to each side of zero."""
BESIDE = 140
"""Columns from which on settings stand beside the pairs."""
ROOMY = 100
"""Columns from which on the title is a whole sentence."""
ASIDE = 64
"""Columns of what stands there."""
WIDEST = 90
"""Columns of the pairs and sentences at most."""
Lines = list[Content]


def detail(contrast: Contrast, signs: tuple[Sign, Sign], width: int, selected: str) -> Content:
    """In two columns where there is room."""
    names = signs[0].name, signs[1].name
    title: list[Piece] = [(f" {task_name(contrast.left.task)}  ", "strong")]
    title += [(f"{signs[0].marker} ", signs[0].colour), (names[0], "strong"), (" minus ", "muted")]
    title += [(f"{signs[1].marker} ", signs[1].colour), (names[1], "strong"), (f"   {selected}", "muted")]
    if contrast.interim:
        title.append((f"   {INTERIM}" if width >= ROOMY else "   interim", "warn"))
    one = [*_words(contrast), said(), *_pairs(contrast, names)]
    two = [*_sides(contrast, names), said(), *_settings(contrast, names)]
    apart = [*_cautions(contrast), *_apart(contrast, names)]
    if width < BESIDE:
        return Content("\n").join([said(*title), *one, *apart, said(), *two])
    room = min(width - ASIDE, WIDEST)
    short = [line for line in apart if line.cell_length <= room]
    long = [line for line in apart if line.cell_length > room]
    return Content("\n").join([said(*title), *_beside([*one, *short], two, room), *long])


def _words(contrast: Contrast) -> Lines:
    first, *rest = differences_in_words(contrast)
    return [said((f" {first}", "strong")), *(said((f" {line}", "")) for line in rest)]


def _pairs(contrast: Contrast, names: tuple[str, str]) -> Lines:
    """A line a seed: both accuracies, the difference with a bar, and how good the pseudo-labels were."""
    pairs = contrast.paired.pairs
    if not pairs:
        return []
    facts = [{fact.seed: fact for fact in side.runs} for side in (contrast.left, contrast.right)]
    widest = max(abs(pair.difference) for pair in pairs) or 1.0
    columns = [max(8, min(14, len(name))) for name in names]
    heads = [f"{name[-size:]:>{size}}" for name, size in zip(names, columns, strict=True)]
    pseudo = any(found[pair.seed].pseudo_label_accuracy is not None for pair in pairs for found in facts)
    last = "   pseudo-labels" if pseudo else ""
    lines = [said((f" {'seed':>5}  {heads[0]}  {heads[1]}  {'difference':>10}{'':{2 * BAR + 3}}{last}", "muted"))]
    return lines + [_pair(pair, columns, widest, [found[pair.seed] for found in facts]) for pair in pairs]


def _pair(pair: Pair, columns: list[int], widest: float, facts: list[RunFact]) -> Content:
    role = "good" if pair.difference > 0 else "bad" if pair.difference < 0 else ""
    size = round(abs(pair.difference) / widest * BAR)
    less, more = ("█" * size if pair.difference < 0 else "", "█" * size if pair.difference > 0 else "")
    known = [f"{fact.pseudo_label_accuracy:.2f}" for fact in facts if fact.pseudo_label_accuracy is not None]
    return said(
        (f" {pair.seed:>5}  ", "muted"),
        (f"{pair.left:>{columns[0]}.2f}  {pair.right:>{columns[1]}.2f}  ", ""),
        (f"{pair.difference:>+10.2f}  ", role or "strong"),
        (f"{less:>{BAR}}", role),
        ("│", "faint"),
        (f"{more:<{BAR}}", role),
        (f"   {' / '.join(known):>13}" if known else "", "muted"),
    )


def _apart(contrast: Contrast, names: tuple[str, str]) -> Lines:
    lines = [said((f" · {line}", "muted")) for line in unpaired_in_words(contrast, *names)]
    if contrast.paired.pairs and not contrast.refused:
        lines.insert(0, said((" ✓ ", "good"), ("each pair has the same complementary labels", "muted")))
    return lines + [
        said((f" · {line}", "muted")) for side in (contrast.left, contrast.right) for line in left_out_in_words(side)
    ]


def _sides(contrast: Contrast, names: tuple[str, str]) -> Lines:
    """Device time of one run, with its stage 1, and of all; accuracies beside the one that is compared."""
    sides = contrast.left, contrast.right
    lines = [said((f" {'each side':<22}", "muted"), *((f"{name[-14:]:>16}", "muted") for name in names))]
    rows = [
        ("time each, stage 1 too", [_each(side) for side in sides]),
        ("time in all", [duration(side.total_seconds) for side in sides]),
    ]
    rows.append(("pseudo-label accuracy", [_mean(side.pseudo_label_accuracy.mean) for side in sides]))
    rows.append(("source accuracy", [_mean(side.source_accuracy.mean) for side in sides]))
    lines += [
        said((f" {name:<22}", "muted"), (f"{one:>16}{two:>16}", ""))
        for name, (one, two) in rows
        if (one, two) != ("–", "–")
    ]
    if all(side.seconds.mean for side in sides):
        share = (sides[1].seconds.mean or 0.0) / (sides[0].seconds.mean or 1.0)
        lines[1] = Content.assemble(lines[1], said((f"   ×{share:.2f}", "strong")))
    return lines


def _each(side: Side) -> str:
    if side.seconds.mean is None:
        return "–"
    return ("≥" if side.cost_unknown else "") + duration(side.seconds.mean)


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _settings(contrast: Contrast, names: tuple[str, str]) -> Lines:
    if not contrast.settings:
        return [said((" no setting differs but the method", "muted"))]
    lines = [said((f" {'setting that differs':<22}", "muted"), *((f"{name[-14:]:>16}", "muted") for name in names))]
    for name, one, two in contrast.settings:
        values = [value_of(value)[:15] for value in (one, two)]
        lines.append(said((f" {name[:22]:<22}", ""), *((f"{value:>16}", "") for value in values)))
    return lines


def _cautions(contrast: Contrast) -> Lines:
    return [said((" ! ", "warn"), (caution, "warn")) for caution in contrast.cautions]


def _beside(one: Lines, two: Lines, room: int) -> Lines:
    """Two columns, the left one as wide as the room it is given."""
    lines = []
    for number in range(max(len(one), len(two))):
        left = one[number] if number < len(one) else Content("")
        right = two[number] if number < len(two) else Content("")
        left = left.truncate(room, ellipsis=True)
        lines.append(Content.assemble(left, " " * max(0, room - cell_len(printable(left.plain)) + 1), right))
    return lines
