"""The epoch that each rule selects."""

from typing import Any

import pytest

from clarinet_tui.analysis.choices import RULES, Rule
from clarinet_tui.analysis.selection import SelectedEpoch, label_free_epochs, last_stage, select_epochs

NAN = float("nan")


def rows(*numbers: tuple[float | None, float | None, float | None], stage: str = "clarinet") -> list[dict[str, Any]]:
    """Target accuracy, complementary risk and target information of epochs 1, 2, …"""
    names = ("target_accuracy", "complementary_risk", "target_information")
    return [
        {"stage": stage, "epoch": epoch, "adaptation_epoch": None, **dict(zip(names, values, strict=True))}
        for epoch, values in enumerate(numbers, 1)
    ]


def select_epoch(
    evaluations: list[dict[str, Any]], rule: Rule = "last", *, stage: str | None = None
) -> SelectedEpoch | None:
    return select_epochs(evaluations, stage=stage).get(rule)


FOUR = rows((50.0, 1.9, 0.1), (70.0, 1.4, 0.3), (68.0, 1.2, 0.2), (66.0, 1.3, 0.25))


@pytest.mark.parametrize(
    ("rule", "epoch", "accuracy", "regret"),
    [("last", 4, 66.0, 4.0), ("best", 2, 70.0, 0.0), ("risk", 3, 68.0, 2.0), ("information", 2, 70.0, 0.0)],
)
def test_each_rule_selects_its_epoch(rule: Any, epoch: int, accuracy: float, regret: float) -> None:
    choice = select_epoch(FOUR, rule)
    assert choice is not None
    assert (choice.epoch, choice.accuracy, choice.regret) == (epoch, accuracy, regret)
    assert (choice.oracle_epoch, choice.oracle_accuracy) == (2, 70.0)


def test_only_the_last_stage_counts() -> None:
    """GAC's better epoch belongs to a discarded classifier."""
    both = rows((90.0, 0.1, 9.0), stage="gac") + rows((60.0, 2.0, 0.1), (62.0, 2.0, 0.1), stage="cdan-e")
    for rule in RULES:
        choice = select_epoch(both, rule, stage=last_stage("gac+cdan-e"))
        assert choice is not None
        assert choice.accuracy <= 62.0
    assert select_epoch(both[:1], stage=last_stage("gac+cdan-e")) is None, "stage 2 has not begun"


def test_unknown_method_uses_the_last_evaluated_stage() -> None:
    assert last_stage("somebodys") is None
    assert last_stage(None) is None
    both = rows((90.0, 0.1, 9.0), stage="one") + rows((60.0, 2.0, 0.1), stage="two")
    choice = select_epoch(both, "best", stage=None)
    assert choice is not None
    assert choice.accuracy == 60.0


@pytest.mark.parametrize("rule", RULES)
def test_no_epoch_is_selected_without_target_labels(rule: Any) -> None:
    assert select_epoch(rows((None, 1.0, 1.0), (None, 0.5, 2.0)), rule) is None
    assert select_epoch([], rule) is None


def test_no_epoch_is_selected_without_the_metric_of_the_rule() -> None:
    without = rows((50.0, None, None), (60.0, NAN, NAN))
    assert select_epoch(without, "risk") is None
    assert select_epoch(without, "information") is None
    assert select_epoch(rows((50.0, 1.0, 1.0), (NAN, 0.5, 0.5)), "last") is None


def test_nan_is_never_selected_and_ties_go_to_the_earliest() -> None:
    choice = select_epoch(rows((50.0, NAN, 1.0), (60.0, 0.5, 1.0), (60.0, 0.5, NAN)), "risk")
    assert choice is not None
    assert choice.epoch == 2
    assert choice.oracle_epoch == 2


def test_negative_risk_is_lower() -> None:
    choice = select_epoch(rows((50.0, 0.1, 1.0), (60.0, -0.4, 1.0)), "risk")
    assert choice is not None
    assert choice.epoch == 2


def test_epochs_are_selected_without_target_labels() -> None:
    unlabelled = rows((None, 1.9, 0.1), (None, 1.4, 0.3), (None, 1.2, NAN))
    assert select_epochs(unlabelled) == {}
    assert label_free_epochs(unlabelled) == {"risk": (3, 1.2), "information": (2, 0.3)}
    assert label_free_epochs(rows((None, None, 0.1))) == {"information": (1, 0.1)}
    assert label_free_epochs([]) == {}
