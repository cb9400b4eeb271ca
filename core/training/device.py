"""The device of a run, and torch's settings while it trains."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
import torch._functorch.config
import torch.utils.deterministic

from core.errors import InputError

DETERMINISTIC: Any = torch.utils.deterministic  # its attributes have no types
GPU_TYPES = ("cuda", "xpu", "mps")
FUNCTORCH: Any = torch._functorch.config


def find_device(name: str) -> torch.device:
    """Return the device; `auto` is a GPU of any kind that torch can use, or else the CPU."""
    if name == "auto":
        return torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")
    try:
        device: torch.device | None = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", *GPU_TYPES):
        raise InputError(f'device: expected auto, cpu or cuda:0, got "{name}"')
    if device.type in GPU_TYPES:
        count = torch.get_device_module(device.type).device_count()
        if (device.index or 0) >= count:
            raise InputError(f"device: {name} does not exist, this machine has {count} GPUs; use --device cpu")
    return device


@contextmanager
def torch_settings(threads: int) -> Iterator[None]:
    """Set the number of threads and determinism, and restore both on exit."""
    threads_before = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    fill_memory, donated_buffer = DETERMINISTIC.fill_uninitialized_memory, FUNCTORCH.donated_buffer
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    # No memory is read before it is written, and filling it costs a hundred calls an iteration.
    DETERMINISTIC.fill_uninitialized_memory = False
    # A shared forward pass has two backward passes: the compiled first one must keep the buffers of the second.
    FUNCTORCH.donated_buffer = False
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        DETERMINISTIC.fill_uninitialized_memory = fill_memory
        FUNCTORCH.donated_buffer = donated_buffer
