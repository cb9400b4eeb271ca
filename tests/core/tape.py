"""A stand-in for a CUDA graph: records operations and executes them again on the same memory, numbers included."""

from collections.abc import Callable
from typing import Any

from torch import Tag, Tensor, no_grad
from torch.utils._python_dispatch import TorchDispatchMode

from core.methods.algorithm import StepMetrics

Operation = tuple[Any, Any, Any, Any]
"""Function, arguments, keywords and the result of the recording."""


class Tape:
    def __init__(self) -> None:
        self.operations: list[Operation] = []
        self.replays = 0

    def capture(self, function: Callable[[], StepMetrics]) -> StepMetrics:
        with _Recorder(self.operations):
            return function()

    @no_grad()
    def replay(self) -> None:
        self.replays += 1
        for operation in self.operations:
            self.execute(*operation)

    def execute(self, function: Any, args: Any, kwargs: Any, recorded: Any) -> None:
        """Execute an operation again; new results are copied to where the recording had them."""
        aliases = [value.alias_info for value in function._schema.returns]
        if Tag.inplace_view in function.tags or any(alias is not None and not alias.is_write for alias in aliases):
            return  # a view of memory that has the new values already
        result = function(*args, **kwargs)
        if not any(aliases):
            for old, new in zip(_tensors(recorded), _tensors(result), strict=True):
                old.copy_(new.reshape(old.shape))  # squeeze_ has changed it since


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, operations: list[Operation]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operations = operations

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if function.namespace != "profiler":
            self._operations.append((function, args, kwargs or {}, result))
        return result


def _tensors(result: Any) -> list[Tensor]:
    values = result if isinstance(result, tuple | list) else (result,)
    return [value for value in values if isinstance(value, Tensor)]
