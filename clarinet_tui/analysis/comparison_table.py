"""A comparison as tables and sentences, for the terminal and for programs; the app and the report use them as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.analysis.selection import RULE_HEADINGS, RULE_NOTES, RULE_ORDER, format_rules
from clarinet_tui.analysis.statistics import CONFIDENCE, MINIMUM_PAIRS, Interval, Summary
from clarinet_tui.runs.state import RunState
from clarinet_tui.tables.table import Column, Table, make_table
from clarinet_tui.text import (
    format_count,
    format_duration,
    format_mean,
    format_seed,
    format_setting,
    format_task,
    printable,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from clarinet_tui.analysis.comparison import Comparison, PairedDifference, Side

INTERIM = "interim: some runs are not finished"
NOT_AVAILABLE = "–"
MAXIMUM_SETTINGS = 24


def side_row(side: Side, plus_minus: str = "±", accuracy: Summary | None = None) -> dict[str, str]:
    """Return the texts of a side by their headings; seeds are the counted runs and all runs, such as 4/5.

    `accuracy` replaces that of all counted runs, such as that of the runs in pairs beside their difference. A time with
    ≥ is without the cost of a shared stage 1, which is not recorded.
    """
    each, counted = side.seconds.mean, accuracy or side.accuracy

    def mean(summary: Summary) -> str:
        """Name the number of values where it is not that of the row."""
        count = "" if summary.mean is None or summary.n == counted.n else f" (n={summary.n})"
        return format_mean(summary.mean, summary.std, plus_minus=plus_minus) + count

    return {
        "method": side.title,
        "preset": side.preset or "?",
        "seeds": f"{counted.n}/{len(side.runs)}",
        "target %": mean(counted),
        "source %": mean(side.source_accuracy),
        "pseudo %": mean(side.pseudo_label_accuracy),
        "time each": NOT_AVAILABLE if each is None else ("≥" if side.cost_unknown else "") + format_duration(each),
        "total": format_duration(side.total_seconds),
    }


def side_table(sides: Sequence[Side], plus_minus: str = "±", title: str = "") -> Table:
    rows = [side_row(side, plus_minus) for side in sides]
    return _make_table(list(rows[0]), (row.values() for row in rows), title)


def pair_table(difference: PairedDifference) -> Table | None:
    """Return each pair, and the means of several."""
    paired = difference.paired
    rows = [(str(one.seed), f"{one.left:.2f}", f"{one.right:.2f}", f"{one.difference:+.2f}") for one in paired.pairs]
    means = (paired.left.mean, paired.right.mean, paired.difference.mean)
    if len(rows) > 1 and all(mean is not None for mean in means):
        rows.append((f"mean of {len(rows)}", f"{means[0]:.2f}", f"{means[1]:.2f}", f"{means[2]:+z.2f}"))
    headings = ("seed", difference.left.title, difference.right.title, "difference")
    return _make_table(headings, rows) if rows else None


def setting_table(difference: PairedDifference, title: str = "") -> Table | None:
    """Return the settings that differ."""
    rows = [(name, format_setting(left), format_setting(right)) for name, left, right in difference.settings]
    headings = ("setting", difference.left.title, difference.right.title)
    return _make_table(headings, rows, title) if rows else None


def _make_table(headings: Sequence[str], rows: Any, title: str = "") -> Table:
    columns = (Column(heading, right=index > 0, wraps=True) for index, heading in enumerate(headings))
    return make_table(columns, rows, title)


def format_difference(difference: PairedDifference) -> list[str]:
    """Format the difference, its intervals and its p-values, one sentence each."""
    paired, count = difference.paired, len(difference.paired.pairs)
    if paired.difference.mean is None:
        lines = ["no pairs of equal seed and label draw"]
        if unpaired := difference.unpaired:
            interval = f", 95 % {format_interval(unpaired.interval)} (Welch)" if unpaired.interval else ""
            interval = ", no interval: no side varies" if unpaired.error == 0 else interval
            points = f"{unpaired.difference:+z.2f} points{interval}"
            lines.append(f"means differ by {points}, assuming independent runs")
            lines += _format_excess(unpaired.interval, "the runs")
        return lines
    lines = [f"{paired.difference.mean:+z.2f} points over {format_count(count, 'pair')}"]
    if paired.interval:
        lines[0] += f", 95 % {format_interval(paired.interval)} (paired t)"
        lines += _format_excess(paired.interval, format_count(count, "pair"))
    if paired.bootstrap:
        lines.append(f"bootstrap 95 % {format_interval(paired.bootstrap)} (BCa)")
    if paired.difference.std == 0:
        lines.append("no interval and no p-value: the differences do not vary")
    elif difference.p is None or difference.rank_p is None or difference.smallest_rank_p is None:
        lines.append(f"no p-value below {MINIMUM_PAIRS} pairs")
    else:
        lines.append(f"{_format_p(difference.p)} (paired t-test, Holm)")
        lines.append(f"{_format_p(difference.rank_p)} (Wilcoxon signed-rank, Holm)")
        if difference.smallest_rank_p >= 1 - CONFIDENCE:
            differing = sum(pair.difference != 0 for pair in paired.pairs)
            pairs = format_count(count, "pair") if differing == count else f"{differing} pairs that differ"
            lines[-1] += f"; with {pairs} never below {difference.smallest_rank_p:.4f}"
    return lines


def _format_p(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"


def _format_excess(interval: Interval | None, sample: str) -> list[str]:
    """An interval is not cut at ±100: its width shows how little the sample says."""
    if interval is None or (interval.low >= -100 and interval.high <= 100):
        return []
    return [f"the interval exceeds the possible ±100 points: {sample} are too few for their spread"]


def format_correction(comparison: Comparison) -> str:
    """Name the comparisons over which the p-values are corrected; empty without p-values."""
    tests = max((difference.comparisons for difference in comparison.differences), default=0)
    if not tests:
        return ""
    those = "" if tests == len(comparison.differences) else " with p-values"
    return f"p-values: Holm over the {format_count(tests, 'comparison')} shown{those}, each test by itself."


def format_refused(difference: PairedDifference) -> list[str]:
    return [f"seed {pair.seed} has no counterpart: {pair.reason}" for pair in difference.refused]


def format_unpaired(difference: PairedDifference, left: str, right: str) -> list[str]:
    """List the seeds and runs that are in no pair, with the reason."""
    lines = format_refused(difference)
    for name, seeds in ((left, difference.paired.only_left), (right, difference.paired.only_right)):
        if seeds:
            lines.append(f"not paired: {name}, seed {', '.join(map(str, seeds))}")
    for run in (run for side in (difference.left, difference.right) for run in side.runs if run.accuracy is None):
        if run.state is RunState.FINISHED:
            lines.append(f"not counted: {run.run} has no target accuracy")
            continue
        so_far = f", {run.selected.accuracy:.2f} so far" if run.selected else ""
        lines.append(f"not counted: {run.run} is {run.state}{so_far}")
    return lines


def format_excluded(side: Side) -> list[str]:
    """List the runs of the side's method and task that are not counted, with the reason."""
    return [f"excluded: {side.title}: {runs.text()}" for runs in side.excluded]


def format_interval(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def comparison_view(comparison: Comparison, *, named: bool = False) -> RenderableType:
    """Return, for a terminal, the runs if they were given by id, the sides of each task, then each difference."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from clarinet_tui.tables.writers import to_rich

    def line(text: str, style: str = "dim") -> Text:
        return Text(printable(text), style=style)

    parts: list[RenderableType] = []
    if named:
        rows = []
        for row in comparison.runs:
            accuracies = (row.target_accuracy, row.source_accuracy, row.pseudo_label_accuracy)
            run = (row.id, row.state, row.method or "?", format_task(row.task), format_seed(row.seed))
            seconds = NOT_AVAILABLE if row.seconds is None else format_duration(row.seconds)
            rows.append((*run, *map(format_mean, accuracies), seconds))
        headings: tuple[str, ...] = ("id", "state", "method", "task", "seed", "target", "source", "pseudo", "time")
        parts += [to_rich(_make_table(headings, rows)), Text()]
    show_sides = not named or any(len(side.runs) > 1 or side.runs[0].shared for side in comparison.sides)
    # The sides of the tasks that are compared, or of all tasks if none is.
    compared = {difference.left.task for difference in comparison.differences}
    for task in dict.fromkeys(side.task for side in comparison.sides) if show_sides else ():
        sides = [side for side in comparison.sides if side.task == task]
        if task in compared or not compared:
            parts += [line(format_task(task), "bold"), to_rich(side_table(sides))]
            if rules := [(side.title, *format_rules(side.rules, 2, None)) for side in sides if side.rules]:
                headings = ("selected by", *(RULE_HEADINGS[rule] for rule in RULE_ORDER))
                parts.append(to_rich(_make_table(headings, rules)))
            parts += [*(line(f"· {text}") for side in sides for text in format_excluded(side)), Text()]
    parts.append(line(f"Reported: {comparison.rule_description}"))
    if show_sides and any(side.rules for side in comparison.sides):
        parts.append(line(f"In brackets: difference from the oracle. {'; '.join(RULE_NOTES)}."))
    if correction := format_correction(comparison):
        parts.append(line(correction))
    for difference in comparison.differences:
        left, right = difference.left.title, difference.right.title
        interim = f" ({INTERIM})" if difference.is_interim else ""
        parts += [Text(), line(f"{format_task(difference.left.task)}: {left} minus {right}{interim}", "bold")]
        parts += [Text(f"  {sentence}") for sentence in format_difference(difference)]
        if pairs := pair_table(difference):
            parts.append(Padding(to_rich(pairs), (0, 0, 0, 2), expand=False))
        parts += [line(f"  {text}") for text in format_unpaired(difference, left, right)]
        parts += [line(f"  caution: {caution}", "yellow") for caution in difference.cautions]
        if settings := setting_table(difference):
            shown = Table(settings.columns, settings.rows[:MAXIMUM_SETTINGS])
            parts.append(Padding(to_rich(shown), (0, 0, 0, 2), expand=False))
            if len(settings.rows) > MAXIMUM_SETTINGS:
                parts.append(line(f"  and {len(settings.rows) - MAXIMUM_SETTINGS} more"))
    if comparison.unmatched:
        parts += [Text(), line(f"Without a counterpart: {', '.join(comparison.unmatched)}")]
    return Group(*parts)


def comparison_object(comparison: Comparison) -> dict[str, Any]:
    """Return everything once for JSON: differences refer to their sides by index."""
    sides = list(comparison.sides)
    differences = []
    for difference in comparison.differences:
        ends = (difference.left, difference.right)
        left, right = (next(index for index, side in enumerate(sides) if side is end) for end in ends)
        sentences = {"left": left, "right": right, "sentences": format_difference(difference)}
        differences.append(msgspec.to_builtins(difference) | sentences)
    return {
        "selection": comparison.rule,
        "selection_means": comparison.rule_description,
        "runs": [row.as_object() for row in comparison.runs],
        "sides": msgspec.to_builtins(sides),
        "differences": differences,
        "correction": format_correction(comparison),
        "unmatched": list(comparison.unmatched),
    }
