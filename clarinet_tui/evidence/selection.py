"""Which accuracy of a run is reported: the last epoch's, as in the paper, or that of an epoch chosen by a rule.

Only evaluations of the last stage count. Stage 1 of a two-step run trains a classifier of its own, which is thrown
away once it has labelled the source: an epoch of it would report GAC under another method's name.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from core.errors import InputError
from core.methods import find_method

Rule = Literal["last", "best", "risk", "information"]
RULES: tuple[Rule, ...] = get_args(Rule)
SENTENCES: dict[Rule, str] = {
    "last": "last epoch",
    "best": "oracle selection: the best epoch by the target's true labels, which nobody has in practice",
    "risk": "the epoch with the least complementary risk (Eq. 6) on held-out source images",
    "information": "the epoch with the greatest information on the target (entropy of the mean prediction minus "
    "mean entropy)",
}
ORACLE: Rule = "best"
"""The rule that looks at target labels: what it gives is marked wherever it is shown."""
SCORES: dict[Rule, tuple[str, int]] = {
    "best": ("target_accuracy", 1),
    "risk": ("complementary_risk", -1),
    "information": ("target_information", 1),
}
"""What a rule looks at, and whether more of it is better."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """The epoch that a rule has chosen, and the one that an oracle would have chosen."""

    rule: Rule
    accuracy: float
    epoch: int
    adaptation_epoch: int | None
    oracle_accuracy: float
    oracle_epoch: int

    @property
    def regret(self) -> float:
        """How many points the rule stays behind the oracle."""
        return self.oracle_accuracy - self.accuracy


def select(evaluations: Sequence[Row], rule: Rule = "last", *, stage: str | None = None) -> Choice | None:
    """Of the rows of `stage`, by default the last one's; None without target labels or without what the rule needs."""
    if rule not in RULES:
        raise InputError(f"selection: expected one of {', '.join(RULES)}, got {rule!a}")
    return select_all(evaluations, stage=stage).get(rule)


def select_all(evaluations: Sequence[Row], *, stage: str | None = None) -> dict[Rule, Choice]:
    """What each rule reports, of those that have something to report."""
    stage = stage or (evaluations[-1]["stage"] if evaluations else None)
    rows = [row for row in evaluations if row["stage"] == stage and row["epoch"] is not None]
    oracle = _chosen(rows, ORACLE)
    if oracle is None:
        return {}
    chosen = {rule: _chosen(rows, rule) for rule in RULES}
    return {
        rule: Choice(
            rule=rule,
            accuracy=row["target_accuracy"],
            epoch=row["epoch"],
            adaptation_epoch=row["adaptation_epoch"],
            oracle_accuracy=oracle["target_accuracy"],
            oracle_epoch=oracle["epoch"],
        )
        for rule, row in chosen.items()
        if row is not None and _finite(row["target_accuracy"])
    }


def last_stage(method: str | None) -> str | None:
    """The stage whose classifier is the method's result; None for a plug-in that is not installed here."""
    try:
        return find_method(method or "").stages[-1].name
    except InputError:
        return None


def _chosen(rows: Sequence[Row], rule: Rule) -> Row | None:
    """The earliest of equally good epochs."""
    if rule == "last":
        return rows[-1] if rows else None
    score, sign = SCORES[rule]
    scored = [row for row in rows if _finite(row[score])]
    return max(scored, key=lambda row: sign * row[score], default=None)


def _finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)
