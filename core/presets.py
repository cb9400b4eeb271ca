"""The protocols that settings start from. What each changes, and why, is told in docs/protocols.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Preset = Literal["paper", "literal", "quick", "smoke"]
Family = Literal["one-step", "two-step"]
"""Methods that learn from complementary labels while they adapt, and methods that adapt with (pseudo-)labels."""


@dataclass(frozen=True)
class Protocol:
    """Settings for every method, and those of one family on top."""

    sentence: str
    common: Mapping[str, Any]
    one_step: Mapping[str, Any]
    two_step: Mapping[str, Any]

    def settings_for(self, family: Family) -> dict[str, Any]:
        return {**self.common, **(self.one_step if family == "one-step" else self.two_step)}


# GAC+DAN, GAC+DANN and GAC+CDAN_E: one SGD at 0.005 for all networks, no warm-up.
TWO_STEP = {"warmup_epochs": 0, "classifier_rate": 0.005, "discriminator_rate": 0.005, "scatter": 1.0}

PRESETS: dict[str, Protocol] = {
    "paper": Protocol("What most probably made the published numbers.", {}, {}, TWO_STEP),
    "literal": Protocol(
        "Algorithm 1 and its numbers as printed, with the two slips mended.",
        {"weight_decay": 5e-5, "ascent_by_counts": False},
        {
            "domain_terms": "sum",
            "detach_predictions": False,
            "detach_weight_sums": False,
            "entropy_epsilon": 0.0,
            "shared_forward": False,
            "adversarial_step": "own",
            "warmup_target": False,
        },
        TWO_STEP,
    ),
    "quick": Protocol(
        "The same algorithm, sized for minutes on a CPU.",
        {
            "epochs": 4,
            "lambda_horizon": 3333,
            "stage1": {"epochs": 8, "optimizer": "adam", "rate": 5e-4, "batch_size": 128},
        },
        {
            "warmup_epochs": 6,
            "warmup_optimizer": "adam",
            "warmup_rate": 5e-4,
            "classifier_rate": 1e-3,
            "discriminator_rate": 2e-2,
        },
        {**TWO_STEP, "classifier_rate": 1e-2, "discriminator_rate": 1e-2},
    ),
    "smoke": Protocol(
        "Seconds: shows that everything works, not how well.",
        {
            "source_size": 512,
            "target_size": 512,
            "test_size": 256,
            "batch_size": 32,
            "epochs": 3,
            "lambda_horizon": 50,
            "stage1": {"epochs": 3, "rate": 1e-3, "batch_size": 32},
        },
        {
            "warmup_epochs": 2,
            "warmup_optimizer": "adam",
            "warmup_rate": 1e-3,
            "classifier_rate": 1e-3,
            "discriminator_rate": 1e-2,
        },
        {**TWO_STEP, "classifier_rate": 1e-2, "discriminator_rate": 1e-2},
    ),
}
