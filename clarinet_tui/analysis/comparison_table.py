"""A comparison as rows and sentences, which the terminal, the app and the report then format."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from clarinet_tui.analysis.statistics import MINIMUM_PAIRS, Interval, Summary
from clarinet_tui.runs.state import RunState
from clarinet_tui.text import format_count, format_duration, format_number

if TYPE_CHECKING:
    from clarinet_tui.analysis.comparison import PairedDifference, Side

INTERIM = "interim: some runs are not finished"
NOT_AVAILABLE = "–"


class SideRow(NamedTuple):
    """A side as text."""

    method: str
    preset: str
    seeds: str
    """Counted runs and all runs, such as 4/5."""
    target: str
    source: str
    pseudo_labels: str
    time_each: str
    """With ≥ where the cost of a shared stage 1 is not recorded."""
    time_total: str


SIDE_HEADINGS = SideRow("method", "preset", "seeds", "target %", "source %", "pseudo %", "time each", "total")


def side_row(side: "Side", plus_minus: str = "±", accuracy: Summary | None = None) -> SideRow:
    """`accuracy` replaces that of all counted runs, such as that of the runs in pairs beside their difference."""
    each, counted = side.seconds.mean, accuracy or side.accuracy
    others = (side.source_accuracy, side.pseudo_label_accuracy)
    source, pseudo_labels = (format_mean_std(one, plus_minus) + _format_count(one, counted) for one in others)
    return SideRow(
        method=side.title,
        preset=side.preset or "?",
        seeds=f"{counted.n}/{len(side.runs)}",
        target=format_mean_std(counted, plus_minus),
        source=source,
        pseudo_labels=pseudo_labels,
        time_each=NOT_AVAILABLE if each is None else ("≥" if side.cost_unknown else "") + format_duration(each),
        time_total=format_duration(side.total_seconds),
    )


def _format_count(summary: Summary, counted: Summary) -> str:
    """Name the number of values where it is not that of the row."""
    return "" if summary.mean is None or summary.n == counted.n else f" (n={summary.n})"


def pair_rows(difference: "PairedDifference") -> list[tuple[str, str, str, str]]:
    """Each pair as text, and the means of several: seed, left, right, difference."""
    paired = difference.paired
    rows = [(str(one.seed), f"{one.left:.2f}", f"{one.right:.2f}", f"{one.difference:+.2f}") for one in paired.pairs]
    means = (paired.left.mean, paired.right.mean, paired.difference.mean)
    if len(rows) > 1 and all(mean is not None for mean in means):
        rows.append((f"mean of {len(rows)}", f"{means[0]:.2f}", f"{means[1]:.2f}", f"{means[2]:+z.2f}"))
    return rows


def setting_rows(difference: "PairedDifference") -> list[tuple[str, str, str]]:
    """Settings that differ: name, left, right."""
    return [(name, format_setting(left), format_setting(right)) for name, left, right in difference.settings]


def side_labels(sides: "Sequence[Side]") -> list[str]:
    """The method of each side, with its first run where several sides share the method."""
    titles = [side.title for side in sides]
    return [
        side.title if titles.count(side.title) == 1 else f"{side.title} {side.runs[0].run}{'…' * (len(side.runs) > 1)}"
        for side in sides
    ]


def format_difference(difference: "PairedDifference") -> list[str]:
    """Format the difference, its intervals and its p-value, one sentence each."""
    paired, count = difference.paired, len(difference.paired.pairs)
    if paired.difference.mean is None:
        return ["no pairs of equal seed and label draw", *_format_welch(difference)]
    lines = [f"{paired.difference.mean:+z.2f} points over {format_count(count, 'pair')}"]
    if paired.interval:
        lines[0] += f", 95 % {format_interval(paired.interval)} (paired t)"
    if paired.bootstrap:
        lines.append(f"bootstrap 95 % {format_interval(paired.bootstrap)} (BCa)")
    if difference.p is not None:
        tests = format_count(difference.comparisons, "comparison")
        p = "< 0.0001" if difference.p < 1e-4 else f"= {difference.p:.4f}"
        lines.append(f"p {p} (paired t-test, Holm, corrected for {tests})")
    elif count < MINIMUM_PAIRS:
        lines.append(f"no p-value and no bootstrap below {MINIMUM_PAIRS} pairs")
    else:
        lines.append("no p-value: the differences do not vary")
    return lines


def _format_welch(difference: "PairedDifference") -> list[str]:
    unpaired = difference.unpaired
    if unpaired is None:
        return []
    interval = f", 95 % {format_interval(unpaired.interval)} (Welch)" if unpaired.interval else ""
    return [f"means differ by {unpaired.difference:+z.2f} points{interval}, assuming independent runs"]


def format_refused(difference: "PairedDifference") -> list[str]:
    return [f"seed {pair.seed} has no counterpart: {pair.reason}" for pair in difference.refused]


def format_unpaired(difference: "PairedDifference", left: str, right: str) -> list[str]:
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


def format_excluded(side: "Side") -> list[str]:
    """List the runs of the side's method and task that are not counted, with the reason."""
    return [f"excluded: {side.title}: {runs.text()}" for runs in side.excluded]


def format_mean_std(summary: Summary, plus_minus: str = "±") -> str:
    if summary.mean is None:
        return NOT_AVAILABLE
    return f"{summary.mean:.2f}" + ("" if summary.std is None else f"{plus_minus}{summary.std:.2f}")


def format_interval(interval: Interval) -> str:
    return f"{interval.low:+.2f} to {interval.high:+.2f}"


def format_setting(value: Any) -> str:
    """Format a setting as in TOML, a dash if it is not set."""
    if value is None or value == "":
        return NOT_AVAILABLE
    if isinstance(value, bool):
        return str(value).lower()
    return format_number(value) if isinstance(value, float) else str(value)
