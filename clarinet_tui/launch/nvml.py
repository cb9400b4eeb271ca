"""GPUs as NVIDIA's management library knows them."""

from collections.abc import Callable, Iterable
from typing import Any

from clarinet_tui.launch.device import Device, Process
from clarinet_tui.launch.visible import visible_indices


def read_gpus(visible: str | None) -> tuple[list[Device], str | None]:
    """The GPUs that CUDA_VISIBLE_DEVICES leaves, as torch counts them, and what is wrong with the driver."""
    import pynvml

    try:
        pynvml.nvmlInit()
        try:
            gpus = _visible_gpus(visible)
            return [gpu.read(f"cuda:{number}") for number, gpu in enumerate(gpus)], None
        finally:
            pynvml.nvmlShutdown()
    except pynvml.NVMLError as error:
        return [], _trouble(error)


def _trouble(error: Any) -> str | None:
    """A machine without NVIDIA's library has no trouble: it has no GPU."""
    import pynvml

    if error.value == pynvml.NVML_ERROR_LIBRARY_NOT_FOUND:
        return None
    if error.value == pynvml.NVML_ERROR_DRIVER_NOT_LOADED:
        return "NVIDIA's library is here, but its driver is not loaded: no GPU can be used"
    return f"NVIDIA's driver fails ({error}): no GPU can be used"


class _Gpu:
    """One GPU, asked one question at a time: what it does not answer stays unknown."""

    def __init__(self, find: Callable[[], Any], key: str) -> None:
        self._trouble: str | None = None
        self._handle = self._answer(find)
        self.key = self._ask("nvmlDeviceGetUUID") or key

    def read(self, label: str) -> Device:
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        use = self._ask("nvmlDeviceGetUtilizationRates")
        name = self._ask("nvmlDeviceGetName")
        temperature = self._temperature()
        processes = self._processes()
        return Device(
            key=self.key,
            label=label,
            name=name or "unknown GPU",
            memory_total=memory and memory.total,
            memory_used=memory and memory.used,
            use=use and float(use.gpu),
            temperature=temperature,
            processes=processes,
            trouble=self._trouble and f"{label}: NVIDIA's driver says: {self._trouble}",
        )

    def _temperature(self) -> int | None:
        """Drivers before 570 know only the older question, and drivers after 13 may forget it."""
        import pynvml

        degrees: int | None = self._ask("nvmlDeviceGetTemperatureV", pynvml.NVML_TEMPERATURE_GPU)
        return self._ask("nvmlDeviceGetTemperature", pynvml.NVML_TEMPERATURE_GPU) if degrees is None else degrees

    def _processes(self) -> tuple[Process, ...] | None:
        computing = self._ask("nvmlDeviceGetComputeRunningProcesses_v3")
        drawing = self._ask("nvmlDeviceGetGraphicsRunningProcesses_v3")
        if computing is None and drawing is None:
            return None
        return _described(computing or (), drawing or ())

    def _ask(self, question: str, *words: Any) -> Any:
        import pynvml

        if self._handle is None:
            return None
        return self._answer(lambda: getattr(pynvml, question)(self._handle, *words))

    def _answer(self, question: Callable[[], Any]) -> Any:
        import pynvml

        unknown = (
            pynvml.NVML_ERROR_NOT_SUPPORTED,
            pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
            pynvml.NVML_ERROR_NO_PERMISSION,
            pynvml.NVML_ERROR_INVALID_ARGUMENT,
        )
        try:
            return question()
        except pynvml.NVMLError as error:
            if error.value not in unknown:
                self._trouble = str(error)
            return None


def _visible_gpus(visible: str | None) -> list[_Gpu]:
    import pynvml

    if visible is not None and visible.startswith("MIG-"):
        # A process sees one slice of a GPU at most, and NVML finds it only by its own id.
        first = visible.split(",")[0]
        return [_Gpu(lambda: pynvml.nvmlDeviceGetHandleByUUID(first), first)]
    gpus = [_gpu(index) for index in range(pynvml.nvmlDeviceGetCount())]
    allowed = [gpu for gpu in gpus if gpu is not None]
    return [allowed[index] for index in visible_indices(visible, [gpu.key for gpu in allowed])]


def _gpu(index: int) -> _Gpu | None:
    """None for a GPU of somebody else's batch job or container: CUDA does not count it either."""
    import pynvml

    try:
        pynvml.nvmlDeviceGetHandleByIndex(index)
    except pynvml.NVMLError as error:
        if error.value == pynvml.NVML_ERROR_NO_PERMISSION:
            return None
    return _Gpu(lambda: pynvml.nvmlDeviceGetHandleByIndex(index), f"GPU number {index}")


def _described(computing: Iterable[Any], drawing: Iterable[Any]) -> tuple[Process, ...]:
    """Who computes first; a process that does both is told once."""
    found: dict[int, Process] = {}
    for computes, listed in ((True, computing), (False, drawing)):
        for entry in listed:
            if entry.pid not in found:
                found[entry.pid] = _process(entry.pid, entry.usedGpuMemory, computes)
    return tuple(found.values())


def _process(pid: int, memory: int | None, computes: bool) -> Process:
    """Another container's process has a pid that means nothing here, or is hidden from us."""
    import psutil

    try:
        process = psutil.Process(pid)
        with process.oneshot():
            owner, command = process.username(), process.name()
    except psutil.Error:
        owner, command = None, None
    return Process(pid=pid, owner=owner, command=command, memory=memory, computes=computes)
