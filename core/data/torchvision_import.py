"""Import torchvision, also beside a CPU-only build of torch, where its compiled operators cannot be loaded."""

import importlib
import sys
from types import ModuleType
from typing import Any

_declared: list[Any] = []
"""Keeps declarations alive; torch drops them with the object."""


def torchvision() -> ModuleType:
    """Return the module with its data sets and models."""
    try:
        return importlib.import_module("torchvision")
    except RuntimeError as error:
        if "torchvision::nms" not in str(error) or _declared:
            raise
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    # The schemas of the two operators that importing torchvision requires.
    from torch.library import Library

    library: Any = Library("torchvision", "DEF")  # type: ignore[no-untyped-call]
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _declared.append(library)
    return importlib.import_module("torchvision")
