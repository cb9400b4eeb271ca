"""The metric catalogue: what each metric means, when it is measured and where it is shown.

A new metric is described here and returned by a method's `step`. Metrics of plug-ins need no description.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["iteration", "evaluation"]
Kind = Literal["accuracy", "loss", "diagnostic", "rate", "speed"]
ShownIn = Literal["accuracy chart", "loss chart", "sidebar", "status line", "comparison", "log", "loss figure"]


@dataclass(frozen=True)
class Metric:
    name: str
    kind: Kind
    description: str
    label: str = ""
    """Short title in a chart's legend and in the sidebar; by default the name in words."""
    title: str = ""
    """Title of a chart or a column; by default the name in words, capitalised."""
    level: Level = "iteration"
    unit: str = ""
    factor: float = 1.0
    """Multiplier that converts the recorded value to `unit`."""
    noisy: bool = True
    """Whether single iterations scatter, so that a recent mean is shown instead of the last value."""
    shown: tuple[ShownIn, ...] = ()

    def __post_init__(self) -> None:
        words = self.name.replace("_", " ")
        object.__setattr__(self, "label", self.label or words)
        object.__setattr__(self, "title", self.title or words.capitalize())

    @property
    def title_with_unit(self) -> str:
        return f"{self.title} {self.unit}".rstrip()


_CATALOGUE = (
    Metric(
        "target_accuracy",
        "accuracy",
        "share of target test images classified correctly, in percent",
        label="target",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric(
        "source_accuracy",
        "accuracy",
        "share of source test images classified correctly, in percent",
        label="source",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric(
        "pseudo_label_accuracy",
        "accuracy",
        "share of source images whose pseudo-label is the true one, in percent",
        label="pseudo-labels",
        title="Pseudo-label accuracy",
        level="evaluation",
        unit="%",
        shown=("accuracy chart", "comparison"),
    ),
    Metric("target_loss", "loss", "cross-entropy on target test images", level="evaluation"),
    Metric("source_loss", "loss", "cross-entropy on source test images", level="evaluation"),
    Metric(
        "complementary_risk",
        "loss",
        "Eq. 6 on held-out source images; needs no true label",
        label="risk",
        level="evaluation",
    ),
    Metric(
        "target_entropy", "diagnostic", "mean entropy of the predictions for target test images", level="evaluation"
    ),
    Metric(
        "target_information",
        "diagnostic",
        "entropy of the mean target prediction minus the mean entropy; needs no label",
        label="information",
        level="evaluation",
    ),
    Metric(
        "complementary_loss",
        "loss",
        "Σ_k L_k of Eq. 6, never the ascent surrogate",
        label="complementary",
        shown=("loss chart", "comparison", "log", "loss figure"),
    ),
    Metric(
        "ascended",
        "diagnostic",
        "1 where the step was a gradient ascent",
        label="ascent so far",
        title="Gradient ascent",
        unit="%",
        factor=100.0,
        shown=("sidebar", "status line"),
    ),
    Metric("least_class_loss", "loss", "min_k L_k of Eq. 5; below zero the step ascends", shown=("sidebar",)),
    Metric(
        "classification_loss",
        "loss",
        "cross-entropy with true or pseudo-labels",
        label="classification",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        "adversarial_loss",
        "loss",
        "L_adv of Eq. 9 as a cross-entropy",
        label="adversarial",
        shown=("loss chart", "comparison", "log", "loss figure"),
    ),
    Metric(
        "mmd",
        "loss",
        "multi-kernel maximum mean discrepancy",
        label="MMD",
        title="MMD",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        "teacher_loss",
        "loss",
        "cross-entropy with the averaged teacher's confident labels of the target",
        label="teacher",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        "relabel_loss",
        "loss",
        "cross-entropy with the teacher's predictions of the source, less what is ruled out",
        label="relabel",
        shown=("loss chart", "comparison"),
    ),
    Metric(
        "surrogate_loss",
        "loss",
        "the loss that is minimised in place of Eq. 6: forward, SCL-EXP or pairwise",
        label="surrogate",
        shown=("loss chart", "comparison", "log"),
    ),
    Metric(
        "information_loss",
        "loss",
        "minus the information of the target's predictions",
        label="IM",
        shown=("sidebar", "comparison"),
    ),
    Metric("confusion_loss", "loss", "minimum class confusion of the target", label="class confusion"),
    Metric(
        "target_confident",
        "diagnostic",
        "share of target images whose teacher's label is used",
        label="target labelled",
        title="Target labelled by the teacher",
        unit="%",
        factor=100.0,
        shown=("sidebar", "status line", "comparison"),
    ),
    Metric(
        "lambda",
        "rate",
        "weight of the adaptation, rising from 0 to 1",
        label="λ",
        title="λ",
        noisy=False,
        shown=("sidebar", "status line"),
    ),
    Metric(
        "discriminator_accuracy",
        "accuracy",
        "share of images whose domain D guesses, in percent",
        label="D accuracy",
        unit="%",
        shown=("sidebar", "status line", "comparison"),
    ),
    Metric("entropy", "diagnostic", "mean entropy of T(f) over both domains", shown=("sidebar", "comparison")),
    Metric(
        "classifier_rate",
        "rate",
        "learning rate of G and F",
        label="learning rate",
        title="Learning rate of G and F",
        noisy=False,
        shown=("sidebar",),
    ),
    Metric(
        "discriminator_rate",
        "rate",
        "learning rate of D",
        label="learning rate of D",
        title="Learning rate of D",
        noisy=False,
    ),
    Metric(
        "samples_per_second",
        "speed",
        "images trained on in a second",
        label="images/s",
        title="Images per second",
        shown=("sidebar", "status line"),
    ),
)
METRICS = {metric.name: metric for metric in _CATALOGUE}


def shown_in(view: ShownIn) -> dict[str, Metric]:
    """Return the metrics that `view` shows, by name and in order; the order decides the colours in a chart."""
    return {name: metric for name, metric in METRICS.items() if view in metric.shown}


def level_of(name: str) -> Level:
    """Return when a metric is measured; a plug-in's metrics are measured at iterations."""
    return METRICS[name].level if name in METRICS else "iteration"


def is_reproducible(name: str) -> bool:
    """Return whether repeating a run gives the same value to the last bit; measured times differ."""
    return name not in METRICS or METRICS[name].kind != "speed"
