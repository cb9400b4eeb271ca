"""Events for tests, with defaults for most fields."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from clarinet_tui.runs.files import ContentError
from clarinet_tui.runs.journal import parse_line, read_lines
from core.events import Evaluated, Event, Failed, Finished, PseudoLabelled, Resumed, Started, Stepped

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


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return the events of a journal, without lines that cannot be read."""
    if not path.exists():
        return []
    events: list[dict[str, Any]] = []
    columns = None
    with path.open("rb") as file:
        for _, _, line in read_lines(file):
            with suppress(ContentError):
                fields = parse_line(line, columns)
                if fields["event"] == "columns":
                    columns = fields["names"]
                else:
                    events.append(fields)
    return events


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
    defaults |= {"seconds": iteration / 64, "metrics": measured}
    return Stepped(iteration=iteration, **defaults | fields)


def evaluation(iteration: int, accuracy: float | None = 50.0, **fields: Any) -> Evaluated:
    defaults: dict[str, Any] = {"epoch": iteration // 100, "adaptation_epoch": None, "stage": "clarinet"}
    defaults |= {"seconds": iteration / 64, "source_accuracy": None}
    return Evaluated(iteration=iteration, target_accuracy=accuracy, **defaults | fields)


def resumed(iteration: int) -> Resumed:
    return Resumed(from_iteration=iteration, seconds=iteration / 64)


def pseudo_labels(iteration: int, **fields: Any) -> PseudoLabelled:
    defaults: dict[str, Any] = {"label_hash": "pseudo", "accuracy": 90.0, "given": False, "labels": []}
    return PseudoLabelled(iteration=iteration, **defaults | fields)


def epoch_events(
    stage: str,
    epoch: int,
    accuracy: float | None,
    measure: Callable[[int], dict[str, float]],
    *,
    steps: int,
    adapted: int | None = None,
    seconds: float = 1 / 64,
    **evaluated: Any,
) -> list[Event]:
    """Return an epoch of `steps` iterations, each with the metrics of `measure`, and its evaluation."""
    place: dict[str, Any] = {"stage": stage, "epoch": epoch, "adaptation_epoch": adapted}
    last = steps * epoch
    numbers = range(last - steps + 1, last + 1)
    iterations = [step(number, measure(number), seconds=number * seconds, **place) for number in numbers]
    return [*iterations, evaluation(last, accuracy, seconds=last * seconds, **place, **evaluated)]


def end_events(end: str, iteration: int, epoch: int, seconds: float = 1 / 64, **accuracies: float) -> list[Event]:
    """Return the last event of a run that is finished or failed, and none of one that is running."""
    if end == "failed":
        return [Failed(iteration=iteration, seconds=iteration * seconds, message="the loss is not a number")]
    fields: dict[str, Any] = {"target_accuracy": None, "source_accuracy": None, **accuracies}
    finished = Finished(iteration=iteration, epoch=epoch, seconds=iteration * seconds, **fields)
    return [finished] if end == "finished" else []
