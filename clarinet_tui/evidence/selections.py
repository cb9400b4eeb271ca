"""What each rule reports of the same runs, beside the one that was asked for, and how far it is from the oracle's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from clarinet_tui.evidence.selection import ORACLE, RULES, SENTENCES, Choice, Rule
from clarinet_tui.evidence.statistics import Summary, summarise

ORDER: tuple[Rule, ...] = ("last", "risk", "information", "best")
"""Those that need no target labels first."""
HEADINGS: dict[Rule, str] = {
    "last": "last epoch",
    "risk": "held-out risk",
    "information": "information",
    "best": "oracle",
}
TITLE = "Selections beside each other: in brackets, points below the oracle's"
MEANINGS = tuple(f"{HEADINGS[rule]}: {SENTENCES[rule].removeprefix('oracle selection: ')}" for rule in ORDER[1:])
"""What a table of selections says below its numbers."""


@dataclass(frozen=True)
class Selected:
    """Of some runs under one rule."""

    accuracy: Summary
    to_oracle: Summary
    """Points that the rule's epochs have more than the oracle's: zero, or below it."""

    def text(self, decimals: int, plus_minus: str | None = " ± ") -> str:
        """Mean ± std; without the ± where there is no room for it."""
        std = self.accuracy.std
        spread = "" if std is None or plus_minus is None else f"{plus_minus}{std:.{decimals}f}"
        return f"{self.accuracy.mean:.{decimals}f}{spread}"


def selections(choices: Iterable[Mapping[Rule, Choice]]) -> dict[Rule, Selected]:
    """Of the runs that have something to report by a rule; rules that have none are left out."""
    runs = list(choices)
    found = {}
    for rule in RULES:
        chosen = [run[rule] for run in runs if rule in run]
        if chosen:
            accuracy = summarise(choice.accuracy for choice in chosen)
            found[rule] = Selected(accuracy, summarise(0.0 - choice.regret for choice in chosen))
    return found


def texts(found: Mapping[Rule, Selected], decimals: int, plus_minus: str | None = " ± ") -> list[str]:
    """A line of a table, in `ORDER`; the oracle has no distance to itself."""
    told = {}
    for rule, one in found.items():
        distance = "" if rule == ORACLE else f" ({one.to_oracle.mean:z.{decimals}f})"
        told[rule] = one.text(decimals, plus_minus) + distance
    return [told.get(rule, "–") for rule in ORDER]


COLUMNS = tuple(
    f"{'oracle' if rule == ORACLE else rule}_{what}"
    for rule in ORDER
    for what in (("accuracy",) if rule == ORACLE else ("accuracy", "to_oracle"))
)


def flat_selections(found: Mapping[Rule, Selected]) -> dict[str, Any]:
    """For a line of CSV: `COLUMNS`, None where a rule has nothing to report."""
    told: dict[str, Any] = dict.fromkeys(COLUMNS)
    for rule, one in found.items():
        if rule == ORACLE:
            told["oracle_accuracy"] = one.accuracy.mean
        else:
            told |= {f"{rule}_accuracy": one.accuracy.mean, f"{rule}_to_oracle": one.to_oracle.mean}
    return told
