"""A comparison for a terminal of 80 columns and more."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from clarinet_tui.analysis.comparison import Comparison, PairedDifference
from clarinet_tui.analysis.comparison_table import (
    INTERIM,
    SIDE_HEADINGS,
    format_difference,
    format_excluded,
    format_unpaired,
    pair_rows,
    setting_rows,
    side_labels,
    side_row,
)
from clarinet_tui.analysis.selection import RULE_HEADINGS, RULE_NOTES, RULE_ORDER, format_rules
from clarinet_tui.text import format_duration, format_seed, format_task, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clarinet_tui.history.queries import RunRow


MAXIMUM_SETTINGS = 24


def comparison_view(comparison: Comparison, *, named: bool = False) -> "RenderableType":
    """The runs if they were given by id, the sides of each task, then each difference."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = [_runs(comparison.runs), Text()] if named else []
    show_sides = not named or any(len(side.runs) > 1 or side.runs[0].shared for side in comparison.sides)
    if show_sides:
        parts += _tasks(comparison)
    parts.append(Text(printable(f"Reported: {comparison.rule_description}"), style="dim"))
    if show_sides and any(side.rules for side in comparison.sides):
        parts.append(Text(f"In brackets: difference from the oracle. {'; '.join(RULE_NOTES)}.", style="dim"))
    for difference in comparison.differences:
        parts += [Text(), *_difference(difference)]
    if comparison.unmatched:
        parts += [Text(), Text(printable(f"Without a counterpart: {', '.join(comparison.unmatched)}"), style="dim")]
    return Group(*parts)


def _tasks(comparison: Comparison) -> "Iterator[RenderableType]":
    """The sides of the tasks that are compared, or of all tasks if none is."""
    from rich.text import Text

    compared = {difference.left.task for difference in comparison.differences}
    for task in dict.fromkeys(side.task for side in comparison.sides):
        sides = [side for side in comparison.sides if side.task == task]
        if task in compared or not compared:
            yield Text(printable(format_task(task)), style="bold")
            yield _table(SIDE_HEADINGS, (side_row(side) for side in sides))
            rules = [(side.title, *format_rules(side.rules, 2, None)) for side in sides if side.rules]
            if rules:
                yield _table(("selected by", *(RULE_HEADINGS[rule] for rule in RULE_ORDER)), rules)
            yield from (Text(f"· {printable(line)}", style="dim") for side in sides for line in format_excluded(side))
            yield Text()


def _runs(rows: "Sequence[RunRow]") -> "Table":
    headings = ("id", "state", "method", "task", "seed", "target", "source", "pseudo", "time")
    lines = []
    for row in rows:
        accuracies = (row.target_accuracy, row.source_accuracy, row.pseudo_label_accuracy)
        seed = format_seed(row.seed)
        numbers = ["–" if value is None else f"{value:.2f}" for value in accuracies]
        seconds = "–" if row.seconds is None else format_duration(row.seconds)
        lines.append([row.id, row.state, row.method or "?", format_task(row.task or "?"), seed, *numbers, seconds])
    return _table(headings, lines)


def _difference(difference: PairedDifference) -> "Iterator[RenderableType]":
    from rich.text import Text

    left, right = side_labels((difference.left, difference.right))
    heading = f"{format_task(difference.left.task)}: {left} minus {right}"
    yield Text(printable(heading + (f" ({INTERIM})" if difference.is_interim else "")), style="bold")
    yield from (Text(f"  {line}") for line in format_difference(difference))
    if pairs := pair_rows(difference):
        yield _table(("  seed", left, right, "difference"), [(f"  {seed}", *values) for seed, *values in pairs])
    for line in format_unpaired(difference, left, right):
        yield Text(printable(f"  {line}"), style="dim")
    yield from (Text(printable(f"  caution: {caution}"), style="yellow") for caution in difference.cautions)
    if settings := setting_rows(difference):
        lines = [(f"  {name}", *values) for name, *values in settings[:MAXIMUM_SETTINGS]]
        if len(settings) > MAXIMUM_SETTINGS:
            lines.append((f"  and {len(settings) - MAXIMUM_SETTINGS} more",))
        yield _table(("  setting", left, right), lines)


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> "Table":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for index, heading in enumerate(headings):
        table.add_column(Text(printable(heading)), justify="right" if index else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(text)) for text in row))
    return table
