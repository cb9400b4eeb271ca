"""All about one contrast: what may be said of the difference, its pairs, cost, and the settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.content import Content

from clarinet_tui.evidence.comparison_rows import (
    INTERIM,
    format_difference,
    format_excluded,
    format_setting,
    format_unpaired,
)
from clarinet_tui.text import format_duration, format_task, printable
from clarinet_tui.ui.text.styled import Span, styled

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import PairedDifference
    from clarinet_tui.evidence.sides import Side, SideRun
    from clarinet_tui.evidence.statistics import Pair
    from clarinet_tui.ui.text.difference_table import SideLabel

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


def format_difference_detail(
    contrast: PairedDifference, signs: tuple[SideLabel, SideLabel], width: int, selected: str
) -> Content:
    """In two columns where there is room."""
    names = signs[0].name, signs[1].name
    title: list[Span] = [(f" {format_task(contrast.left.task)}  ", "strong")]
    title += [(f"{signs[0].marker} ", signs[0].colour), (names[0], "strong"), (" minus ", "muted")]
    title += [(f"{signs[1].marker} ", signs[1].colour), (names[1], "strong"), (f"   {selected}", "muted")]
    if contrast.is_interim:
        title.append((f"   {INTERIM}" if width >= ROOMY else "   interim", "warn"))
    one = [*_words(contrast), styled(), *_pairs(contrast, names)]
    two = [*_sides(contrast, names), styled(), *_settings(contrast, names)]
    apart = [*_cautions(contrast), *_apart(contrast, names)]
    if width < BESIDE:
        return Content("\n").join([styled(*title), *one, *apart, styled(), *two])
    room = min(width - ASIDE, WIDEST)
    short = [line for line in apart if line.cell_length <= room]
    long = [line for line in apart if line.cell_length > room]
    return Content("\n").join([styled(*title), *_beside([*one, *short], two, room), *long])


def _words(contrast: PairedDifference) -> Lines:
    first, *rest = format_difference(contrast)
    return [styled((f" {first}", "strong")), *(styled((f" {line}", "")) for line in rest)]


def _pairs(contrast: PairedDifference, names: tuple[str, str]) -> Lines:
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
    lines = [styled((f" {'seed':>5}  {heads[0]}  {heads[1]}  {'difference':>10}{'':{2 * BAR + 3}}{last}", "muted"))]
    return lines + [_pair(pair, columns, widest, [found[pair.seed] for found in facts]) for pair in pairs]


def _pair(pair: Pair, columns: list[int], widest: float, facts: list[SideRun]) -> Content:
    role = "good" if pair.difference > 0 else "bad" if pair.difference < 0 else ""
    size = round(abs(pair.difference) / widest * BAR)
    less, more = ("█" * size if pair.difference < 0 else "", "█" * size if pair.difference > 0 else "")
    known = [f"{fact.pseudo_label_accuracy:.2f}" for fact in facts if fact.pseudo_label_accuracy is not None]
    return styled(
        (f" {pair.seed:>5}  ", "muted"),
        (f"{pair.left:>{columns[0]}.2f}  {pair.right:>{columns[1]}.2f}  ", ""),
        (f"{pair.difference:>+10.2f}  ", role or "strong"),
        (f"{less:>{BAR}}", role),
        ("│", "faint"),
        (f"{more:<{BAR}}", role),
        (f"   {' / '.join(known):>13}" if known else "", "muted"),
    )


def _apart(contrast: PairedDifference, names: tuple[str, str]) -> Lines:
    lines = [styled((f" · {line}", "muted")) for line in format_unpaired(contrast, *names)]
    if contrast.paired.pairs and not contrast.refused:
        lines.insert(0, styled((" ✓ ", "good"), ("each pair has the same complementary labels", "muted")))
    return lines + [
        styled((f" · {line}", "muted")) for side in (contrast.left, contrast.right) for line in format_excluded(side)
    ]


def _sides(contrast: PairedDifference, names: tuple[str, str]) -> Lines:
    """Device time of one run, with its stage 1, and of all; accuracies beside the one that is compared."""
    sides = contrast.left, contrast.right
    lines = [styled((f" {'each side':<22}", "muted"), *((f"{name[-14:]:>16}", "muted") for name in names))]
    rows = [
        ("time each, stage 1 too", [_each(side) for side in sides]),
        ("time in all", [format_duration(side.total_seconds) for side in sides]),
    ]
    rows.append(("pseudo-label accuracy", [_mean(side.pseudo_label_accuracy.mean) for side in sides]))
    rows.append(("source accuracy", [_mean(side.source_accuracy.mean) for side in sides]))
    lines += [
        styled((f" {name:<22}", "muted"), (f"{one:>16}{two:>16}", ""))
        for name, (one, two) in rows
        if (one, two) != ("–", "–")
    ]
    if all(side.seconds.mean for side in sides):
        share = (sides[1].seconds.mean or 0.0) / (sides[0].seconds.mean or 1.0)
        lines[1] = Content.assemble(lines[1], styled((f"   ×{share:.2f}", "strong")))
    return lines


def _each(side: Side) -> str:
    if side.seconds.mean is None:
        return "–"
    return ("≥" if side.cost_unknown else "") + format_duration(side.seconds.mean)


def _mean(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _settings(contrast: PairedDifference, names: tuple[str, str]) -> Lines:
    if not contrast.settings:
        return [styled((" no setting differs but the method", "muted"))]
    lines = [styled((f" {'setting that differs':<22}", "muted"), *((f"{name[-14:]:>16}", "muted") for name in names))]
    for name, one, two in contrast.settings:
        values = [format_setting(value)[:15] for value in (one, two)]
        lines.append(styled((f" {name[:22]:<22}", ""), *((f"{value:>16}", "") for value in values)))
    return lines


def _cautions(contrast: PairedDifference) -> Lines:
    return [styled((" ! ", "warn"), (caution, "warn")) for caution in contrast.cautions]


def _beside(one: Lines, two: Lines, room: int) -> Lines:
    """Two columns, the left one as wide as the room it is given."""
    lines = []
    for number in range(max(len(one), len(two))):
        left = one[number] if number < len(one) else Content("")
        right = two[number] if number < len(two) else Content("")
        left = left.truncate(room, ellipsis=True)
        lines.append(Content.assemble(left, " " * max(0, room - cell_len(printable(left.plain)) + 1), right))
    return lines
