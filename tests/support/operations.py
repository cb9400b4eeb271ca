"""Algorithms of each method and batches for them, of both image shapes."""

import torch
from torch import Tensor

from core.config import RunConfig
from core.data.batches import normalise
from core.methods import StageSpec, find_method
from core.methods.algorithm import Algorithm, Batch, StageProblem, load_algorithm
from core.methods.plan import StagePlan, make_plan

SHAPES = {"grey": (28, 28, 1), "colour": (32, 32, 3)}
CLASSES = 4


def make_algorithm(config: RunConfig, shape: str, stage: StageSpec | None = None) -> Algorithm:
    """Return the algorithm of a stage, by default the last, for a source and a target of 64 images."""
    stages = make_plan(config, find_method(config.method), 64, 64)
    chosen = next((part for part in stages if part.spec == stage), stages[-1])
    priors = torch.full((CLASSES,), 1 / CLASSES)
    problem = StageProblem(config, chosen, SHAPES[shape], CLASSES, priors, torch.device("cpu"))
    return load_algorithm(chosen.spec)(problem)


def make_batch(stage: StagePlan, shape: str, seed: int = 1) -> Batch:
    height, width, channels = SHAPES[shape]
    generator = torch.Generator().manual_seed(seed)

    def images() -> Tensor:
        pixels = torch.randint(0, 256, (stage.batch_size, height, width, channels), generator=generator)
        return normalise(pixels.to(torch.uint8), channels_last=True)

    labels = torch.randint(0, CLASSES, (stage.batch_size,), generator=generator)
    target = images() if stage.spec.adapts else None
    if stage.spec.labels == "complementary":
        return Batch(images(), target, weights=torch.nn.functional.one_hot(labels, CLASSES).float())
    return Batch(images(), target, labels=labels)
