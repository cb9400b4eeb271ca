"""Where a run may compute: the devices that it asks for, whether one is free, and what its worker sees of it."""

import os
import re
from collections.abc import Collection, Mapping, Sequence

from clarinet_tui.devices.device import Device, Process
from clarinet_tui.devices.visible import BEGINNINGS, NAME
from clarinet_tui.text import printable
from core.errors import InputError

GIB = 1 << 30
NEEDED = 2 * GIB
LABEL = re.compile("cpu|cuda:[0-9]+")


def candidates(request: str, devices: Sequence[Device]) -> list[Device]:
    """The devices that `auto`, `cpu`, `cuda`, `cuda:0,2` or beginnings of UUIDs stand for, in the order asked for."""
    gpus = [device for device in devices if device.is_gpu]
    if request.strip() == "auto":
        return gpus or list(devices)
    found: dict[str, Device] = {}
    name = ""
    for word in map(str.strip, request.split(",")):
        # In cuda:0,2 the second number is a GPU's as well.
        name = f"cuda:{word}" if word.isdecimal() and name.startswith("cuda:") else word
        found |= {device.key: device for device in _named(name, devices, gpus)}
    return list(found.values())


def _named(name: str, devices: Sequence[Device], gpus: Sequence[Device]) -> list[Device]:
    if name == "cuda":
        found = list(gpus)
    elif name.startswith(BEGINNINGS):
        found = [device for device in gpus if device.key.startswith(name)]
        if len(found) > 1:
            raise InputError(f"device: {name} may be {_listed(found)}: give more of its UUID")
    elif LABEL.fullmatch(name):
        found = [device for device in devices if device.label == name]
    else:
        raise InputError(f'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "{name}"')
    if not found:
        trouble = next((f" ({device.trouble})" for device in devices if not device.is_gpu and device.trouble), "")
        raise InputError(f"device: there is no {name} here, but {_listed(devices)}{trouble}")
    return found


def _listed(devices: Sequence[Device]) -> str:
    gpus = [device.label for device in devices if device.is_gpu]
    others = [device.label for device in devices if not device.is_gpu]
    if len(gpus) > 3 and others:
        return f"{gpus[0]} … {gpus[-1]} and {others[0]}"
    *first, last = gpus + others or ["nothing"]
    return f"{', '.join(first)} and {last}" if first else last


def why_not_free(device: Device, *, ours: Collection[int] = (), needed: int = NEEDED) -> str | None:
    """None if a run may start there. `ours` are pids of our own workers: they and their children disturb nobody.

    Who only draws, as a desktop does, takes memory and no turn. What the driver does not tell keeps nothing away.
    """
    if not device.is_gpu:
        return None
    if device.trouble:
        return device.trouble
    for process in device.processes or ():
        if process.computes and not _is_ours(process.pid, ours):
            return f"{device.label}: {who(process)} computes there"
    if device.memory_total is None or device.memory_used is None:
        return None
    free = max(device.memory_total - device.memory_used, 0)
    if free < needed:
        return (
            f"{device.label}: {free / GIB:.1f} of {device.memory_total / GIB:.1f} GiB free, {needed / GIB:.1f} needed"
        )
    return None


def who(process: Process) -> str:
    """process 4242 of ann (python), as far as it is known."""
    owner = f" of {printable(process.owner)}" if process.owner else ""
    command = f" ({printable(process.command)})" if process.command else ""
    return f"process {process.pid}{owner}{command}"


def _is_ours(pid: int, ours: Collection[int]) -> bool:
    if pid in ours or not ours:
        return pid in ours
    import psutil

    try:
        return any(parent.pid in ours for parent in psutil.Process(pid).parents())
    except psutil.Error:
        return False


def worker_environment(device: Device, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of a worker that sees this device and no other GPU."""
    return {**environ, "CUDA_DEVICE_ORDER": "PCI_BUS_ID", NAME: device.key if device.is_gpu else ""}


def worker_device(device: Device) -> str:
    """The device's name inside its worker, who sees one GPU at most."""
    return "cuda:0" if device.is_gpu else "cpu"
