"""The hardware of a worker: its GPU is locked before torch is loaded, described, and sampled while the run trains.

Torch is used only if the training has loaded it.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil

from clarinet_tui.devices.device import Device, match_devices, memory_of_runs, select_device
from clarinet_tui.devices.gpu_lock import hold_gpu
from clarinet_tui.devices.local import DeviceReader, cpu_name
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.text import printable
from core.errors import InputError
from core.events import Sampled
from core.resolve import available_cores

STOP_SECONDS = 5.0
"""How long the end of a run waits for the last sample: a driver may hang."""
CONTEXT_BYTES = 512 << 20
"""What a process uses on a GPU beside torch's memory, where the driver does not list it."""


def loaded_torch() -> Any:
    """Return torch if this process has loaded it; else None."""
    return sys.modules.get("torch")


def find_gpu(reader: DeviceReader, device: str) -> Device | None:
    """Return the state of the GPU that torch calls `device`; None for the CPU, or if it is not listed."""
    if device == "cpu":
        return None
    try:
        return match_devices(device if ":" in device or device == "mps" else f"{device}:0", reader.read_gpus()[0])[0]
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


@contextmanager
def hold_first_gpu(run: RunDirectory, keys: Sequence[str], *, queued: bool, share: bool) -> Iterator[None]:
    """Hold the lock of the first of these GPUs that is free, and make it the only visible one; without keys, nothing.

    Queued runs of one user and runs directory may share a GPU: their supervisor counts its slots.
    """
    if not keys:
        yield
        return
    group = f"{os.geteuid()}:{run.runs_dir.resolve()}" if queued else ""

    def warn(message: str) -> None:
        print(f"clarinet: {printable(message)}", file=sys.stderr)

    with hold_gpu(keys, run.id, group=group, share=share, notify=warn) as key:
        os.environ.update(select_device(key))
        yield


class HardwareSampler:
    """Sample the hardware about every ten seconds and at the end.

    It runs in its own thread and never blocks training; `record` is called from that thread.
    """

    def __init__(
        self,
        device: str,
        gpu: Device | None,
        record: Callable[[Sampled], None],
        position: Callable[[], tuple[int, float]],
        interval: float = 10.0,
    ) -> None:
        """`gpu` is its state at the start of the attempt; `position` returns the iteration and the training time."""
        self.gpu_memory_peak: int | None = None
        """The most bytes that the run has used on its GPU."""
        self._device, self._record, self._position, self._interval = device, record, position, interval
        self._reader = DeviceReader(seconds=0)
        self._process = psutil.Process()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._energy = gpu.energy if gpu else None
        """Joules that the GPU had used at the last sample."""
        self._clock = time.monotonic(), time.process_time()
        self._thread.start()

    def stop(self) -> None:
        """Record a last sample and end."""
        self._stopping.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._stopping.wait(self._interval)
            self._record(self._sample(find_gpu(self._reader, self._device)))
        self._reader.close()

    def _sample(self, gpu: Device | None) -> Sampled:
        iteration, seconds = self._position()
        used = self._measure_gpu_memory(gpu)
        (wall, cpu), self._clock = self._clock, (time.monotonic(), time.process_time())
        elapsed = self._clock[0] - wall
        memory = self._process.memory_info().rss
        for child in self._process.children(recursive=True):  # those that read data
            with suppress(psutil.Error):  # it has ended meanwhile
                memory += child.memory_info().rss
        return Sampled(
            iteration=iteration,
            seconds=seconds,
            gpu_use=gpu.utilization if gpu else None,
            gpu_memory=used,
            gpu_memory_peak=self.gpu_memory_peak,
            power=gpu.power if gpu else None,
            temperature=gpu.temperature if gpu else None,
            energy=self._measure_energy(gpu),
            cpu=100 * (self._clock[1] - cpu) / elapsed if elapsed > 0 else 0.0,  # percent of one core
            memory=memory,
        )

    def _measure_gpu_memory(self, gpu: Device | None) -> int | None:
        """Return the bytes in use, and update the peak: torch's own peak falls between two samples."""
        torch, reserved, peak = loaded_torch(), 0, 0
        if torch and self._device.startswith("cuda") and torch.cuda.is_initialized():
            reserved = int(torch.cuda.memory_reserved(self._device))
            peak = int(torch.cuda.max_memory_reserved(self._device))
        listed = memory_of_runs(gpu, {os.getpid()}) if gpu else None
        if not listed and not peak:
            return None
        beside = max(0, listed - reserved) if listed else CONTEXT_BYTES
        self.gpu_memory_peak = max(self.gpu_memory_peak or 0, listed or 0, beside + peak)
        return listed or beside + reserved

    def _measure_energy(self, gpu: Device | None) -> float | None:
        """Return the joules since the last sample, divided among the processes on the GPU."""
        if gpu is None or gpu.energy is None:
            return None
        before, self._energy = self._energy, gpu.energy
        if before is None or gpu.energy < before:  # the driver was loaded again
            return None
        computing = [process for process in gpu.processes or () if process.computes]
        return (gpu.energy - before) / max(1, len(computing))
