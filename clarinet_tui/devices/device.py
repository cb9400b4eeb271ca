"""A device: its state and processes, which runs may use it, and what their workers see of it."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from clarinet_tui.text import GIB, printable
from core.errors import InputError

VISIBLE_DEVICES = "CUDA_VISIBLE_DEVICES"
VISIBLE = {"AMD": "HIP_VISIBLE_DEVICES", "XPU": "ZE_AFFINITY_MASK"}
"""The variable that limits the GPUs of a process, by the prefix of their keys."""
UUID_PREFIXES = ("GPU-", "MIG-", "AMD-", "XPU-")
NEEDED = 2 * GIB
"""Bytes of free memory without which no run is started whose need is unknown."""
BUSY_PERCENT = 20.0
"""Utilization from which a GPU without listed processes counts as busy."""
MAX_SLOTS, USABLE = 4, 0.9
"""The most runs that are recommended for one GPU, and the share of its memory that they may use."""


class ComputeMode(StrEnum):
    """How many processes the driver admits to a GPU."""

    DEFAULT = "default"
    EXCLUSIVE = "exclusive"
    PROHIBITED = "prohibited"


@dataclass(frozen=True, kw_only=True)
class DeviceProcess:
    """A process on a GPU. What is unknown is None."""

    pid: int
    owner: str | None = None
    command: str | None = None
    memory: int | None = None
    """Bytes of the GPU's memory."""
    computes: bool = True
    """False if it only draws, as a desktop does."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """The state of a GPU or the CPU. What the driver does not report is None."""

    key: str
    """Permanent: "cpu" or the UUID of a GPU or of an instance of one (MIG)."""
    label: str
    """As torch numbers devices in this process: "cpu", "cuda:0". The second instance of a divided GPU is "cuda:0:1"."""
    name: str
    cores: int | None = None
    """Cores of the CPU that this process may use."""
    memory_total: int | None = None
    memory_used: int | None = None
    """In bytes."""
    utilization: float | None = None
    """In percent."""
    temperature: int | None = None
    """In degrees Celsius."""
    power: float | None = None
    """In watts."""
    energy: float | None = None
    """Joules that it has used since its driver was loaded."""
    compute_mode: ComputeMode = ComputeMode.DEFAULT
    memory_errors: int = 0
    """Uncorrected memory errors (ECC) since its driver was loaded."""
    throttling: str | None = None
    """Why it is slowed down, such as "heat"."""
    driver: str | None = None
    """The version of its driver."""
    processes: tuple[DeviceProcess, ...] | None = ()
    problem: str | None = None
    """What is wrong with it; for the CPU, why no GPU can be used."""
    note: str | None = None
    """For the CPU: which GPU of the machine the installed torch cannot use."""

    @property
    def kind(self) -> str:
        """Torch's type of it: "cpu", "cuda" (also for AMD), "xpu" or "mps"."""
        return self.label.partition(":")[0]

    @property
    def is_gpu(self) -> bool:
        return self.key != "cpu"

    @property
    def warning(self) -> str | None:
        """What does not stop a run from starting, but may slow it down or end it."""
        if self.memory_errors:
            errors = f"{self.memory_errors} uncorrected memory error{'' if self.memory_errors == 1 else 's'}"
            return f"{errors} (ECC) since its driver was loaded: reset it"
        return f"slowed down by {self.throttling}" if self.throttling else None


class Partition(NamedTuple):
    """A partition of a Slurm cluster: its name, whether it is up, its time limit, its nodes by state, and its CPUs."""

    name: str
    is_default: bool
    available: str
    time_limit: str
    nodes: str
    """Allocated, idle, other and total nodes, such as 1/3/0/4."""
    cpus: str
    gres: str


def match_devices(request: str, devices: Sequence[Device]) -> list[Device]:
    """Return the devices that `auto`, `cpu`, `cuda:0,2`, `cuda`, `xpu:0`, `mps` or prefixes of UUIDs name, in order."""
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
    if name in ("cuda", "xpu"):
        matches = [device for device in gpus if device.kind == name]
    elif name.startswith(UUID_PREFIXES):
        matches = [device for device in gpus if device.key.startswith(name)]
        if len(matches) > 1:
            raise InputError(f"device: {name} matches {_format_labels(matches)}: give more of its UUID")
    elif re.fullmatch("cpu|mps|xpu:[0-9]+|cuda:[0-9]+(:[0-9]+)?", name):
        # A divided GPU (MIG) is named by its number for any of its instances.
        instances = f"{name}:" if re.fullmatch("cuda:[0-9]+", name) else None
        matches = [device for device in devices if device.label == name]
        matches = matches or [device for device in gpus if instances and device.label.startswith(instances)]
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


def unavailable_reason(
    device: Device,
    *,
    ours: Collection[int] = (),
    runs: int = 0,
    needed: int = NEEDED,
    reserved: int = 0,
    share: bool = False,
) -> str | None:
    """Return why no run may start on the device now; None if one may.

    `ours` are the pids of our workers: they and their children do not count. `runs` of them are on this device, and
    `reserved` bytes are what they will still allocate. Processes that only draw, as a desktop does, use memory but do
    not block the device. `share` allows processes of others. What the driver does not report blocks nothing.
    """
    if not device.is_gpu:
        return None
    if device.problem:
        return device.problem
    if device.compute_mode is ComputeMode.PROHIBITED:
        return "its compute mode is prohibited: `nvidia-smi -c 0` allows processes"
    computing = [process for process in device.processes or () if process.computes]
    if device.compute_mode is ComputeMode.EXCLUSIVE and (computing or runs):
        process = f" and in use by {format_process(computing[0])}" if computing else ""
        return f"in exclusive mode{process}"
    reason = None if share else _foreign_use(device, computing, ours, runs)
    if reason or device.memory_total is None or device.memory_used is None:
        return reason
    free = max(device.memory_total - device.memory_used - reserved, 0)
    if free < needed:
        kept = f", {reserved / GIB:.1f} of them reserved" if reserved else ""
        unused = (device.memory_total - device.memory_used) / GIB
        return f"{unused:.1f} of {device.memory_total / GIB:.1f} GiB free{kept}, {needed / GIB:.1f} needed"
    return None


def _foreign_use(device: Device, computing: Sequence[DeviceProcess], ours: Collection[int], runs: int) -> str | None:
    """Inside a container no process may be listed: then a GPU without runs of ours is busy by its utilization."""
    for process in computing:
        if not _is_ours(process.pid, ours):
            return f"in use by {format_process(process)}"
    if not device.processes and not runs and (device.utilization or 0.0) >= BUSY_PERCENT:
        return f"{device.utilization:.0f} % in use by processes that are not listed"
    return None


def memory_of_runs(device: Device, ours: Collection[int]) -> int | None:
    """Return the bytes that our workers and their children use on a GPU; None if it is not reported."""
    if device.processes is None:
        return None
    used = [process.memory for process in device.processes if _is_ours(process.pid, ours)]
    return None if None in used else sum(memory for memory in used if memory is not None)


def recommended_slots(device: Device, peak: int) -> int:
    """Return how many runs of this peak memory may share a GPU; more than `MAX_SLOTS` do not gain speed."""
    if device.compute_mode is not ComputeMode.DEFAULT or not device.memory_total:
        return 1
    return max(1, min(MAX_SLOTS, int(device.memory_total * USABLE / peak)))


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


def select_device(key: str) -> dict[str, str]:
    """Return the environment variables that show a process only this GPU, or none for the CPU."""
    kind, _, number = key.partition("-")
    if kind in VISIBLE:
        return {VISIBLE[kind]: number}
    return {} if key == "mps" else {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", VISIBLE_DEVICES: "" if key == "cpu" else key}


def worker_options(candidates: Sequence[Device], *, share: bool = False) -> list[str]:
    """Return the worker's arguments for the first of these devices that it can lock."""
    gpus = [f"--gpu={device.key}" for device in candidates if device.is_gpu]
    return ["--device", worker_device(candidates[0]), *gpus, *(["--share-gpu"] if share and gpus else [])]


def worker_device(device: Device) -> str:
    """Return the device's label inside its worker, which sees at most one GPU."""
    return device.kind if device.kind in ("cpu", "mps") else f"{device.kind}:0"
