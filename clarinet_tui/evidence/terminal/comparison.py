"""A comparison for a terminal of 80 columns and more, and for other programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.evidence.board_rows import short_name
from clarinet_tui.evidence.comparison import Comparison, Contrast
from clarinet_tui.evidence.difference_text import (
    INTERIM,
    differences_in_words,
    left_out_in_words,
    names_of,
    spread,
    unpaired_in_words,
    value_of,
)
from clarinet_tui.evidence.selections import HEADINGS, MEANINGS, ORDER, texts
from clarinet_tui.evidence.sides import Side
from clarinet_tui.text import duration, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clarinet_tui.history.queries import RunRow


MOST_SETTINGS = 24


def comparison_view(comparison: Comparison, *, named: bool = False) -> "RenderableType":
    """The runs where they were named one by one, the sides of each task, then each contrast."""
    from rich.console import Group
    from rich.text import Text

    shown: list[RenderableType] = [_runs(comparison.runs), Text()] if named else []
    several = not named or any(len(side.runs) > 1 or side.runs[0].shared for side in comparison.sides)
    if several:
        shown += _tasks(comparison)
    shown.append(Text(printable(f"Reported: {comparison.selected}"), style="dim"))
    if several and any(side.selections for side in comparison.sides):
        shown.append(Text(f"In brackets: points below the oracle's. {'; '.join(MEANINGS)}.", style="dim"))
    for contrast in comparison.contrasts:
        shown += [Text(), *_contrast(contrast)]
    if comparison.alone:
        shown += [Text(), Text(printable(f"Nothing to compare with: {', '.join(comparison.alone)}"), style="dim")]
    return Group(*shown)


def _tasks(comparison: Comparison) -> "Iterator[RenderableType]":
    """Those that are compared; all, if none is."""
    from rich.text import Text

    compared = {contrast.left.task for contrast in comparison.contrasts}
    for task in dict.fromkeys(side.task for side in comparison.sides):
        sides = [side for side in comparison.sides if side.task == task]
        if task in compared or not compared:
            yield Text(printable(short_name(task)), style="bold")
            yield _sides(sides)
            yield from _selections(sides)
            yield from (Text(f"· {printable(line)}", style="dim") for side in sides for line in left_out_in_words(side))
            yield Text()


def _runs(rows: "Sequence[RunRow]") -> "Table":
    """Each run on a line."""
    from rich.text import Text

    table = _table("id", "state", "method", "task", "seed", "target", "source", "pseudo", "time")
    for row in rows:
        accuracies = (row.target_accuracy, row.source_accuracy, row.pseudo_label_accuracy)
        cells = [
            row.id,
            row.state,
            row.method or "?",
            short_name(row.task or "?"),
            "?" if row.seed is None else str(row.seed),
            *("–" if value is None else f"{value:.2f}" for value in accuracies),
            "–" if row.seconds is None else duration(row.seconds),
        ]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _sides(sides: Sequence[Side]) -> "Table":
    """A line a side, so that any number of them fits."""
    from rich.text import Text

    table = _table("method", "preset", "seeds", "target", "source", "pseudo", "time each", "in all")
    for side in sides:
        cells = [
            side.title,
            side.preset or "?",
            f"{side.accuracy.n}/{len(side.runs)}",
            spread(side.accuracy),
            spread(side.source_accuracy),
            spread(side.pseudo_label_accuracy),
            "–" if side.seconds.mean is None else ("≥" if side.cost_unknown else "") + duration(side.seconds.mean),
            duration(side.total_seconds),
        ]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table


def _selections(sides: Sequence[Side]) -> "Iterator[RenderableType]":
    """What every rule reports of the same runs, and how far it is from the oracle's."""
    from rich.text import Text

    rows = [(side.title, *texts(side.selections, 2, None)) for side in sides if side.selections]
    if rows:
        table = _table("selected by", *(HEADINGS[rule] for rule in ORDER))
        for cells in rows:
            table.add_row(*(Text(printable(cell)) for cell in cells))
        yield table


def _contrast(contrast: Contrast) -> "Iterator[RenderableType]":
    from rich.text import Text

    left, right = names_of(contrast)
    heading = f"{short_name(contrast.left.task)}: {left} minus {right}"
    yield Text(printable(heading + (f" ({INTERIM})" if contrast.interim else "")), style="bold")
    for line in differences_in_words(contrast):
        yield Text(f"  {line}")
    if contrast.paired.pairs:
        table = _table("  seed", left, right, "difference")
        for pair in contrast.paired.pairs:
            row = (f"  {pair.seed}", f"{pair.left:.2f}", f"{pair.right:.2f}", f"{pair.difference:+.2f}")
            table.add_row(*map(Text, row))
        yield table
    for line in unpaired_in_words(contrast, left, right):
        yield Text(printable(f"  {line}"), style="dim")
    yield from (Text(printable(f"  caution: {caution}"), style="yellow") for caution in contrast.cautions)
    if contrast.settings:
        yield _settings(contrast, left, right)


def _settings(contrast: Contrast, left: str, right: str) -> "Table":
    from rich.text import Text

    table = _table("  setting", left, right)
    for name, one, two in contrast.settings[:MOST_SETTINGS]:
        table.add_row(*(Text(printable(text)) for text in (f"  {name}", value_of(one), value_of(two))))
    if len(contrast.settings) > MOST_SETTINGS:
        table.add_row(Text(f"  and {len(contrast.settings) - MOST_SETTINGS} more"))
    return table


def _table(*columns: str) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for place, name in enumerate(columns):
        table.add_column(Text(printable(name)), justify="right" if place else "left", overflow="fold")
    return table


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Everything once: contrasts name their sides by number."""
    sides = list(comparison.sides)
    contrasts = []
    for one in comparison.contrasts:
        plain: dict[str, Any] = msgspec.to_builtins(one)
        left, right = (next(place for place, side in enumerate(sides) if side is of) for of in (one.left, one.right))
        contrasts.append(plain | {"left": left, "right": right, "words": differences_in_words(one)})
    return {
        "selection": comparison.rule,
        "selection_means": comparison.selected,
        "runs": [asdict(row) for row in comparison.runs],
        "sides": [msgspec.to_builtins(side) for side in sides],
        "contrasts": contrasts,
        "alone": list(comparison.alone),
    }
