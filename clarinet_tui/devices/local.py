"""The GPUs and the CPU of this machine: what they are, who uses them, and where a run may compute."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path

from clarinet_tui.devices.device import Device, Process
from clarinet_tui.devices.placement import candidates, who, why_not_free, worker_device, worker_environment
from clarinet_tui.devices.visible import NAME

__all__ = [
    "Device",
    "Process",
    "candidates",
    "list_devices",
    "who",
    "why_not_free",
    "worker_device",
    "worker_environment",
]


def list_devices(environ: Mapping[str, str] = os.environ, *, seconds: float = 0.1) -> list[Device]:
    """GPUs first, in torch's order, then the CPU, whose use is measured for `seconds`; with 0 it stays unknown.

    CUDA_VISIBLE_DEVICES counts in PCI order, as nvidia-smi and our workers do.
    """
    from clarinet_tui.devices.nvml import read_gpus

    gpus, trouble = read_gpus(environ.get(NAME))
    return [*gpus, read_cpu(seconds, trouble)]


def read_cpu(seconds: float, trouble: str | None = None) -> Device:
    import psutil

    memory = psutil.virtual_memory()
    return Device(
        key="cpu",
        label="cpu",
        name=processor(),
        cores=_cores(),
        memory_total=memory.total,
        memory_used=memory.total - memory.available,
        use=psutil.cpu_percent(seconds) if seconds > 0 else None,
        trouble=trouble,
    )


def processor() -> str:
    """As Linux on a PC names it; elsewhere at least its kind."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine() or "CPU"


def _cores() -> int | None:
    """A batch job may be held to fewer cores than there are."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
