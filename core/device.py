"""The device of a run, and torch's settings while it trains."""

import os
import warnings
from typing import Any, Self

import torch
import torch._functorch.config
import torch.utils.deterministic

from core.errors import InputError

DETERMINISTIC: Any = torch.utils.deterministic  # its attributes have no types
GPU_TYPES = ("cuda", "xpu", "mps")
FUNCTORCH: Any = torch._functorch.config
CUDNN: Any = torch.backends.cudnn


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


class TrainingSettings:
    """Settings of torch, and of Python's warnings, in effect while a run trains; the caller's are restored on exit.

    torch's own default computes convolutions in TF32 on recent GPUs; here precision "32" means IEEE.
    """

    def __init__(self, threads: int, precision: str = "32") -> None:
        self.notices: list[str] = []
        """Operations that are not deterministic, each once, from torch's warnings; others are shown as usual."""
        self._known: set[str] = set()
        self._threads = threads
        float32 = "tf32" if precision == "tf32" else "ieee"
        self._values: list[tuple[Any, str, Any]] = [
            (DETERMINISTIC, "fill_uninitialized_memory", False),  # costs a hundred calls an iteration, and none is read
            # A shared forward pass has two backward passes: the compiled first one must keep the buffers of the second.
            (FUNCTORCH, "donated_buffer", False),
            (CUDNN.conv, "fp32_precision", float32),
            (torch.backends.cuda.matmul, "fp32_precision", float32),
            (warnings, "showwarning", self._collect),
        ]
        self._before: list[tuple[Any, str, Any]] = []
        """The caller's values; empty while they are in effect."""
        # Deterministic matrix products need this before CUDA starts; it is read once.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(self, *error: object) -> None:
        self.suspend()

    def resume(self) -> None:
        """Set them, and keep the caller's; nothing if they are in effect."""
        if self._before:
            return
        self._modes_before = torch.get_num_threads(), torch.get_deterministic_debug_mode()
        self._before = [(owner, name, getattr(owner, name)) for owner, name, _ in self._values]
        torch.set_num_threads(self._threads)
        torch.use_deterministic_algorithms(True, warn_only=True)
        for owner, name, value in self._values:
            setattr(owner, name, value)

    def suspend(self) -> None:
        """Give the caller its own settings back, which it may change until `resume`."""
        if not self._before:
            return
        threads, mode = self._modes_before
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(mode > 0, warn_only=mode == 1)
        for owner, name, value in self._before:
            setattr(owner, name, value)
        self._before = []

    def _collect(self, message: Warning | str, *place: Any, **more: Any) -> None:
        text = str(message).partition("\n")[0].partition(", but")[0]
        if "determinis" not in text:
            self._before[-1][2](message, *place, **more)
        elif text not in self._known:
            self._known.add(text)
            self.notices.append(f"{text}: the same run may give other numbers")
