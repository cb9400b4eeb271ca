"""The epoch that each rule selects."""

from typing import Any

import pytest

from clarinet_tui.analysis.choices import RULES
from clarinet_tui.analysis.selection import label_free_epochs, last_stage, select_epochs

NAN = float("nan")


def rows(*numbers: tuple[float | None, float | None, float | None], stage: str = "clarinet") -> list[dict[str, Any]]:
    """Target accuracy, complementary risk and target information of epochs 1, 2, …"""
    names = ("target_accuracy", "complementary_risk", "target_information")
    return [
        {"stage": stage, "epoch": epoch, "adaptation_epoch": None, **dict(zip(names, values, strict=True))}
        for epoch, values in enumerate(numbers, 1)
    ]


FOUR = rows((50.0, 1.9, 0.1), (70.0, 1.4, 0.3), (68.0, 1.2, 0.2), (66.0, 1.3, 0.25))


@pytest.mark.parametrize(
    ("rule", "epoch", "accuracy", "regret"),
    [("last", 4, 66.0, 4.0), ("best", 2, 70.0, 0.0), ("risk", 3, 68.0, 2.0), ("information", 2, 70.0, 0.0)],
)
def test_each_rule_selects_its_epoch(rule: Any, epoch: int, accuracy: float, regret: float) -> None:
    choice = select_epochs(FOUR)[rule]
    assert (choice.epoch, choice.accuracy, choice.regret) == (epoch, accuracy, regret)
    assert (choice.oracle_epoch, choice.oracle_accuracy) == (2, 70.0)


def test_only_the_last_stage_counts() -> None:
    """GAC's better epoch belongs to a discarded classifier."""
    both = rows((90.0, 0.1, 9.0), stage="gac") + rows((60.0, 2.0, 0.1), (62.0, 2.0, 0.1), stage="cdan-e")
    selected = select_epochs(both, stage=last_stage("gac+cdan-e"))
    assert selected.keys() == set(RULES)
    assert all(choice.accuracy <= 62.0 for choice in selected.values())
    assert select_epochs(both[:1], stage=last_stage("gac+cdan-e")) == {}, "stage 2 has not begun"


def test_unknown_method_uses_the_last_evaluated_stage() -> None:
    assert last_stage("somebodys") is None
    assert last_stage(None) is None
    both = rows((90.0, 0.1, 9.0), stage="one") + rows((60.0, 2.0, 0.1), stage="two")
    assert select_epochs(both, stage=None)["best"].accuracy == 60.0


def test_no_epoch_is_selected_without_the_metric_of_the_rule() -> None:
    assert select_epochs(rows((50.0, None, None), (60.0, NAN, NAN))).keys() == {"last", "best"}
    assert "last" not in select_epochs(rows((50.0, 1.0, 1.0), (NAN, 0.5, 0.5)))
    assert select_epochs([]) == {}


def test_nan_is_never_selected_and_ties_go_to_the_earliest() -> None:
    choice = select_epochs(rows((50.0, NAN, 1.0), (60.0, 0.5, 1.0), (60.0, 0.5, NAN)))["risk"]
    assert (choice.epoch, choice.oracle_epoch) == (2, 2)
    assert select_epochs(rows((50.0, 0.1, 1.0), (60.0, -0.4, 1.0)))["risk"].epoch == 2, "a negative risk is lower"


def test_epochs_are_selected_without_target_labels() -> None:
    unlabelled = rows((None, 1.9, 0.1), (None, 1.4, 0.3), (None, 1.2, NAN))
    assert select_epochs(unlabelled) == {}
    assert label_free_epochs(unlabelled) == {"risk": (3, 1.2), "information": (2, 0.3)}
    assert label_free_epochs(rows((None, None, 0.1))) == {"information": (1, 0.1)}
    assert label_free_epochs([]) == {}
