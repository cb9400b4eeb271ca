"""GPUs of AMD, Intel and Apple, with stand-ins for their libraries and for torch."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.devices import local
from clarinet_tui.devices.device import (
    Device,
    DeviceProcess,
    match_devices,
    select_device,
    unavailable_reason,
    worker_device,
)
from clarinet_tui.devices.local import describe_unused_gpus, list_devices, read_backend, read_other_gpus
from clarinet_tui.text import GIB
from core.errors import InputError
from tests.support.cli import imported_modules

AMD_LIBRARY = """
class AmdSmiException(Exception): pass
class AmdSmiMemoryType: VRAM = 0
class AmdSmiTemperatureType: HOTSPOT = 1
class AmdSmiTemperatureMetric: CURRENT = 0
users = 0
def amdsmi_init():
    global users
    if FAILS: raise AmdSmiException("no driver")
    users += 1
def amdsmi_shut_down():
    global users
    users -= 1
def amdsmi_get_processor_handles(): return ["first", "second"]
def amdsmi_get_gpu_asic_info(handle): return {"market_name": "AMD Instinct MI300X"}
def amdsmi_get_gpu_memory_total(handle, kind): return 192 << 30
def amdsmi_get_gpu_memory_usage(handle, kind): return 1 << 30
def amdsmi_get_gpu_activity(handle): return {"gfx_activity": 40 if handle == "first" else "N/A"}
def amdsmi_get_temp_metric(handle, sensor, metric): return 45 if handle == "first" else 46000
def amdsmi_get_power_info(handle): return {"current_socket_power": 139, "average_socket_power": "N/A"}
def amdsmi_get_gpu_process_list(handle):
    if handle == "second": raise AmdSmiException("not supported")
    return [{"pid": 4194305, "memory_usage": {"vram_mem": 7}}]
FAILS = False
"""
TORCH = """
import os
assert not {"HIP_VISIBLE_DEVICES", "ZE_AFFINITY_MASK"} & set(os.environ)
class _Module:
    @staticmethod
    def device_count(): return 2
    @staticmethod
    def get_device_properties(number):
        return type("Properties", (), {"name": f"Intel GPU {number}", "total_memory": 16 << 30})
xpu = cuda = _Module
"""


@pytest.fixture(autouse=True)
def no_earlier_probe() -> Iterator[None]:
    local._probe.cache_clear()
    yield
    local._probe.cache_clear()


@pytest.fixture
def amd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    library = tmp_path / "amdsmi.py"
    library.write_text(AMD_LIBRARY)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield library
    sys.modules.pop("amdsmi", None)


@pytest.fixture
def torch_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A torch with two GPUs for processes that are started now."""
    module = tmp_path / "torch.py"
    module.write_text(TORCH)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return module


def test_amd_gpus_are_read_with_their_library(amd: Path) -> None:
    first, second = read_other_gpus("hip", {})
    assert first == Device(
        key="AMD-0",
        label="cuda:0",
        name="AMD Instinct MI300X",
        memory_total=192 * GIB,
        memory_used=GIB,
        utilization=40.0,
        temperature=45,
        power=139.0,
        processes=(DeviceProcess(pid=4194305, memory=7),),
    )
    assert (second.label, second.utilization, second.temperature, second.processes) == ("cuda:1", None, 46, None)
    assert unavailable_reason(first) == "in use by process 4194305"
    assert sys.modules["amdsmi"].users == 0


def test_a_worker_sees_only_its_amd_gpu(amd: Path) -> None:
    (gpu,) = read_other_gpus("hip", {"HIP_VISIBLE_DEVICES": "1"})
    assert (gpu.key, gpu.label, worker_device(gpu)) == ("AMD-1", "cuda:0", "cuda:0")
    assert select_device(gpu.key) == {"HIP_VISIBLE_DEVICES": "1"}
    assert match_devices("AMD-1", [gpu]) == [gpu]


def test_a_failing_amd_driver_is_a_problem(amd: Path) -> None:
    amd.write_text(AMD_LIBRARY.replace("FAILS = False", "FAILS = True"))
    with pytest.raises(InputError, match=r"AMD's driver fails \(no driver\)"):
        read_other_gpus("hip", {})


def test_without_their_library_torch_is_asked_once(torch_of_others: Path) -> None:
    gpus = read_other_gpus("hip", {})
    assert [(gpu.key, gpu.label, gpu.memory_total) for gpu in gpus] == [
        ("AMD-0", "cuda:0", 16 * GIB), ("AMD-1", "cuda:1", 16 * GIB)
    ]  # fmt: skip
    torch_of_others.write_text("raise SystemExit(1)")
    assert read_other_gpus("hip", {}) == gpus


def test_intel_gpus(torch_of_others: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZE_AFFINITY_MASK", "0")
    first, second = read_other_gpus("xpu", {})
    assert (second.key, second.label, second.name) == ("XPU-1", "xpu:1", "Intel GPU 1")
    assert (worker_device(second), select_device(second.key)) == ("xpu:0", {"ZE_AFFINITY_MASK": "1"})
    assert match_devices("xpu:1", [first, second]) == match_devices("XPU-1", [first, second]) == [second]
    assert match_devices("auto", [first, second]) == match_devices("xpu", [first, second]) == [first, second]
    assert [gpu.key for gpu in read_other_gpus("xpu", {"ZE_AFFINITY_MASK": "1"})] == ["XPU-1"]


def test_a_torch_that_cannot_list_gpus_is_a_problem(torch_of_others: Path) -> None:
    torch_of_others.write_text("raise OSError('libze is missing')")
    with pytest.raises(InputError, match="torch cannot list the GPUs"):
        read_other_gpus("xpu", {})


def test_the_gpu_of_an_apple_computer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sysctl = tmp_path / "sysctl"
    sysctl.write_text("#!/bin/sh\necho Apple M4\n")
    sysctl.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: "arm64")
    (gpu,) = read_other_gpus("cpu", {})
    assert (gpu.key, gpu.label, gpu.name, worker_device(gpu)) == ("mps", "mps", "Apple M4 GPU", "mps")
    assert select_device("mps") == {}
    assert match_devices("mps", [gpu]) == match_devices("auto", [gpu]) == [gpu]


@pytest.mark.parametrize(
    ("text", "backend"),
    [
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "cuda"),
        ("cuda: Optional[str] = None\nhip: Optional[str] = '6.4.43484'\n", "hip"),
        ("cuda: Optional[str] = None\nxpu: Optional[str] = '20250101'\n", "xpu"),
        ("cuda = None\n", "cpu"),
    ],
)
def test_what_torch_is_built_for(tmp_path: Path, text: str, backend: str) -> None:
    (tmp_path / "version.py").write_text(text)
    assert read_backend(tmp_path) == backend
    assert read_backend(tmp_path / "missing") == read_backend(None) == "cpu"


def test_a_gpu_that_torch_cannot_use_is_named(tmp_path: Path) -> None:
    assert describe_unused_gpus("cuda", tmp_path) is None
    cards = tmp_path / "sys/class/drm"
    for name, address in (("renderD128", "0000:00:02.0"), ("renderD129", "0000:03:00.0")):
        device = tmp_path / "sys/devices" / address
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x8086\n")
        (cards / name).mkdir(parents=True)
        (cards / name / "device").symlink_to(device)
        expected = None if name == "renderD128" else "an Intel GPU is not used: torch is built for cuda"
        assert (describe_unused_gpus("cuda", tmp_path) or "").startswith(expected or "") is True
        assert (describe_unused_gpus("cuda", tmp_path) is None) == (expected is None), "one is part of the processor"
    assert describe_unused_gpus("xpu", tmp_path) is None
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/kfd").touch()
    assert "an AMD GPU is not used: torch is built for cpu" in (describe_unused_gpus("cpu", tmp_path) or "")


def test_other_libraries_cost_nothing_without_a_torch_for_them() -> None:
    assert [device.key for device in list_devices({"CUDA_VISIBLE_DEVICES": ""}, seconds=0)] == ["cpu"]
    code = "from clarinet_tui.devices.local import list_devices\nlist_devices(seconds=0)"
    assert not {"torch", "amdsmi"} & imported_modules(code)
