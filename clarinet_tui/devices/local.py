"""List the devices of this machine: the CPU, and GPUs of NVIDIA or of the vendor for which torch is built."""

import functools
import importlib
import importlib.util
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from clarinet_tui.devices.device import VISIBLE, VISIBLE_DEVICES, Device
from clarinet_tui.devices.gpu_lock import with_lock_holders
from core.errors import InputError
from core.resolve import available_cores

_PROBE = """
import json, sys, torch
module = getattr(torch, sys.argv[1])
found = [module.get_device_properties(number) for number in range(module.device_count())]
print(json.dumps([[properties.name, properties.total_memory] for properties in found]))
"""
VENDORS = {"hip": ("AMD", "cuda"), "xpu": ("XPU", "xpu")}
"""The prefix of the keys of GPUs, and torch's type of device, by the backend of torch."""


def list_devices(environ: Mapping[str, str] = os.environ, *, seconds: float = 0.1) -> list[Device]:
    """Return the GPUs in torch's order, then the CPU, whose utilization is measured for `seconds` (0: not measured)."""
    with DeviceReader(environ, seconds=seconds) as reader:
        return reader.read()


class DeviceReader(AbstractContextManager["DeviceReader"]):
    """Reads the devices repeatedly; `close` it between reads that are far apart, and the next read opens it again.

    CUDA_VISIBLE_DEVICES counts in PCI order, as nvidia-smi and our workers do.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, *, seconds: float = 0.1) -> None:
        from clarinet_tui.devices.nvml import Nvml

        self._environ, self._seconds, self._nvml = environ, seconds, Nvml()

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> list[Device]:
        gpus, problem = self.read_gpus()
        note = None if gpus else describe_unused_gpus(torch_backend())
        return [*with_lock_holders(gpus), read_cpu(self._seconds, problem, note)]

    def read_gpus(self) -> tuple[list[Device], str | None]:
        """Return the GPUs without the holders of their locks, and what is wrong with a driver."""
        gpus, problem = self._nvml.read(self._environ.get(VISIBLE_DEVICES))
        try:
            return [*gpus, *read_other_gpus(torch_backend(), self._environ)], problem
        except InputError as error:
            return gpus, problem or str(error)

    def close(self) -> None:
        self._nvml.close()


def read_cpu(seconds: float, problem: str | None = None, note: str | None = None) -> Device:
    """Count only the cores that this process may use: a batch job may have fewer than the machine."""
    import psutil

    memory = psutil.virtual_memory()
    return Device(
        key="cpu",
        label="cpu",
        name=cpu_name(),
        cores=available_cores(),
        memory_total=memory.total,
        memory_used=memory.total - memory.available,
        utilization=psutil.cpu_percent(seconds) if seconds > 0 else None,
        problem=problem,
        note=note,
    )


@functools.cache
def cpu_name() -> str:
    """Return the model name on Linux PCs, elsewhere the architecture."""
    lines: list[str] = []
    with suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine() or "CPU"


def find_torch() -> Path | None:
    """Return the folder that torch is installed in, without importing it."""
    spec = importlib.util.find_spec("torch")
    return Path(spec.origin).parent if spec and spec.origin else None


def parse_assignment(text: str, name: str) -> str | None:
    """Return the string that a module's source assigns to a name."""
    match = re.search(rf"^{name}\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]", text, re.MULTILINE)
    return match[1] if match else None


def read_backend(folder: Path | None) -> str:
    """Return "cuda", "hip" (AMD), "xpu" (Intel) or "cpu"."""
    with suppress(OSError):
        text = (folder / "version.py").read_text(errors="replace") if folder else ""
        return next((name for name in ("cuda", "hip", "xpu") if parse_assignment(text, name)), "cpu")
    return "cpu"


@functools.cache
def torch_backend() -> str:
    return read_backend(find_torch())


def read_other_gpus(backend: str, environ: Mapping[str, str]) -> list[Device]:
    """Return the GPUs that a torch with this backend can use, numbered as it does, but for NVIDIA's.

    Raise InputError if it cannot tell.
    """
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return [Device(key="mps", label="mps", name=f"{_processor_name()} GPU", processes=None)]
    if backend not in VENDORS:
        return []
    from clarinet_tui.devices.nvml import visible_indices

    gpus = _read_amd_library() if backend == "hip" else None
    gpus = _probe(backend) if gpus is None else gpus
    shown = visible_indices(environ.get(VISIBLE[VENDORS[backend][0]]), [gpu.key for gpu in gpus])
    return [replace(gpus[index], label=f"{gpus[index].kind}:{number}") for number, index in enumerate(shown)]


@functools.cache
def _processor_name() -> str:
    command = ["sysctl", "-n", "machdep.cpu.brand_string"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "Apple"


@functools.cache
def _probe(backend: str) -> list[Device]:
    """Ask torch in a process of its own, once: it is slow to load, and keeps what it has opened."""
    prefix, kind = VENDORS[backend]
    command = [sys.executable, "-P", "-c", _PROBE, kind]
    environ = {name: value for name, value in os.environ.items() if name not in VISIBLE.values()}  # all GPUs
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=environ)
        found: list[tuple[str, int]] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise InputError(f"torch cannot list the GPUs of this machine ({type(error).__name__})") from None
    return [
        Device(key=f"{prefix}-{number}", label=f"{kind}:{number}", name=name, memory_total=memory, processes=None)
        for number, (name, memory) in enumerate(found)
    ]


def _read_amd_library() -> list[Device] | None:
    """Return the GPUs that AMD's library lists; None without the library."""
    if importlib.util.find_spec("amdsmi") is None:
        return None
    try:
        amdsmi: Any = importlib.import_module("amdsmi")
    except (ImportError, OSError, KeyError):  # its shared library is missing
        return None
    try:
        amdsmi.amdsmi_init()
        try:
            handles = amdsmi.amdsmi_get_processor_handles()
            return [_read_amd_gpu(amdsmi, handle, number) for number, handle in enumerate(handles)]
        finally:
            amdsmi.amdsmi_shut_down()
    except amdsmi.AmdSmiException as error:
        raise InputError(f"AMD's driver fails ({error})") from None


def _read_amd_gpu(library: Any, handle: Any, number: int) -> Device:
    """Query one GPU value by value; what it does not report is None."""
    from clarinet_tui.devices.nvml import read_process

    def query(function: str, *arguments: Any) -> Any:
        try:
            return getattr(library, function)(handle, *arguments)
        except (library.AmdSmiException, AttributeError):
            return None

    vram = library.AmdSmiMemoryType.VRAM
    sensor = library.AmdSmiTemperatureType.HOTSPOT, library.AmdSmiTemperatureMetric.CURRENT
    temperature = _number(query("amdsmi_get_temp_metric", *sensor))
    if temperature is not None and temperature > 1000:  # in some versions in thousandths
        temperature /= 1000
    power = query("amdsmi_get_power_info") or {}
    driver = (query("amdsmi_get_gpu_driver_info") or {}).get("driver_version")
    listed = query("amdsmi_get_gpu_process_list")
    pairs = [(process.get("pid"), (process.get("memory_usage") or {}).get("vram_mem")) for process in listed or ()]
    processes = tuple(read_process(pid, memory, computes=True) for pid, memory in pairs if isinstance(pid, int))
    return Device(
        key=f"AMD-{number}",
        label=f"cuda:{number}",
        name=str((query("amdsmi_get_gpu_asic_info") or {}).get("market_name") or "AMD GPU"),
        memory_total=query("amdsmi_get_gpu_memory_total", vram),
        memory_used=query("amdsmi_get_gpu_memory_usage", vram),
        utilization=_number((query("amdsmi_get_gpu_activity") or {}).get("gfx_activity")),
        temperature=None if temperature is None else round(temperature),
        power=_number(power.get("current_socket_power")) or _number(power.get("average_socket_power")),
        driver=driver if isinstance(driver, str) else None,
        processes=None if listed is None else processes,
    )


def _number(value: object) -> float | None:
    """Return None for "N/A"."""
    return float(value) if isinstance(value, int | float) else None


def describe_unused_gpus(backend: str, root: Path = Path("/")) -> str | None:
    """Return which GPU of this machine the installed torch cannot use; None if there is none."""
    if backend != "hip" and (root / "dev/kfd").exists():
        return f"an AMD GPU is not used: torch is built for {backend}; install a build for ROCm"
    if backend != "xpu" and any(map(_is_intel_card, (root / "sys/class/drm").glob("renderD*/device"))):
        return f"an Intel GPU is not used: torch is built for {backend}; install a build for XPU"
    return None


def _is_intel_card(device: Path) -> bool:
    """Return whether it is a card, and not part of the processor."""
    try:
        is_intel = (device / "vendor").read_text().strip() == "0x8086"
    except OSError:
        return False
    return is_intel and not device.resolve().name.startswith("0000:00:")  # the PCI bus of the processor
