"""The events that a run yields, in order. Plain numbers only; accuracies in percent."""

import math
from enum import StrEnum
from functools import cached_property
from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, tag_field="event", kw_only=True):
    """The base of all events. `seconds` is the training time so far, over all attempts."""

    seconds: float = 0.0


class Started(Event, frozen=True, kw_only=True, tag="started"):
    """The run has started: sizes, parameters, label draw and length."""

    method: str
    task: str
    seed: int
    device: str
    classes: list[str]
    shape: list[int]
    source_size: int
    target_size: int
    test_size: int
    parameters: int
    label_hash: str
    priors: list[float]
    stages: list[str]
    epochs_total: int
    iterations_total: int
    notes: list[str]
    """Caveats for readers of the results: generated data, a transductive target, images left out."""


class Resumed(Event, frozen=True, kw_only=True, tag="resumed"):
    """The run continues from a checkpoint; events after `from_iteration` are superseded."""

    from_iteration: int


class StageStarted(Event, frozen=True, kw_only=True, tag="stage"):
    """A stage has started; `index` counts from 1."""

    stage: str
    index: int
    iteration: int
    epoch: int


class Stepped(Event, frozen=True, kw_only=True, tag="step", dict=True):
    """One iteration: `metrics` holds its losses and diagnostics by name (see core.metrics)."""

    iteration: int
    epoch: int
    adaptation_epoch: int | None
    stage: str
    metrics: dict[str, float]

    @cached_property
    def is_finite(self) -> bool:
        """Whether every metric is finite; tested once for the training loop, the alarms and the journal."""
        return all(map(math.isfinite, self.metrics.values()))


class Evaluated(Event, frozen=True, kw_only=True, tag="evaluation"):
    """The classifier was evaluated after an epoch; None where the data has no labels."""

    iteration: int
    epoch: int
    adaptation_epoch: int | None
    stage: str
    target_accuracy: float | None
    source_accuracy: float | None
    pseudo_label_accuracy: float | None = None
    target_loss: float | None = None
    source_loss: float | None = None
    complementary_risk: float | None = None
    """Eq. 6 on held-out source images: needs no true label."""
    target_entropy: float | None = None
    target_information: float | None = None
    """Entropy of the mean target prediction minus the mean entropy: needs no label at all."""
    confusion: list[list[int]] | None = None
    """Target test images: a row for each true class, a column for each predicted one; none without finite logits."""


class PseudoLabelled(Event, frozen=True, kw_only=True, tag="pseudo-labels"):
    """Stage 1 has labelled the source images, or another run's labels were given."""

    iteration: int
    label_hash: str
    accuracy: float | None
    given: bool
    labels: list[int]
    origin: str = ""
    """The run whose stage 1 computed the labels, if they were given."""
    origin_seconds: float = 0.0
    """The training time of that stage 1."""


class Checkpointed(Event, frozen=True, kw_only=True, tag="checkpoint"):
    """A checkpoint was written; the run can resume from here."""

    iteration: int
    path: str


class Noticed(Event, frozen=True, kw_only=True, tag="notice"):
    """A message for the user that does not end the run."""

    iteration: int
    message: str


class Alarmed(Event, frozen=True, kw_only=True, tag="alarm"):
    """A rule on the metrics has raised an alarm, or has cleared it if `over`."""

    kind: str
    """The rule, such as "collapse"."""
    message: str
    advice: str = ""
    iteration: int
    over: bool = False


class Sampled(Event, frozen=True, kw_only=True, tag="sample"):
    """What the hardware did, about every ten seconds and at the end of an attempt. What is unknown is None."""

    iteration: int
    gpu_use: float | None = None
    """In percent."""
    gpu_memory: int | None = None
    """Bytes that the run uses on its GPU."""
    gpu_memory_peak: int | None = None
    """The most bytes that it has used there in this attempt."""
    power: float | None = None
    """Watts of the whole GPU."""
    temperature: int | None = None
    """In degrees Celsius."""
    energy: float | None = None
    """Joules of the GPU since the sample before, divided among the processes on it."""
    cpu: float | None = None
    """Percent of one core that the process used."""
    memory: int | None = None
    """Resident bytes of the process and of those that read its data."""


class Stopped(Event, frozen=True, kw_only=True, tag="stopped"):
    """The run was stopped on request and can be resumed."""

    iteration: int


class FailureKind(StrEnum):
    """A cause of failure that is handled in its own way; the value is what the journal stores."""

    WRONG_INPUT = "wrong input"
    NOT_FINITE = "not finite"
    OUT_OF_MEMORY = "out of memory"
    DISK_FULL = "disk full"
    NOT_STARTED = "not started"


PERMANENT_FAILURES = frozenset({FailureKind.WRONG_INPUT, FailureKind.NOT_FINITE})
"""Failures that a retry would repeat."""


class Failed(Event, frozen=True, kw_only=True, tag="failed"):
    """The run has failed."""

    iteration: int
    message: str
    kind: str = ""
    """A FailureKind or the name of an exception's class."""
    frames: list[str] = []
    """The traceback, innermost frame first: "train.py:212 _train_stage"."""
    terms: dict[str, float] = {}
    checkpoint: str | None = None


class Finished(Event, frozen=True, kw_only=True, tag="finished"):
    """The run is complete; the accuracies are those of the last epoch."""

    iteration: int
    epoch: int
    target_accuracy: float | None
    source_accuracy: float | None


def flatten_event(event: Event) -> dict[str, Any]:
    """Return the event as one flat JSON object, with metrics beside the other fields and without labels."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    fields.update(fields.pop("metrics", {}))
    fields.pop("labels", None)
    return fields
