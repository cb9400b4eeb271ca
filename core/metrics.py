"""The metric catalogue: what each metric means, when it is measured and where it is shown.

A new metric needs its entry here and the method that measures it. Metrics of plug-ins need no entry.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["iteration", "evaluation"]
Kind = Literal["accuracy", "loss", "diagnostic", "rate", "speed"]
Place = Literal["accuracy chart", "loss chart", "readings", "short readings", "comparison", "log", "loss figure"]


@dataclass(frozen=True, kw_only=True)
class Metric:
    name: str
    title: str
    label: str
    """Short title in a chart's legend and in the readings beside it."""
    description: str
    kind: Kind
    level: Level = "iteration"
    unit: str = ""
    factor: float = 1.0
    """Multiplier that converts the recorded value to `unit`."""
    noisy: bool = True
    """Whether single iterations scatter, so that a recent mean is shown instead of the last value."""
    shown: tuple[Place, ...] = ()

    @property
    def reproducible(self) -> bool:
        """Whether repeating a run gives the same value to the last bit; a clock's reading differs."""
        return self.kind != "speed"

    @property
    def title_with_unit(self) -> str:
        return f"{self.title} {self.unit}".rstrip()


_CATALOGUE = (
    Metric(
        name="target_accuracy",
        title="Target accuracy",
        label="target",
        description="share of target test images classified correctly, in percent",
        kind="accuracy",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric(
        name="source_accuracy",
        title="Source accuracy",
        label="source",
        description="share of source test images classified correctly, in percent",
        kind="accuracy",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric(
        name="pseudo_label_accuracy",
        title="Pseudo-label accuracy",
        label="pseudo-labels",
        description="share of source images whose pseudo-label is the true one, in percent",
        kind="accuracy",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric(
        name="target_loss",
        title="Target loss",
        label="target loss",
        description="cross-entropy on target test images",
        kind="loss",
        level="evaluation",
    ),
    Metric(
        name="source_loss",
        title="Source loss",
        label="source loss",
        description="cross-entropy on source test images",
        kind="loss",
        level="evaluation",
    ),
    Metric(
        name="complementary_risk",
        title="Complementary risk",
        label="risk",
        description="Eq. 6 on held-out source images; needs no true label",
        kind="loss",
        level="evaluation",
    ),
    Metric(
        name="target_entropy",
        title="Target entropy",
        label="target entropy",
        description="mean entropy of the predictions for target test images",
        kind="diagnostic",
        level="evaluation",
    ),
    Metric(
        name="target_information",
        title="Target information",
        label="information",
        description="entropy of the mean target prediction minus the mean entropy; needs no label",
        kind="diagnostic",
        level="evaluation",
    ),
    Metric(
        name="complementary_loss",
        title="Complementary loss",
        label="complementary",
        description="Σ_k L_k of Eq. 6, never the ascent surrogate",
        kind="loss",
        shown=("loss chart", "comparison", "log", "loss figure"),
    ),
    Metric(
        name="ascended",
        title="Gradient ascent",
        label="ascent so far",
        description="1 where the step was a gradient ascent",
        kind="diagnostic",
        unit="%",
        factor=100.0,
        shown=("readings", "short readings"),
    ),
    Metric(
        name="least_class_loss",
        title="Least class loss",
        label="least class loss",
        description="min_k L_k of Eq. 5; below zero the step ascends",
        kind="loss",
        shown=("readings",),
    ),
    Metric(
        name="classification_loss",
        title="Classification loss",
        label="classification",
        description="cross-entropy with true or pseudo-labels",
        kind="loss",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        name="adversarial_loss",
        title="Adversarial loss",
        label="adversarial",
        description="L_adv of Eq. 9 as a cross-entropy",
        kind="loss",
        shown=("loss chart", "comparison", "log", "loss figure"),
    ),
    Metric(
        name="mmd",
        title="MMD",
        label="MMD",
        description="multi-kernel maximum mean discrepancy",
        kind="loss",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        name="lambda",
        title="λ",
        label="λ",
        description="weight of the adaptation, rising from 0 to 1",
        kind="rate",
        noisy=False,
        shown=("readings", "short readings"),
    ),
    Metric(
        name="discriminator_accuracy",
        title="Discriminator accuracy",
        label="D accuracy",
        description="share of images whose domain D guesses, in percent",
        kind="accuracy",
        unit="%",
        shown=("readings", "short readings", "comparison"),
    ),
    Metric(
        name="entropy",
        title="Entropy",
        label="entropy",
        description="mean entropy of T(f) over both domains",
        kind="diagnostic",
        shown=("readings", "comparison"),
    ),
    Metric(
        name="classifier_rate",
        title="Learning rate of G and F",
        label="learning rate",
        description="learning rate of G and F",
        kind="rate",
        noisy=False,
        shown=("readings",),
    ),
    Metric(
        name="discriminator_rate",
        title="Learning rate of D",
        label="learning rate of D",
        description="learning rate of D",
        kind="rate",
        noisy=False,
    ),
    Metric(
        name="samples_per_second",
        title="Images per second",
        label="images/s",
        description="images trained on in a second",
        kind="speed",
        shown=("readings", "short readings"),
    ),
)
METRICS = {metric.name: metric for metric in _CATALOGUE}


def shown_in(place: Place) -> dict[str, Metric]:
    """Return the metrics that `place` shows, by name and in order; the order decides the colours in a chart."""
    return {name: metric for name, metric in METRICS.items() if place in metric.shown}


def level_of(name: str) -> Level:
    """Return when a metric is measured; a plug-in's metrics are measured at iterations."""
    return METRICS[name].level if name in METRICS else "iteration"


def is_reproducible(name: str) -> bool:
    return name not in METRICS or METRICS[name].reproducible
