"""Choose the devices that a run may use, and the environment that its worker gets."""

import os
import re
from collections.abc import Collection, Mapping, Sequence

from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.text import GIB, printable
from core.errors import InputError

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
NEEDED = 2 * GIB
"""Bytes of free memory without which no run is started."""


def match_devices(request: str, devices: Sequence[Device]) -> list[Device]:
    """Return the devices that `auto`, `cpu`, `cuda`, `cuda:0,2` or prefixes of UUIDs name, in this order."""
    gpus = [device for device in devices if device.is_gpu]
    if request.strip() == "auto":
        return gpus or list(devices)
    matches: dict[str, Device] = {}
    name = ""
    for part in map(str.strip, request.split(",")):
        # In cuda:0,2 the second number names a GPU as well.
        name = f"cuda:{part}" if part.isdecimal() and name.startswith("cuda:") else part
        matches |= {device.key: device for device in _match_name(name, devices, gpus)}
    return list(matches.values())


def _match_name(name: str, devices: Sequence[Device], gpus: Sequence[Device]) -> list[Device]:
    if name == "cuda":
        matches = list(gpus)
    elif name.startswith(("GPU-", "MIG-")):
        matches = [device for device in gpus if device.key.startswith(name)]
        if len(matches) > 1:
            raise InputError(f"device: {name} matches {_format_labels(matches)}: give more of its UUID")
    elif re.fullmatch("cpu|cuda:[0-9]+", name):
        matches = [device for device in devices if device.label == name]
    else:
        raise InputError(f'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "{name}"')
    if not matches:
        problem = next((f" ({device.problem})" for device in devices if not device.is_gpu and device.problem), "")
        raise InputError(f"device: there is no {name} here, only {_format_labels(devices)}{problem}")
    return matches


def _format_labels(devices: Sequence[Device]) -> str:
    gpus = [device.label for device in devices if device.is_gpu]
    others = [device.label for device in devices if not device.is_gpu]
    if len(gpus) > 3 and others:
        return f"{gpus[0]} … {gpus[-1]} and {others[0]}"
    *first, last = gpus + others or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def unavailable_reason(device: Device, *, ours: Collection[int] = (), needed: int = NEEDED) -> str | None:
    """Return why no run may start on the device now; None if one may.

    `ours` are the pids of our workers: they and their children do not count. Processes that only draw, as a desktop
    does, use memory but do not block the device. What the driver does not report blocks nothing.
    """
    if not device.is_gpu:
        return None
    if device.problem:
        return device.problem
    for process in device.processes or ():
        if process.computes and not _is_ours(process.pid, ours):
            return f"in use by {format_process(process)}"
    if device.memory_total is None or device.memory_used is None:
        return None
    free = max(device.memory_total - device.memory_used, 0)
    if free < needed:
        return f"{free / GIB:.1f} of {device.memory_total / GIB:.1f} GiB free, {needed / GIB:.1f} needed"
    return None


def format_process(process: DeviceProcess) -> str:
    """Return a text like `process 4242 of ann (python)`, without what is unknown."""
    owner = f" of {printable(process.owner)}" if process.owner else ""
    command = f" ({printable(process.command)})" if process.command else ""
    return f"process {process.pid}{owner}{command}"


def _is_ours(pid: int, ours: Collection[int]) -> bool:
    """Return whether the process or one of its parents is a worker of ours."""
    if pid in ours or not ours:
        return pid in ours
    import psutil

    try:
        return any(parent.pid in ours for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


def worker_environment(device: Device, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of a worker that sees this device and no other GPU."""
    return {**environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE_DEVICES: device.key if device.is_gpu else ""}


def worker_device(device: Device) -> str:
    """Return the device's label inside its worker, which sees at most one GPU."""
    return "cuda:0" if device.is_gpu else "cpu"
