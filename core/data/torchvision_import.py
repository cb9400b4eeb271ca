"""torchvision, also beside a CPU-only build of torch, where its compiled operators cannot be loaded."""

import sys
from types import ModuleType
from typing import Any

_declared: list[Any] = []
"""Keeps the declarations below alive: torch forgets them with the object."""


def torchvision() -> ModuleType:
    """The module with its data sets, models and transforms."""
    try:
        return _imported()
    except RuntimeError as error:
        if "torchvision::nms" not in str(error) or _declared:
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    _declare_operators()
    return _imported()


def _imported() -> ModuleType:
    import torchvision
    import torchvision.datasets
    import torchvision.models

    module: ModuleType = torchvision
    return module


def _declare_operators() -> None:
    """The two operators that torchvision's import insists on, by their schemas only."""
    from torch.library import Library

    library: Any = Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
