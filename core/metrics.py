"""The metric catalogue: what each metric means, when it is measured and where it is shown.

A new metric is described here and returned by a method's `step`. Metrics of plug-ins need no description.
"""

from dataclasses import dataclass
from typing import Literal

Level = Literal["iteration", "evaluation"]
Kind = Literal["accuracy", "loss", "diagnostic", "share", "rate", "speed"]
"""An accuracy is recorded in percent, a share as a number from 0 to 1."""


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

    def __post_init__(self) -> None:
        words = self.name.replace("_", " ")
        object.__setattr__(self, "label", self.label or words)
        object.__setattr__(self, "title", self.title or words.capitalize())

    @property
    def unit(self) -> str:
        return "%" if self.kind in ("accuracy", "share") else ""

    @property
    def factor(self) -> float:
        """The multiplier that converts the recorded value to `unit`."""
        return 100.0 if self.kind == "share" else 1.0

    @property
    def noisy(self) -> bool:
        """Whether single iterations scatter, so that a recent mean is shown instead of the last value."""
        return self.kind != "rate"

    @property
    def title_with_unit(self) -> str:
        return f"{self.title} {self.unit}".rstrip()


def _at_evaluation(name: str, kind: Kind, description: str, label: str = "", title: str = "") -> Metric:
    return Metric(name, kind, description, label, title, level="evaluation")


_CATALOGUE = (
    _at_evaluation(
        "target_accuracy", "accuracy", "share of target test images classified correctly, in percent", "target"
    ),
    _at_evaluation(
        "source_accuracy", "accuracy", "share of source test images classified correctly, in percent", "source"
    ),
    _at_evaluation(
        "pseudo_label_accuracy",
        "accuracy",
        "share of source images whose pseudo-label is the true one, in percent",
        "pseudo-labels",
        "Pseudo-label accuracy",
    ),
    _at_evaluation("target_loss", "loss", "cross-entropy on target test images"),
    _at_evaluation("source_loss", "loss", "cross-entropy on source test images"),
    _at_evaluation("complementary_risk", "loss", "Eq. 6 on held-out source images; needs no true label", "risk"),
    _at_evaluation("target_entropy", "diagnostic", "mean entropy of the predictions for target test images"),
    _at_evaluation(
        "target_information",
        "diagnostic",
        "entropy of the mean target prediction minus the mean entropy; needs no label",
        "information",
    ),
    Metric("complementary_loss", "loss", "Σ_k L_k of Eq. 6, never the ascent surrogate", "complementary"),
    Metric("ascended", "share", "1 where the step was a gradient ascent", "ascent so far", "Gradient ascent"),
    Metric("least_class_loss", "loss", "min_k L_k of Eq. 5; below zero the step ascends"),
    Metric("classification_loss", "loss", "cross-entropy with true or pseudo-labels", "classification"),
    Metric("adversarial_loss", "loss", "L_adv of Eq. 9 as a cross-entropy", "adversarial"),
    Metric("mmd", "loss", "multi-kernel maximum mean discrepancy", "MMD", "MMD"),
    Metric(
        "teacher_loss", "loss", "cross-entropy with the averaged teacher's confident labels of the target", "teacher"
    ),
    Metric(
        "relabel_loss",
        "loss",
        "cross-entropy with the teacher's predictions of the source, less what is ruled out",
        "relabel",
    ),
    Metric(
        "surrogate_loss",
        "loss",
        "the loss that is minimised in place of Eq. 6: forward, SCL-EXP or pairwise",
        "surrogate",
    ),
    Metric("information_loss", "loss", "minus the information of the target's predictions", "IM"),
    Metric("confusion_loss", "loss", "minimum class confusion of the target", "class confusion"),
    Metric(
        "target_confident",
        "share",
        "share of target images whose teacher's label is used",
        "target labelled",
        "Target labelled by the teacher",
    ),
    Metric("lambda", "rate", "weight of the adaptation, rising from 0 to 1", "λ", "λ"),
    Metric("discriminator_accuracy", "accuracy", "share of images whose domain D guesses, in percent", "D accuracy"),
    Metric("entropy", "diagnostic", "mean entropy of T(f) over both domains"),
    Metric("classifier_rate", "rate", "learning rate of G and F", "learning rate", "Learning rate of G and F"),
    Metric("discriminator_rate", "rate", "learning rate of D", "learning rate of D", "Learning rate of D"),
    Metric("samples_per_second", "speed", "images trained on in a second", "images/s", "Images per second"),
)
METRICS = {metric.name: metric for metric in _CATALOGUE}

MINIMISED = ("classification_loss", "surrogate_loss", "complementary_loss")
"""The first of these that an iteration has is the loss that it minimises."""
View = Literal["accuracy chart", "loss chart", "sidebar", "status line", "comparison", "log", "loss figure"]
_ACCURACIES = ("target_accuracy", "source_accuracy", "pseudo_label_accuracy")
_LOSSES = ("complementary_loss", "classification_loss", "adversarial_loss", "mmd", "teacher_loss")
_SHOWN: dict[View, tuple[str, ...]] = {
    "accuracy chart": _ACCURACIES,
    "loss chart": (*_LOSSES, "relabel_loss", "surrogate_loss"),
    "sidebar": (
        *("ascended", "least_class_loss", "information_loss", "target_confident", "lambda", "discriminator_accuracy"),
        *("entropy", "classifier_rate", "samples_per_second"),
    ),
    "status line": ("ascended", "target_confident", "lambda", "discriminator_accuracy", "samples_per_second"),
    "comparison": (
        *(*_ACCURACIES, *_LOSSES, "relabel_loss", "surrogate_loss", "information_loss", "target_confident"),
        *("discriminator_accuracy", "entropy"),
    ),
    "log": (*_LOSSES, "surrogate_loss"),
    "loss figure": ("complementary_loss", "adversarial_loss"),
}


def describe_metric(name: str) -> Metric:
    """Return the description of any metric; one of a plug-in has only its name."""
    return METRICS.get(name) or Metric(name, "diagnostic", "recorded by a plug-in")


def shown_in(view: View) -> dict[str, Metric]:
    """Return the metrics that `view` shows, by name and in order; the order decides the colours in a chart."""
    return {name: METRICS[name] for name in _SHOWN[view]}


def level_of(name: str) -> Level:
    """Return when a metric is measured; a plug-in's metrics are measured at iterations."""
    return METRICS[name].level if name in METRICS else "iteration"


def is_reproducible(name: str) -> bool:
    """Return whether repeating a run gives the same value to the last bit; measured times differ."""
    return name not in METRICS or METRICS[name].kind != "speed"
