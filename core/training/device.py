"""Which device a run computes on, and torch's settings for as long as it does."""

from types import TracebackType
from typing import Any

import torch
import torch._functorch.config
import torch.utils.deterministic

from core.config import RunConfig
from core.errors import InputError

MEMORY: Any = torch.utils.deterministic  # torch types no attribute of it
COMPILED: Any = torch._functorch.config


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
        raise InputError(f"device: there is no {name} here, but {torch.cuda.device_count()} GPUs; say --device cpu")
    return device


class TorchSettings:
    """Threads and determinism: set on the way in, given back on the way out."""

    def __init__(self, config: RunConfig) -> None:
        self._config = config

    def __enter__(self) -> None:
        self._threads = torch.get_num_threads()
        self._deterministic = torch.are_deterministic_algorithms_enabled()
        self._warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
        self._fills = MEMORY.fill_uninitialized_memory
        self._donates = COMPILED.donated_buffer
        torch.set_num_threads(self._config.threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        # We read no memory before it is written: filling it costs a hundred calls an iteration.
        MEMORY.fill_uninitialized_memory = False
        # A shared forward pass has two backward passes: a compiled first one must not give away what the second reads.
        COMPILED.donated_buffer = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        torch.set_num_threads(self._threads)
        torch.use_deterministic_algorithms(self._deterministic, warn_only=self._warn_only)
        MEMORY.fill_uninitialized_memory = self._fills
        COMPILED.donated_buffer = self._donates
