"""What may be said of one contrast, in words: wherever a comparison is shown, the same sentences stand."""

from typing import TYPE_CHECKING, Any

from clarinet_tui.evidence.statistics import BOOTSTRAP, FEWEST_PAIRS, Interval, Summary
from clarinet_tui.text import number

if TYPE_CHECKING:
    from clarinet_tui.evidence.comparison import Contrast
    from clarinet_tui.evidence.sides import Side

INTERIM = "interim: runs are still going on"


def names_of(contrast: "Contrast") -> tuple[str, str]:
    """The methods; of one method twice, its runs as well."""
    sides = (contrast.left, contrast.right)
    if contrast.left.title != contrast.right.title:
        return contrast.left.title, contrast.right.title
    one, two = (f"{side.title} {side.runs[0].run}{'…' if len(side.runs) > 1 else ''}" for side in sides)
    return one, two


def differences_in_words(contrast: "Contrast") -> list[str]:
    """The difference, how well it is known, and what may be concluded."""
    found, count = contrast.paired, len(contrast.paired.pairs)
    if found.difference.mean is None:
        return ["no pairs of equal seed and label draw", *_welch(contrast)]
    lines = [f"{found.difference.mean:+z.2f} points over {count} {'pair' if count == 1 else 'pairs'}"]
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


def _welch(contrast: "Contrast") -> list[str]:
    unpaired = contrast.unpaired
    if unpaired is None:
        return []
    interval = f", 95 % {between(unpaired.interval)} (Welch)" if unpaired.interval else ""
    return [f"means differ by {unpaired.difference:+z.2f} points{interval}, runs taken as independent"]


def unpaired_in_words(contrast: "Contrast", left: str, right: str) -> list[str]:
    """Seeds and runs that are in no pair, and why."""
    found = [f"seed {refused.seed} is no pair: {refused.reason}" for refused in contrast.refused]
    for name, seeds in ((left, contrast.paired.only_left), (right, contrast.paired.only_right)):
        if seeds:
            found.append(f"not paired: {name}, seed {', '.join(map(str, seeds))}")
    uncounted = [fact for side in (contrast.left, contrast.right) for fact in side.runs if fact.accuracy is None]
    for fact in uncounted:
        if fact.state == "finished":
            found.append(f"not counted: {fact.run} has no target accuracy to report")
            continue
        so_far = f", {fact.choice.accuracy:.2f} so far" if fact.choice else ""
        found.append(f"not counted: {fact.run} is {fact.state}{so_far}")
    return found


def left_out_in_words(side: "Side") -> list[str]:
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
