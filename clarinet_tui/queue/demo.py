"""The runs of the demo: one-step and two-step methods on the offline task, in about two minutes on a CPU."""

from typing import Any

from core.config import RunConfig
from core.resolve import resolve

COMMON: dict[str, Any] = {"preset": "quick", "batch_size": 64, "ybars_per_sample": 4}
"""Four complementary labels for each image instead of one, so that two minutes suffice for three methods."""
METHODS: dict[str, dict[str, Any]] = {
    "basset": {
        "jitter": 0.7,
        "teacher_threshold": 0.8,
        "epoch_iterations": 150,
        "warmup_epochs": 3,
        "epochs": 5,
        "lambda_horizon": 250,
    },
    "clarinet": {"warmup_epochs": 5, "epochs": 2, "lambda_horizon": 300},
    "gac+cdan-e": {
        "epochs": 2,
        "lambda_horizon": 300,
        "stage1": {"epochs": 5, "batch_size": 64, "rate": 1e-3},
        "optimizer": "adamw",
        "classifier_rate": 1e-3,
        "discriminator_rate": 1e-3,
    },
}


def demo_configs() -> list[RunConfig]:
    return [resolve(COMMON | settings, method=method) for method, settings in METHODS.items()]
