"""Events for tests, with defaults for most fields."""

from typing import Any

from core.events import Evaluated, Resumed, Started, Stepped

EIGHT_METRICS = (
    "complementary_loss",
    "least_class_loss",
    "ascended",
    "adversarial_loss",
    "lambda",
    "discriminator_accuracy",
    "entropy",
    "samples_per_second",
)
CLOCK_FIELDS = ("seconds", "samples_per_second")


def started(**fields: Any) -> Started:
    defaults: dict[str, Any] = {
        "method": "clarinet",
        "task": "U->M",
        "seed": 1,
        "device": "cpu",
        "classes": ["0", "1"],
        "shape": [28, 28, 1],
        "source_size": 100,
        "target_size": 100,
        "test_size": 50,
        "parameters": 1000,
        "label_hash": "abc",
        "priors": [0.5, 0.5],
        "stages": ["clarinet"],
        "epochs_total": 10,
        "iterations_total": 1000,
        "notes": [],
    }
    return Started(**defaults | fields)


def step(iteration: int, measured: dict[str, float] | None = None, **fields: Any) -> Stepped:
    defaults: dict[str, Any] = {"epoch": iteration // 100, "adaptation_epoch": None, "stage": "clarinet"}
    measured = {"complementary_loss": iteration / 4} if measured is None else measured
    defaults |= {"seconds": iteration / 64, "measured": measured}
    return Stepped(iteration=iteration, **defaults | fields)


def evaluation(iteration: int, accuracy: float | None = 50.0, **fields: Any) -> Evaluated:
    defaults: dict[str, Any] = {"epoch": iteration // 100, "adaptation_epoch": None, "stage": "clarinet"}
    defaults |= {"seconds": iteration / 64, "source_accuracy": None}
    return Evaluated(iteration=iteration, target_accuracy=accuracy, **defaults | fields)


def resumed(iteration: int) -> Resumed:
    return Resumed(from_iteration=iteration, seconds=iteration / 64)
