"""The device of a run, and torch's settings while it trains."""

from types import TracebackType
from typing import Any

import torch
import torch._functorch.config
import torch.utils.deterministic

from core.config import RunConfig
from core.errors import InputError

DETERMINISTIC: Any = torch.utils.deterministic  # its attributes have no types
FUNCTORCH: Any = torch._functorch.config


def find_device(name: str) -> torch.device:
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except RuntimeError:
        raise InputError(f'device: expected auto, cpu or cuda:0, got "{name}"') from None
    if device.type not in ("cpu", "cuda"):
        raise InputError(f'device: expected auto, cpu or cuda:0, got "{name}"')
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise InputError(
            f"device: {name} does not exist, this machine has {torch.cuda.device_count()} GPUs; use --device cpu"
        )
    return device


class TorchSettings:
    """Sets threads and determinism on entry, and restores them on exit."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    def __enter__(self) -> None:
        self._threads = torch.get_num_threads()
        self._deterministic = torch.are_deterministic_algorithms_enabled()
        self._warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        self._fill_memory = DETERMINISTIC.fill_uninitialized_memory
        self._donated_buffer = FUNCTORCH.donated_buffer
        torch.set_num_threads(self._config.threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        # No memory is read before it is written, and filling it costs a hundred calls an iteration.
        DETERMINISTIC.fill_uninitialized_memory = False
        # A shared forward pass has two backward passes: the compiled first one must keep the buffers of the second.
        FUNCTORCH.donated_buffer = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_num_threads(self._threads)
        torch.use_deterministic_algorithms(self._deterministic, warn_only=self._warn_only)
        DETERMINISTIC.fill_uninitialized_memory = self._fill_memory
        FUNCTORCH.donated_buffer = self._donated_buffer
