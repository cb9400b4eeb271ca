"""What a training iteration asks of the device: operations in order, without running a GPU."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from core.config import RunConfig
from core.data.batches import normalise
from core.methods import find_method
from core.methods.algorithm import Algorithm, Batch, StageProblem, load_algorithm
from core.methods.registry import StageSpec
from core.training.plan import StagePlan, make_plan

SHAPES = {"grey": (28, 28, 1), "colour": (32, 32, 3)}
CLASSES = 4


def make_algorithm(config: RunConfig, shape: str, stage: StageSpec | None = None) -> Algorithm:
    """Return the algorithm of a stage, by default the last, for a source and a target of 64 images."""
    plan = make_plan(config, find_method(config.method), 64, 64)
    chosen = next((part for part in plan.stages if part.spec == stage), plan.stages[-1])
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


class OperationLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every operation with its arguments: tensors as shapes and strides, numbers as they are."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.namespace != "profiler":
            outputs = result if isinstance(result, tuple | list) else (result,)
            if any(isinstance(output, Tensor) and output.dtype == torch.float64 for output in outputs):
                raise TypeError(f"{function} computes in float64, which MPS does not have")
            described = torch.utils._pytree.tree_map(describe_argument, (args, kwargs or {}))
            self.operations.append(f"{function} {described}")
        return result


def describe_argument(value: Any) -> Any:
    return f"{value.dtype}{tuple(value.shape)}{value.stride()}" if isinstance(value, Tensor) else value


def is_view(operation: str) -> bool:
    """Return whether an operation of the log only looks at the same memory, which launches nothing."""
    namespace, name, overload = operation.split(" ", 1)[0].split(".")
    schema = getattr(getattr(getattr(torch.ops, namespace), name), overload)._schema
    return any(value.alias_info is not None and not value.alias_info.is_write for value in schema.returns)
