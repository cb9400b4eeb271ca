"""What an algorithm gets once and in each iteration, and what its step returns."""

from dataclasses import dataclass

import torch
from torch import Tensor

from core.config import RunConfig
from core.training.plan import StagePlan


@dataclass(frozen=True)
class StageProblem:
    """The inputs of an algorithm: settings, sizes and device."""

    config: RunConfig
    stage_plan: StagePlan
    shape: tuple[int, int, int]
    classes: int
    priors: Tensor
    """π̄ of the whole source set."""
    device: torch.device


@dataclass(frozen=True)
class Batch:
    """One iteration's images and labels: complementary ones as weights (B,K), others as classes (B,)."""

    source: Tensor
    target: Tensor | None = None
    weights: Tensor | None = None
    labels: Tensor | None = None
    clean_source: Tensor | None = None
    """`source` before it was jittered, cropped or recoloured; None if it was not."""
    clean_target: Tensor | None = None


@dataclass(frozen=True)
class Outputs:
    """The features of G and the logits of F for a batch of one domain."""

    features: Tensor
    logits: Tensor
    joint: "Outputs | None" = None
    """Those of both domains, if one pass computed them."""


@dataclass
class StepMetrics:
    """The metrics of one step: tensors that stay on the device, and numbers that are known without it."""

    on_device: dict[str, Tensor]
    on_host: dict[str, float]


def join(source: Outputs, target: Outputs) -> Outputs:
    """Return the outputs of both domains, the source first."""
    if source.joint is not None:
        return source.joint
    return Outputs(torch.cat((source.features, target.features)), torch.cat((source.logits, target.logits)))
