"""A log of the operations that torch asks a device for."""

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_map


class OperationLog(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Every operation with its arguments: tensors as types, shapes and strides, numbers as they are."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.operations: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.namespace != "profiler":
            self.operations.append(
                f"{function} {tree_map(_describe, (args, kwargs or {}))} -> {tree_map(_type, result)}"
            )
        return result


def is_view(operation: str) -> bool:
    """Return whether an operation of the log only looks at the same memory, which launches nothing."""
    namespace, name, overload = operation.split(" ", 1)[0].split(".")
    schema = getattr(getattr(getattr(torch.ops, namespace), name), overload)._schema
    return any(value.alias_info is not None and not value.alias_info.is_write for value in schema.returns)


def count_launches(operations: list[str]) -> int:
    """Return the number of operations that are not views."""
    return sum(not is_view(operation) for operation in operations)


def _describe(value: Any) -> Any:
    return f"{value.dtype}{tuple(value.shape)}{value.stride()}" if isinstance(value, Tensor) else value


def _type(value: Any) -> Any:
    return value.dtype if isinstance(value, Tensor) else value
