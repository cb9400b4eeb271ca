"""Devices read from a stand-in for NVIDIA's library, and their placement."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.devices.local import list_devices
from clarinet_tui.devices.nvml import visible_indices
from clarinet_tui.devices.placement import match_devices, unavailable_reason, worker_device, worker_environment
from core.errors import InputError
from tests.support.nvml import BUSY, ELSEWHERE, FREE, FULL, LARGE, SLICE, UUIDS, build, install_standin

GIB = 1 << 30
DRIVER = "570.86.15"
ME = psutil.Process().username()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def four_gpus(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with four GPUs, controlled with `setenv`."""
    install_standin(library, monkeypatch)
    return monkeypatch


@contextmanager
def other_process(*command: str) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process that is killed with its children when the block ends."""
    process = subprocess.Popen(command or ("sleep", "60"), stdout=subprocess.PIPE, start_new_session=True)
    with process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def read_devices(**environ: str) -> list[Device]:
    return list_devices(environ, seconds=0)


def gpu(index: int = 0, used: int = 0, processes: tuple[DeviceProcess, ...] | None = (), key: str = "") -> Device:
    return Device(
        key=key or UUIDS[index],
        label=f"cuda:{index}",
        name="GPU",
        memory_total=24 * GIB,
        memory_used=used,
        processes=processes,
    )


CPU = Device(key="cpu", label="cpu", name="CPU", cores=2)
FIVE = [*(gpu(index) for index in range(4)), CPU]


def test_four_gpus_and_the_cpu(four_gpus: pytest.MonkeyPatch) -> None:
    with other_process() as process:
        four_gpus.setenv("STANDIN_FOREIGN", str(process.pid))
        found = read_devices()
        known = DeviceProcess(pid=process.pid, owner=ME, command="sleep", memory=9 * GIB)
    assert [(device.label, device.key) for device in found] == [
        ("cuda:0", FREE), ("cuda:1", BUSY), ("cuda:2", FULL), ("cuda:3", LARGE), ("cpu", "cpu")
    ]  # fmt: skip
    assert found[1] == Device(
        key=BUSY,
        label="cuda:1",
        name="NVIDIA GeForce RTX 3090",
        memory_total=24 * GIB,
        memory_used=10 * GIB,
        utilization=97.0,
        temperature=71,
        power=344.5,
        energy=1.0,
        driver=DRIVER,
        processes=(known,),
    )
    assert [device.energy for device in found[:4]] == [1.0, 1.0, None, 1.0], "an older GPU does not count its energy"
    assert found[3].temperature == 33, "the older function was not called"
    assert [device.processes for device in (found[0], *found[2:])] == [()] * 4


def test_cpu_is_a_device() -> None:
    cpu = list_devices({"CUDA_VISIBLE_DEVICES": ""}, seconds=0.01)[-1]
    assert (cpu.key, cpu.label, cpu.is_gpu, cpu.temperature) == ("cpu", "cpu", False, None)
    assert cpu.name
    assert cpu.cores is not None
    assert cpu.cores >= 1
    assert cpu.utilization is not None
    assert 0 <= cpu.utilization <= 100
    assert cpu.memory_used is not None
    assert cpu.memory_total is not None
    assert 0 < cpu.memory_used < cpu.memory_total


def test_unreported_values_are_unknown_and_do_not_block(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_UNSUPPORTED", "1")
    silent = read_devices()[1]
    assert silent == Device(key=BUSY, label="cuda:1", name="NVIDIA GeForce RTX 3090", driver=DRIVER, processes=None)
    assert unavailable_reason(silent) is None


def test_lost_gpu_is_listed_and_unavailable(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_LOST", "0")
    found = read_devices()
    assert [device.label for device in found] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
    assert "GPU is lost" in (unavailable_reason(found[0]) or "")
    assert found[1].key == BUSY
    assert [device.problem for device in found[1:]] == [None] * 4


def test_gpus_of_other_batch_jobs_are_not_counted(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_FORBIDDEN", "0")
    assert [(device.label, device.key) for device in read_devices()[:2]] == [("cuda:0", BUSY), ("cuda:1", FULL)]
    assert [device.key for device in read_devices(CUDA_VISIBLE_DEVICES="1")] == [FULL, "cpu"]


@pytest.mark.parametrize(
    ("error", "message"), [(9, "driver is not loaded"), (18, "version mismatch"), (999, "Unknown")]
)
def test_failing_driver_leaves_the_cpu_with_a_message(four_gpus: pytest.MonkeyPatch, error: int, message: str) -> None:
    four_gpus.setenv("STANDIN_INIT", str(error))
    (cpu,) = read_devices()
    assert message in (cpu.problem or "")
    assert unavailable_reason(cpu) is None
    with pytest.raises(InputError, match=message):
        match_devices("cuda:0", [cpu])


def test_driver_without_gpus_is_not_a_problem(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_GPUS", "0")
    assert [(device.key, device.problem) for device in read_devices()] == [("cpu", None)]


@pytest.mark.parametrize(
    ("value", "indices"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("-1", []),
        ("3,1", [3, 1]),
        (" 2 , 0 ", [2, 0]),
        ("0,7,1", [0]),
        ("1,-1,2", [1]),
        ("2,,3", [2]),
        ("1,1", []),
        ("1st,2nd", [1, 2]),
        ("none", []),
        (f"{LARGE},{FREE}", [3, 0]),
        ("GPU-5a7b,GPU-c", [1, 2]),
        ("GPU-5a,GPU-c", []),
        ("GPU-c,GPU-5a,GPU-f", [2]),
        ("GPU-c,0", [2]),
        ("0,GPU-c", [0]),
        (f"GPU-c,{FULL}", []),
    ],
)
def test_cuda_visible_devices(value: str | None, indices: list[int]) -> None:
    assert visible_indices(value, UUIDS) == indices


def test_labels_number_the_visible_gpus(four_gpus: pytest.MonkeyPatch) -> None:
    found = read_devices(CUDA_VISIBLE_DEVICES="3,1")
    assert [(device.label, device.key) for device in found] == [("cuda:0", LARGE), ("cuda:1", BUSY), ("cpu", "cpu")]


def test_mig_slice(four_gpus: pytest.MonkeyPatch) -> None:
    found, _ = read_devices(CUDA_VISIBLE_DEVICES=f"{SLICE},MIG-other")
    assert (found.key, found.label, found.memory_total) == (SLICE, "cuda:0", 10 * GIB)
    assert (found.utilization, found.temperature, found.problem) == (None, None, None)
    assert worker_environment(found, {})["CUDA_VISIBLE_DEVICES"] == SLICE
    missing, _ = read_devices(CUDA_VISIBLE_DEVICES="MIG-other")
    assert "Not Found" in (unavailable_reason(missing) or "")


@pytest.mark.parametrize("index", range(5))
def test_worker_sees_only_its_device(four_gpus: pytest.MonkeyPatch, index: int) -> None:
    device = read_devices()[index]
    given = worker_environment(device, {"HOME": "here", "CUDA_VISIBLE_DEVICES": "0,1,2,3"})
    assert (given["HOME"], given["CUDA_DEVICE_ORDER"]) == ("here", "PCI_BUS_ID")
    inside = {seen.label: seen.key for seen in list_devices(given, seconds=0)}
    assert inside == {"cpu": "cpu"} | ({"cuda:0": device.key} if device.is_gpu else {})
    assert inside[worker_device(device)] == device.key


@pytest.mark.parametrize(
    ("request_", "labels"),
    [
        ("auto", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        ("cuda", ["cuda:0", "cuda:1", "cuda:2", "cuda:3"]),
        ("cpu", ["cpu"]),
        ("cuda:3", ["cuda:3"]),
        ("cuda:2,0", ["cuda:2", "cuda:0"]),
        (" cuda:0, cuda:2 ", ["cuda:0", "cuda:2"]),
        ("cuda:0,cpu", ["cuda:0", "cpu"]),
        ("cuda:1,cuda:1,1", ["cuda:1"]),
        (f"{LARGE},GPU-5a01", ["cuda:3", "cuda:0"]),
        ("GPU-f,cuda:0,2,cpu", ["cuda:3", "cuda:0", "cuda:2", "cpu"]),
    ],
)
def test_matching_requests(request_: str, labels: list[str]) -> None:
    assert [device.label for device in match_devices(request_, FIVE)] == labels


def test_without_gpus_auto_is_the_cpu() -> None:
    assert match_devices("auto", [CPU]) == [CPU]


@pytest.mark.parametrize(
    ("request_", "devices", "message"),
    [
        ("cuda:7", FIVE, "device: there is no cuda:7 here, only cuda:0 … cuda:3 and cpu"),
        ("cuda:0,9", [gpu(0), CPU], "device: there is no cuda:9 here, only cuda:0 and cpu"),
        ("cuda", [CPU], "device: there is no cuda here, only cpu"),
        ("GPU-beef", [gpu(0), gpu(1), CPU], "device: there is no GPU-beef here, only cuda:0, cuda:1 and cpu"),
        ("GPU-5a", FIVE, "device: GPU-5a matches cuda:0 and cuda:1: give more of its UUID"),
        ("tpu", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "tpu"'),
        ("cpu,1", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "1"'),
        ("cuda:-1", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "cuda:-1"'),
        ("auto,cpu", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "auto"'),
        ("", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got ""'),
    ],
)
def test_wrong_requests(request_: str, devices: list[Device], message: str) -> None:
    with pytest.raises(InputError) as raised:
        match_devices(request_, devices)
    assert str(raised.value) == message


def test_which_gpus_are_free(four_gpus: pytest.MonkeyPatch) -> None:
    with other_process() as process:
        four_gpus.setenv("STANDIN_FOREIGN", str(process.pid))
        busy = f"in use by process {process.pid} of {ME} (sleep)"
        full = "1.0 of 24.0 GiB free, 2.0 needed"
        assert [unavailable_reason(device) for device in read_devices()] == [None, busy, full, None, None]
        assert unavailable_reason(read_devices()[1], ours=[process.pid]) is None
        assert unavailable_reason(read_devices()[1], ours=[process.pid + 1]) == busy
    assert unavailable_reason(read_devices()[1]) is None, "the process has ended"


def test_children_of_our_workers_are_ours(four_gpus: pytest.MonkeyPatch) -> None:
    with other_process("sh", "-c", "sleep 60 & echo $!; wait") as worker:
        assert worker.stdout is not None
        four_gpus.setenv("STANDIN_FOREIGN", worker.stdout.readline().decode().strip())
        assert unavailable_reason(read_devices()[1], ours={worker.pid}) is None
        assert unavailable_reason(read_devices()[1]) is not None


def test_drawing_process_does_not_block(four_gpus: pytest.MonkeyPatch) -> None:
    with other_process() as process:
        four_gpus.setenv("STANDIN_DRAWS", str(process.pid))
        drawn, busy = read_devices()[:2]
        assert drawn.processes is not None
        assert [(seen.pid, seen.computes, seen.memory) for seen in drawn.processes] == [(process.pid, False, None)]
        assert unavailable_reason(drawn) is None
        assert busy.processes is not None
        assert [seen.computes for seen in busy.processes] == [True, False]
        four_gpus.setenv("STANDIN_FOREIGN", str(process.pid))
        both = read_devices()[1].processes
    assert both is not None
    assert [(seen.pid, seen.computes) for seen in both] == [(process.pid, True)]


def test_process_of_another_container(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
    assert unavailable_reason(read_devices()[1], ours=[1]) == f"in use by process {ELSEWHERE}"


def test_needed_memory() -> None:
    assert unavailable_reason(gpu(0, used=22 * GIB)) is None
    assert unavailable_reason(gpu(0, used=22 * GIB + 1)) is not None
    assert unavailable_reason(gpu(0, used=20 * GIB), needed=5 * GIB) == "4.0 of 24.0 GiB free, 5.0 needed"


def test_hostile_process_name_is_escaped() -> None:
    hostile = DeviceProcess(pid=7, owner="a\nb", command="\x1b[31mred")
    assert unavailable_reason(gpu(0, processes=(hostile,))) == "in use by process 7 of a b ([31mred)"
