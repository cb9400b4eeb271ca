"""The hardware of a worker, as torch and the driver name it. Torch is used only if the training has loaded it."""

import sys
from typing import Any

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.local import DeviceReader, cpu_name
from clarinet_tui.devices.placement import match_devices
from core.errors import InputError
from core.resolve import available_cores


def loaded_torch() -> Any:
    """Return torch if this process has loaded it; else None."""
    return sys.modules.get("torch")


def find_gpu(reader: DeviceReader, device: str) -> Device | None:
    """Return the state of the GPU that torch calls `device`; None for the CPU, or if it is not listed."""
    if device == "cpu":
        return None
    try:
        return match_devices(device if ":" in device or device == "mps" else f"{device}:0", reader.read_gpus())[0]
    except InputError:
        return None


def device_name(device: str) -> str:
    """Return torch's name of a GPU, such as NVIDIA A100-SXM4-80GB, and the model of the CPU."""
    if device == "cpu":
        return cpu_name()
    module: Any = getattr(loaded_torch(), device.partition(":")[0], None)
    if not hasattr(module, "get_device_name"):  # such as torch.mps
        return device
    return str(module.get_device_name(device))


def hardware_kind(device: str) -> str:
    """Return what decides the rounding of a computation: the type of device, and the model of a GPU."""
    kind = device.partition(":")[0]
    return kind if kind == "cpu" else f"{kind} {device_name(device)}"


def describe_hardware(device: str, gpu: Device | None) -> dict[str, Any]:
    """Return what environment.json records about the hardware of an attempt; unknown values are left out."""
    torch = loaded_torch()
    cudnn = torch.backends.cudnn.version() if torch and device.startswith("cuda") else None
    fields: dict[str, Any] = {
        "name": device_name(device) if gpu is None else gpu.name,
        "uuid": gpu.key if gpu else None,
        "driver": gpu.driver if gpu else None,
        "memory": gpu.memory_total if gpu else None,
        "torch": str(torch.__version__) if torch else None,
        "cuda": torch.version.cuda if torch else None,
        "rocm": torch.version.hip if torch else None,
        "cudnn": cudnn,
        "cpu": cpu_name(),
        "cores": available_cores(),
        "threads": torch.get_num_threads() if torch else None,
    }
    return {name: value for name, value in fields.items() if value is not None}
