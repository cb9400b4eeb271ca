"""A comparison for a terminal of 80 columns and more, and for other programs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.evidence.comparison import Comparison, Contrast
from clarinet_tui.evidence.lines import short_name
from clarinet_tui.evidence.sides import Side
from clarinet_tui.evidence.statistics import BOOTSTRAP, FEWEST_PAIRS, Interval, Summary
from clarinet_tui.text import duration, number, printable

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from clarinet_tui.history.queries import RunRow


MOST_SETTINGS = 24
INTERIM = "interim: runs are still going on"


def comparison_view(comparison: Comparison, *, named: bool = False) -> "RenderableType":
    """The runs where they were named one by one, the sides of each task, then each contrast."""
    from rich.console import Group
    from rich.text import Text

    shown: list[RenderableType] = [_runs(comparison.runs), Text()] if named else []
    if not named or any(len(side.runs) > 1 or side.runs[0].shared for side in comparison.sides):
        shown += _tasks(comparison)
    shown.append(Text(printable(f"Reported: {comparison.selected}"), style="dim"))
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


def names_of(contrast: Contrast) -> tuple[str, str]:
    """The methods; of one method twice, its runs as well."""
    sides = (contrast.left, contrast.right)
    if contrast.left.title != contrast.right.title:
        return contrast.left.title, contrast.right.title
    one, two = (f"{side.title} {side.runs[0].run}{'…' if len(side.runs) > 1 else ''}" for side in sides)
    return one, two


def differences_in_words(contrast: Contrast) -> list[str]:
    """The difference, how well it is known, and what may be concluded."""
    found, count = contrast.paired, len(contrast.paired.pairs)
    if found.difference.mean is None:
        return ["no pairs of equal seed and label draw", *_welch(contrast)]
    lines = [f"{found.difference.mean:+.2f} points over {count} {'pair' if count == 1 else 'pairs'}"]
    if found.interval:
        lines[0] += f", 95 % {between(found.interval)} (paired t)"
    if found.bootstrap:
        lines.append(f"bootstrap 95 % {between(found.bootstrap)} ({BOOTSTRAP})")
    if contrast.p is not None:
        tests = "1 comparison" if contrast.comparisons == 1 else f"{contrast.comparisons} comparisons"
        lines.append(f"p {_p(contrast.p)} (paired t-test, Holm, corrected for {tests})")
    elif count < FEWEST_PAIRS:
        lines.append(f"no p-value and no bootstrap below {FEWEST_PAIRS} pairs")
    else:
        lines.append("no p-value: the differences do not vary")
    return lines


def _welch(contrast: Contrast) -> list[str]:
    unpaired = contrast.unpaired
    if unpaired is None:
        return []
    interval = f", 95 % {between(unpaired.interval)} (Welch)" if unpaired.interval else ""
    return [f"means differ by {unpaired.difference:+.2f} points{interval}, runs taken as independent"]


def unpaired_in_words(contrast: Contrast, left: str, right: str) -> list[str]:
    """Seeds and runs that are in no pair, and why."""
    found = [f"seed {refused.seed} is no pair: {refused.reason}" for refused in contrast.refused]
    for name, seeds in ((left, contrast.paired.only_left), (right, contrast.paired.only_right)):
        if seeds:
            found.append(f"not paired: {name}, seed {', '.join(map(str, seeds))}")
    unfinished = [fact for side in (contrast.left, contrast.right) for fact in side.runs if fact.state != "finished"]
    for fact in unfinished:
        so_far = f", {fact.choice.accuracy:.2f} so far" if fact.choice else ""
        found.append(f"not counted: {fact.run} is {fact.state}{so_far}")
    return found


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


def left_out_in_words(side: Side) -> list[str]:
    """Runs of the side's method and task that do not count, and why."""
    return [f"left out: {side.title}: {left.reason} ({' '.join(left.runs)})" for left in side.left_out]


def spread(summary: Summary) -> str:
    """Mean±std, a dash where nothing is known."""
    if summary.mean is None:
        return "–"
    return f"{summary.mean:.2f}" + ("" if summary.std is None else f"±{summary.std:.2f}")


def between(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def _p(p: float) -> str:
    return "< 0.0001" if p < 1e-4 else f"= {p:.4f}"


def value_of(value: Any) -> str:
    """A setting for people."""
    if isinstance(value, bool) or value is None:
        return "–" if value is None else str(value).lower()
    return number(value) if isinstance(value, float) else str(value)


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
