"""Which epoch of a run is reported: the last one, as in the paper, or one selected by a rule.

Only evaluations of the last stage count: stage 1 of a two-step run trains a separate classifier (GAC), which is
discarded once it has labelled the source.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from clarinet_tui.analysis.choices import RULES, Rule
from clarinet_tui.analysis.statistics import Summary, summarise
from clarinet_tui.text import format_mean
from core.errors import InputError
from core.methods import find_method

RULE_DESCRIPTIONS: dict[Rule, str] = {
    "last": "last epoch",
    "best": "the best epoch by the target's true labels, impossible in practice",
    "risk": "the epoch with the lowest complementary risk (Eq. 6) on held-out source images",
    "information": "the epoch with the highest information on the target (entropy of the mean prediction minus "
    "mean entropy)",
}
ORACLE: Rule = "best"
"""The only rule that uses target labels; its results are marked wherever they are shown."""
SCORES: dict[Rule, tuple[str, int]] = {
    "best": ("target_accuracy", 1),
    "risk": ("complementary_risk", -1),
    "information": ("target_information", 1),
}
"""The metric of a rule, and 1 to maximise it or -1 to minimise it."""
RULE_ORDER: tuple[Rule, ...] = ("last", "risk", "information", "best")
"""Column order of tables: rules without target labels first."""
RULE_HEADINGS: dict[Rule, str] = {
    "last": "last epoch",
    "risk": "held-out risk",
    "information": "information",
    "best": "oracle",
}
RULES_TITLE = "By selection rule (in brackets: difference from the oracle)"
RULE_NOTES = tuple(f"{RULE_HEADINGS[rule]}: {RULE_DESCRIPTIONS[rule]}" for rule in RULE_ORDER[1:])
"""Notes below a table of rules."""
RULE_COLUMNS = tuple(
    f"{'oracle' if rule == ORACLE else rule}_{value}"
    for rule in RULE_ORDER
    for value in (("accuracy",) if rule == ORACLE else ("accuracy", "to_oracle"))
)
Row = Mapping[str, Any]


def describe_rule(rule: Rule) -> str:
    description = RULE_DESCRIPTIONS[rule]
    return f"oracle selection: {description}" if rule == ORACLE else description


@dataclass(frozen=True)
class SelectedEpoch:
    """The epoch that a rule selects, and the one that the oracle would select."""

    rule: Rule
    accuracy: float
    epoch: int
    adaptation_epoch: int | None
    oracle_accuracy: float
    oracle_epoch: int

    @property
    def regret(self) -> float:
        """Points below the oracle's accuracy."""
        return self.oracle_accuracy - self.accuracy


def select_epochs(evaluations: Sequence[Row], *, stage: str | None = None) -> dict[Rule, SelectedEpoch]:
    """Select among the rows of `stage`, by default the last one's; without rules whose metric was not recorded."""
    rows = _rows_of(evaluations, stage)
    oracle = _select_row(rows, ORACLE)
    if oracle is None:
        return {}
    selected = {rule: _select_row(rows, rule) for rule in RULES}
    return {
        rule: SelectedEpoch(
            rule=rule,
            accuracy=row["target_accuracy"],
            epoch=row["epoch"],
            adaptation_epoch=row["adaptation_epoch"],
            oracle_accuracy=oracle["target_accuracy"],
            oracle_epoch=oracle["epoch"],
        )
        for rule, row in selected.items()
        if row is not None and _is_finite(row["target_accuracy"])
    }


def label_free_epochs(evaluations: Sequence[Row], *, stage: str | None = None) -> dict[Rule, tuple[int, float]]:
    """Return the epoch and the score that each rule without target labels selects, for targets that have none."""
    rows = _rows_of(evaluations, stage)
    selected = {rule: _select_row(rows, rule) for rule in SCORES if rule != ORACLE}
    return {rule: (row["epoch"], row[SCORES[rule][0]]) for rule, row in selected.items() if row is not None}


def describe_label_free(selected: Mapping[Rule, tuple[int, float]]) -> list[tuple[str, str]]:
    """Return the name of each rule, and its epoch and score as text."""
    return [(RULE_HEADINGS[rule], f"epoch {epoch} ({score:.3f})") for rule, (epoch, score) in selected.items()]


def last_stage(method: str | None) -> str | None:
    """The stage whose classifier is the method's result; None for a plug-in that is not installed."""
    try:
        return find_method(method or "").stages[-1].name
    except InputError:
        return None


def _rows_of(evaluations: Sequence[Row], stage: str | None) -> list[Row]:
    stage = stage or (evaluations[-1]["stage"] if evaluations else None)
    return [row for row in evaluations if row["stage"] == stage and row["epoch"] is not None]


def _select_row(rows: Sequence[Row], rule: Rule) -> Row | None:
    """Ties go to the earliest epoch."""
    if rule == "last":
        return rows[-1] if rows else None
    score, sign = SCORES[rule]
    scored = [row for row in rows if _is_finite(row.get(score))]
    return max(scored, key=lambda row: sign * row[score], default=None)


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


@dataclass(frozen=True)
class RuleSummary:
    """The accuracy of several runs under one rule."""

    accuracy: Summary
    to_oracle: Summary
    """Accuracy minus the oracle's, zero or negative."""


def summarise_rules(runs: Iterable[Mapping[Rule, SelectedEpoch]]) -> dict[Rule, RuleSummary]:
    """Summarise the selected epochs of several runs by rule; rules without a run are omitted."""
    selected = list(runs)
    summaries = {}
    for rule in RULES:
        epochs = [run[rule] for run in selected if rule in run]
        if epochs:
            accuracy = summarise(epoch.accuracy for epoch in epochs)
            summaries[rule] = RuleSummary(accuracy, summarise(0.0 - epoch.regret for epoch in epochs))
    return summaries


def format_rules(summaries: Mapping[Rule, RuleSummary], decimals: int, plus_minus: str | None = " ± ") -> list[str]:
    """Format one table row in `RULE_ORDER`, a dash where a rule has no result; without ± if `plus_minus` is None."""
    texts = {}
    for rule, summary in summaries.items():
        difference = "" if rule == ORACLE else f" ({summary.to_oracle.mean:z.{decimals}f})"
        std = None if plus_minus is None else summary.accuracy.std
        texts[rule] = format_mean(summary.accuracy.mean, std, decimals, plus_minus or "") + difference
    return [texts.get(rule, "–") for rule in RULE_ORDER]


def rule_columns(summaries: Mapping[Rule, RuleSummary]) -> dict[str, Any]:
    """Return `RULE_COLUMNS` for a CSV line, None where a rule has no result."""
    columns: dict[str, Any] = dict.fromkeys(RULE_COLUMNS)
    for rule, summary in summaries.items():
        if rule == ORACLE:
            columns["oracle_accuracy"] = summary.accuracy.mean
        else:
            columns |= {f"{rule}_accuracy": summary.accuracy.mean, f"{rule}_to_oracle": summary.to_oracle.mean}
    return columns
