"""The device of a run, and torch's settings while it trains."""

import os
import warnings
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


@contextmanager
def torch_settings(threads: int, precision: str = "32") -> Iterator[None]:
    """Set the number of threads, determinism and the precision of float32 on GPUs, and restore all on exit.

    torch's own default computes convolutions in TF32 on recent GPUs; here "32" means IEEE.
    """
    # Deterministic matrix products need this before CUDA starts; it is read once.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    float32 = "tf32" if precision == "tf32" else "ieee"
    threads_before = torch.get_num_threads()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    backends = [
        (DETERMINISTIC, "fill_uninitialized_memory", False),  # costs a hundred calls an iteration, and none is read
        # A shared forward pass has two backward passes: the compiled first one must keep the buffers of the second.
        (FUNCTORCH, "donated_buffer", False),
        (CUDNN.conv, "fp32_precision", float32),
        (torch.backends.cuda.matmul, "fp32_precision", float32),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in backends]
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(True, warn_only=True)
    for owner, name, value in backends:
        setattr(owner, name, value)
    try:
        yield
    finally:
        torch.set_num_threads(threads_before)
        torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)
        for owner, name, value in before:
            setattr(owner, name, value)


@contextmanager
def nondeterminism() -> Iterator[list[str]]:
    """Collect torch's warnings of operations that are not deterministic, each once; others are shown as before."""
    found: list[str] = []
    known: set[str] = set()
    show = warnings.showwarning

    def collect(message: Warning | str, *place: Any, **more: Any) -> None:
        text = str(message).partition("\n")[0].partition(", but")[0]
        if "determinis" not in text:
            show(message, *place, **more)
        elif text not in known:
            known.add(text)
            found.append(f"{text}: the same run may give other numbers")

    warnings.showwarning = collect
    try:
        yield found
    finally:
        warnings.showwarning = show
