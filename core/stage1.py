"""What decides stage 1's labels: runs that agree on all of it can share them."""

from core.methods.registry import GAC, MethodSpec

VERSION = 1
"""Raised when the same data and settings give other labels than before."""

SOURCE_SETTINGS = ("source_size", "source_fraction", "ybars_per_sample", "usps_split", "image_size")
"""Settings that choose the source images and their labels."""

TRAINING_SETTINGS = (
    "stage1",
    "network",
    "weights",
    "complementary_loss",
    "ascent_by_counts",
    "class_priors",
    "rate_decay",
    "precision",
    "compile",
    "channels_last",
    "threads",
    "on_nan",
)
"""Settings that stage 1 learns with; `on_nan`, because a run that would have failed must not be given labels."""


def makes_stage1(method: MethodSpec) -> bool:
    """Whether a method trains our own GAC, for itself or for others: a plug-in's stage 1 may depend on anything."""
    first, *others = method.stages
    return first == GAC and (not others or takes_stage1(method))


def takes_stage1(method: MethodSpec) -> bool:
    """Whether a method can go on from labels that another run's GAC has made."""
    first, *others = method.stages
    return first == GAC and any(stage.labels == "pseudo" for stage in others)
