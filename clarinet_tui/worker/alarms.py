"""Watch the events of a run and raise alarms, without any input or output.

A rule looks at a window of iterations or at the evaluations of a stage. It returns a message to raise its alarm, an
empty text to end it, and None to leave it as it is: between its two limits, or without enough data. So an alarm does
not flicker, and the first iterations of a run raise none.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from statistics import fmean
from typing import NamedTuple

from msgspec.structs import replace

from core.events import Alarmed, Evaluated, Event, Resumed, StageStarted, Started, Stepped
from core.metrics import MINIMISED

WINDOW = 200
"""Iterations that a rule looks at together."""
FIRST = 20
"""Iterations that the initial loss is averaged over."""
EARLY = 200
"""Evaluations before this iteration of a stage are ignored."""
PATIENCE, PATIENCE_SHARE = 500, 0.1
"""A slow start is ignored for this many iterations of a stage, or for this share of a longer run."""

RuleResult = str | None
"""A message (raise the alarm), an empty text (end it) or None (no change)."""
Window = list[dict[str, float]]
"""The metrics of successive iterations; the rules ignore a metric that most of them lack."""


def _values(window: Window, name: str) -> list[float]:
    """Return the values of a metric; none if fewer than half of the iterations have it."""
    values = [measured[name] for measured in window if name in measured]
    return values if 2 * len(values) >= WINDOW else []


def _mean_loss(window: Window) -> float | None:
    """Return the mean of the loss that is minimised; None if there is none."""
    found = (next((measured[name] for name in MINIMISED if name in measured), None) for measured in window)
    losses = [loss for loss in found if loss is not None]
    return fmean(losses) if losses else None


@dataclass
class Stage:
    """The state of the current stage."""

    start: int = 0
    """The iteration before the stage, or the iteration that the run was resumed from."""
    patience: int = PATIENCE
    first_loss: float | None = None
    """None until it is known, and in a stage that started in an earlier attempt."""
    largest_share: float = 0.0
    """The largest share of classes that its predictions have had."""
    low_share_count: int = 0
    """Successive evaluations with a small share."""
    best: Evaluated | None = field(default=None, repr=False)
    """The evaluation with the highest source accuracy."""
    overconfident_count: int = 0
    """Successive evaluations that are more confident and less accurate than `best`."""


def ascent(ascended: Sequence[float]) -> RuleResult:
    """Nearly every step is a gradient ascent: some L_k is always negative, and the loss is never descended."""
    share = fmean(ascended)
    if share >= 0.95:
        return f"{100 * share:.0f} % of the last {len(ascended)} steps were gradient ascents"
    return "" if share < 0.8 else None


def blind(accuracies: Sequence[float]) -> RuleResult:
    """D gives the same output for every image.

    The accuracy of a confused D varies around 50 % by chance, by more than 1 % in batches of up to 1500 images; that of
    a constant output is exactly 50 %.
    """
    deviation = fmean(abs(accuracy - 50.0) for accuracy in accuracies)
    if deviation < 1.0:
        return f"over {len(accuracies)} iterations the discriminator's accuracy was 50 ± {deviation:.1f} %"
    return "" if deviation > 2.0 else None


def unbeaten(accuracies: Sequence[float], window: Window) -> RuleResult:
    """D is always right although λ is close to its maximum."""
    accuracy = fmean(accuracies)
    if accuracy > 99.0 and all(measured.get("lambda", 1.0) >= 0.9 for measured in window):
        return f"over {len(accuracies)} iterations the discriminator's accuracy was {accuracy:.1f} %"
    return "" if accuracy < 97.0 else None


def no_progress(window: Window, stage: Stage, iteration: int) -> RuleResult:
    """The loss is as high as at the start of the stage."""
    loss = _mean_loss(window)
    if stage.first_loss is None or loss is None or iteration - stage.start < stage.patience:
        return None
    if loss > 0.99 * stage.first_loss:
        done = iteration - stage.start
        return f"after {done} iterations the loss is {loss:.3g}; at the start it was {stage.first_loss:.3g}"
    return "" if loss < 0.95 * stage.first_loss else None


def collapse(event: Evaluated, stage: Stage) -> RuleResult:
    """Nearly all target images are predicted as a few classes, suddenly or since the start of the stage."""
    confusion = event.confusion or []
    columns = [sum(column) for column in zip(*confusion, strict=True)]
    true = _effective_classes(map(sum, confusion))
    if true < 1.1 or event.iteration - stage.start < EARLY:
        return None
    # 0 if all predictions are one class, 1 if they are as diverse as the true labels.
    share = (_effective_classes(columns) - 1) / (true - 1)
    stage.largest_share = max(stage.largest_share, share)
    stage.low_share_count = stage.low_share_count + 1 if share < 0.2 else 0
    has_collapsed = stage.low_share_count >= 2 and stage.largest_share >= 0.4
    never_was_diverse = stage.low_share_count >= 3 and event.iteration - stage.start >= stage.patience
    if has_collapsed or never_was_diverse:
        columns.sort(reverse=True)
        classes = 1 + sum(covered < 0.9 * sum(columns) for covered in accumulate(columns))
        share_covered = f"{100 * sum(columns[:classes]) / sum(columns):.0f} % of the target images"
        return f"{share_covered} are predicted as {classes} of {len(columns)} classes"
    return "" if share > 0.3 else None


def overconfident(event: Evaluated, stage: Stage) -> RuleResult:
    """The target's entropy collapses while the source accuracy falls."""
    accuracy, entropy, best = event.source_accuracy, event.target_entropy, stage.best
    if accuracy is None or entropy is None or event.iteration - stage.start < EARLY:
        return None
    if best is None or best.source_accuracy is None or best.target_entropy is None or accuracy > best.source_accuracy:
        stage.best, stage.overconfident_count = event, 0
        return ""
    drop, entropy_ratio = best.source_accuracy - accuracy, entropy / max(best.target_entropy, 1e-9)
    stage.overconfident_count = stage.overconfident_count + 1 if drop > 5.0 and entropy_ratio < 0.5 else 0
    if stage.overconfident_count >= 2:
        before = f"it was {best.source_accuracy:.1f} % and {best.target_entropy:.2g} in epoch {best.epoch}"
        return f"source accuracy is {accuracy:.1f} % and the target's entropy {entropy:.2g}; {before}"
    return "" if drop < 2.5 or entropy_ratio > 0.75 else None


def _effective_classes(counts: Iterable[int]) -> float:
    """Return the number of equally frequent classes with the same entropy."""
    present = [count for count in counts if count > 0]
    total = sum(present)
    return math.exp(-sum(count / total * math.log(count / total) for count in present)) if present else 1.0


class AlarmKind(NamedTuple):
    """What an alarm means, and what to try."""

    meaning: str
    advice: str


ALARM_KINDS = {
    "not-finite": AlarmKind(
        "the weights cannot be used any more",
        "lower classifier_rate and discriminator_rate (in stage 1 stage1.rate), and start again",
    ),
    "collapse": AlarmKind(
        "the classes of the target are no longer distinguished",
        "lower classifier_rate, lengthen warmup_epochs or lambda_horizon, or give more labels (ybars_per_sample)",
    ),
    "overconfident": AlarmKind(
        "confidence on the target rises while accuracy on the source falls",
        "raise lambda_horizon or lower discriminator_rate, which weakens the adaptation",
    ),
    "discriminator-blind": AlarmKind(
        "its output is the same for every image, so that there is no adaptation",
        "raise discriminator_rate, or lower classifier_rate if the features are constant",
    ),
    "discriminator-unbeaten": AlarmKind(
        "it separates the domains perfectly, so that its gradient vanishes and there is no adaptation",
        "lower discriminator_rate, raise classifier_rate, or shorten lambda_horizon",
    ),
    "ascent": AlarmKind(
        "some class loss is always negative, so that each step undoes learning",
        "enlarge batch_size or ybars_per_sample, lower classifier_rate, or try complementary_loss=non-negative",
    ),
    "no-progress": AlarmKind(
        "the training has no effect",
        "change classifier_rate (in stage 1 stage1.rate) by a factor of ten, and check the data and its labels",
    ),
}


class AlarmMonitor:
    """Observe every event of one attempt. A new stage has new networks, so it ends all open alarms."""

    def __init__(self, iterations_total: int = 0) -> None:
        self._total = iterations_total
        """Iterations of the whole run, if known: a longer run may start more slowly."""
        self._stage = Stage(patience=self._patience())
        self._window: Window = []
        self._first: Window | None = None
        """The first iterations of a stage that started in this attempt."""
        self._open: set[str] = set()

    def observe(self, event: Event) -> Sequence[Alarmed]:
        """Return the alarms that start or end with this event."""
        match event:
            case Stepped():
                return self._step(event)
            case Evaluated():
                results = {"collapse": collapse(event, self._stage), "overconfident": overconfident(event, self._stage)}
                return self._update(event, results)
            case Started():
                self._total = event.iterations_total
            case StageStarted():
                self._stage = Stage(start=event.iteration, patience=self._patience())
                self._window, self._first = [], []
                return self._update(event, dict.fromkeys(ALARM_KINDS, ""))
            case Resumed():
                self._stage.start = event.from_iteration
        return ()

    def _step(self, event: Stepped) -> Sequence[Alarmed]:
        measured, window = event.metrics, self._window
        if self._first is not None:
            self._first.append(measured)
            if len(self._first) == FIRST:
                self._stage.first_loss, self._first = _mean_loss(self._first), None
        if not event.is_finite:
            self._window = []
            values = [f"{name} is {value}" for name, value in measured.items() if not math.isfinite(value)]
            return self._update(event, {"not-finite": ", ".join(values)})
        window.append(measured)
        if len(window) < WINDOW:
            return ()
        self._window = []
        results: dict[str, RuleResult] = {"not-finite": ""}
        if ascended := _values(window, "ascended"):
            results["ascent"] = ascent(ascended)
        if accuracies := _values(window, "discriminator_accuracy"):
            results["discriminator-blind"] = blind(accuracies)
            results["discriminator-unbeaten"] = unbeaten(accuracies, window)
        results["no-progress"] = no_progress(window, self._stage, event.iteration)
        return self._update(event, results)

    def _patience(self) -> int:
        return max(PATIENCE, int(PATIENCE_SHARE * self._total))

    def _update(self, event: Stepped | Evaluated | StageStarted, results: dict[str, RuleResult]) -> Sequence[Alarmed]:
        """Return the alarms whose state the results change."""
        alarms = []
        for name, result in results.items():
            if result is None or bool(result) == (name in self._open):
                continue
            self._open ^= {name}
            alarm = Alarmed(kind=name, message="is over", iteration=event.iteration, over=True, seconds=event.seconds)
            if result:
                meaning, advice = ALARM_KINDS[name]
                alarm = replace(alarm, message=f"{result}: {meaning}", advice=advice, over=False)
            alarms.append(alarm)
        return alarms
