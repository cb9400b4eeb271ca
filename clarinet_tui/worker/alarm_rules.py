"""What counts as trouble: rules on a window of iterations, and on the evaluations of a stage.

A rule gives a sentence where there is trouble, an empty one where all is well, and None where it cannot tell: between
its two limits, or without enough to judge by. So an alarm neither flickers nor comes from a run's first steps.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from core.events import Evaluated

WINDOW = 200
"""Iterations that are judged together."""
FIRST = 20
"""Iterations that tell where the loss began."""
EARLY, PATIENCE, SHARE = 200, 500, 0.1
"""Iterations of a stage before evaluations are judged; and what a slow beginning may take: at least, and of a run."""
FULL_STRENGTH = 0.9
"""λ from which on the adaptation should show."""

Judgement = str | None


class Window:
    """Sums over a stretch of iterations: what is not measured in most of them is not judged."""

    __slots__ = ("ascended", "ascents", "count", "discriminated", "guessed", "least_lambda", "loss", "losses", "off")

    def __init__(self) -> None:
        self.count = self.losses = self.ascents = self.discriminated = 0
        self.loss = self.ascended = self.guessed = self.off = 0.0
        self.least_lambda = 1.0

    def add(self, measured: dict[str, float]) -> None:
        self.count += 1
        loss = measured.get("classification_loss")
        if loss is None:
            loss = measured.get("complementary_loss")
        if loss is not None:
            self.loss += loss
            self.losses += 1
        ascended = measured.get("ascended")
        if ascended is not None:
            self.ascended += ascended
            self.ascents += 1
        guessed = measured.get("discriminator_accuracy")
        if guessed is not None:
            self.guessed += guessed
            self.off += abs(guessed - 50.0)
            self.discriminated += 1
            strength = measured.get("lambda", 1.0)
            if strength < self.least_lambda:
                self.least_lambda = strength

    def mean_loss(self) -> float | None:
        return self.loss / self.losses if self.losses else None


@dataclass
class Stage:
    """What is remembered of the stage under way."""

    began: int = 0
    """The iteration before its first; of a resumed run, where it goes on."""
    patience: int = PATIENCE
    first_loss: float | None = None
    """None until it is known, and for ever in a stage whose beginning was in another sitting."""
    widest: float = 0.0
    """The greatest share of classes that its predictions have had."""
    narrow: int = 0
    """Evaluations in a row with few of them."""
    best: Evaluated | None = field(default=None, repr=False)
    """The one with the highest source accuracy."""
    doubtful: int = 0
    """Evaluations in a row that are surer and worse than that one."""


def ascent(window: Window) -> Judgement:
    """Every step is a gradient ascent: some L_k is always below zero, and the loss is never descended."""
    if 2 * window.ascents < WINDOW:
        return None
    share = window.ascended / window.ascents
    if share >= 0.95:
        return f"{100 * share:.0f} % of the last {window.ascents} steps were gradient ascents"
    return "" if share < 0.8 else None


def blind(window: Window) -> Judgement:
    """D says the same of every image.

    One that is honestly confused errs about 50 % by chance, by more than 1 % in batches of up to 1500 images; one that
    says always the same is right on exactly half of them.
    """
    if 2 * window.discriminated < WINDOW:
        return None
    off = window.off / window.discriminated
    if off < 1.0:
        return f"over {window.discriminated} iterations the discriminator was right on 50 %, ±{off:.1f}"
    return "" if off > 2.0 else None


def unbeaten(window: Window) -> Judgement:
    """D is always right although the adaptation has nearly its full strength."""
    if 2 * window.discriminated < WINDOW:
        return None
    right = window.guessed / window.discriminated
    if right > 99.0 and window.least_lambda >= FULL_STRENGTH:
        return f"over {window.discriminated} iterations the discriminator was right on {right:.1f} % of the images"
    return "" if right < 97.0 else None


def no_progress(window: Window, stage: Stage, iteration: int) -> Judgement:
    """The loss stands where it began."""
    loss = window.mean_loss()
    if stage.first_loss is None or loss is None or iteration - stage.began < stage.patience:
        return None
    if loss > 0.99 * stage.first_loss:
        done = iteration - stage.began
        return f"after {done} iterations the loss is {loss:.3g}; it began at {stage.first_loss:.3g}"
    return "" if loss < 0.95 * stage.first_loss else None


def collapse(event: Evaluated, stage: Stage) -> Judgement:
    """Nearly all target images are taken for a few classes: suddenly, or still after a patient while."""
    share = _share_of_classes(event.confusion or [])
    if share is None or event.iteration - stage.began < EARLY:
        return None
    stage.widest = max(stage.widest, share)
    stage.narrow = stage.narrow + 1 if share < 0.2 else 0
    fell = stage.narrow >= 2 and stage.widest >= 0.4
    never = stage.narrow >= 3 and event.iteration - stage.began >= stage.patience
    if fell or never:
        return _most(event.confusion or [])
    return "" if share > 0.3 else None


def overconfident(event: Evaluated, stage: Stage) -> Judgement:
    """The target's entropy collapses while the source is forgotten."""
    accuracy, entropy, best = event.source_accuracy, event.target_entropy, stage.best
    if accuracy is None or entropy is None or event.iteration - stage.began < EARLY:
        return None
    if best is None or best.source_accuracy is None or best.target_entropy is None or accuracy > best.source_accuracy:
        stage.best, stage.doubtful = event, 0
        return ""
    lost, left = best.source_accuracy - accuracy, entropy / max(best.target_entropy, 1e-9)
    stage.doubtful = stage.doubtful + 1 if lost > 5.0 and left < 0.5 else 0
    if stage.doubtful >= 2:
        before = f"it was {best.source_accuracy:.1f} % and {best.target_entropy:.2g}"
        return f"source accuracy is {accuracy:.1f} % and the target's entropy {entropy:.2g}; {before} in {_epoch(best)}"
    return "" if lost < 2.5 or left > 0.75 else None


def not_finite(measured: dict[str, float]) -> str:
    named = (f"{name} is {value}" for name, value in measured.items() if not math.isfinite(value))
    return ", ".join(named)


def _epoch(event: Evaluated) -> str:
    return f"epoch {event.epoch}"


def _share_of_classes(confusion: list[list[int]]) -> float | None:
    """0 where one class is predicted for all, 1 where predictions are as manifold as the truth."""
    true = _classes_in_effect(map(sum, confusion))
    predicted = _classes_in_effect(map(sum, zip(*confusion, strict=True)))
    return None if true < 1.1 else (predicted - 1) / (true - 1)


def _classes_in_effect(counts: Iterable[int]) -> float:
    """The number of equally frequent classes with the same entropy."""
    known = [count for count in counts if count > 0]
    total = sum(known)
    return math.exp(-sum(count / total * math.log(count / total) for count in known)) if known else 1.0


def _most(confusion: list[list[int]]) -> str:
    """How many classes get nine predictions of ten."""
    columns = sorted((sum(column) for column in zip(*confusion, strict=True)), reverse=True)
    total, taken, classes = sum(columns), 0, 0
    while taken < 0.9 * total:
        taken += columns[classes]
        classes += 1
    return f"{100 * taken / total:.0f} % of the target images are taken for {classes} of {len(columns)} classes"
