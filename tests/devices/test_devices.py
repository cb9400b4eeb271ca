"""Devices read from a stand-in for NVIDIA's library, and what decides where a run may start."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import CDLL
from pathlib import Path

import psutil
import pynvml
import pytest

from clarinet_tui.devices.device import (
    ComputeMode,
    Device,
    DeviceProcess,
    match_devices,
    recommended_slots,
    select_device,
    unavailable_reason,
    worker_device,
)
from clarinet_tui.devices.local import DeviceReader, list_devices
from clarinet_tui.devices.nvml import visible_indices
from clarinet_tui.text import GIB
from core.errors import InputError
from tests.support.nvml import BUSY, ELSEWHERE, FREE, FULL, LARGE, SLICE, SLICES, UUIDS, install_standin

DRIVER = "570.86.15"
FULL_REASON = "1.0 of 24.0 GiB free, 2.0 needed"
ME = psutil.Process().username()


@pytest.fixture
def four_gpus(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with four GPUs, controlled with `setenv`; a process of another container computes on the second."""
    install_standin(library, monkeypatch)
    monkeypatch.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
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
    assert (cpu.cores or 0) >= 1
    assert 0 <= (-1 if cpu.utilization is None else cpu.utilization) <= 100
    assert 0 < (cpu.memory_used or 0) < (cpu.memory_total or 0)


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
    assert [unavailable_reason(device, share=True) for device in found[1:]] == [None, FULL_REASON, None, None]


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
    assert select_device(found.key)["CUDA_VISIBLE_DEVICES"] == SLICE
    missing, _ = read_devices(CUDA_VISIBLE_DEVICES="MIG-other")
    assert "Not Found" in (unavailable_reason(missing) or "")
    assert [gpu.key for gpu in read_devices(CUDA_VISIBLE_DEVICES=",".join(SLICES))[:-1]] == list(SLICES)


@pytest.mark.parametrize("index", range(5))
def test_worker_sees_only_its_device(four_gpus: pytest.MonkeyPatch, index: int) -> None:
    device = read_devices()[index]
    given = {"CUDA_VISIBLE_DEVICES": "0,1,2,3", **select_device(device.key)}
    assert given["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
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
        assert [unavailable_reason(device) for device in read_devices()] == [None, busy, FULL_REASON, None, None]
        assert unavailable_reason(read_devices()[1], ours=[process.pid]) is None
        assert unavailable_reason(read_devices()[1], ours=[process.pid + 1]) == busy
    assert unavailable_reason(read_devices()[1]) is None, "the process has ended"
    four_gpus.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
    assert unavailable_reason(read_devices()[1], ours=[1]) == f"in use by process {ELSEWHERE}"


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


def test_needed_memory() -> None:
    assert unavailable_reason(gpu(0, used=22 * GIB)) is None
    assert unavailable_reason(gpu(0, used=22 * GIB + 1)) is not None
    assert unavailable_reason(gpu(0, used=20 * GIB), needed=5 * GIB) == "4.0 of 24.0 GiB free, 5.0 needed"
    assert unavailable_reason(gpu(0), needed=10 * GIB, reserved=14 * GIB) is None
    reason = "24.0 of 24.0 GiB free, 15.0 of them reserved, 10.0 needed"
    assert unavailable_reason(gpu(0), needed=10 * GIB, reserved=15 * GIB) == reason
    assert [recommended_slots(gpu(0), peak * GIB) for peak in (1, 6, 10, 20, 40)] == [4, 3, 2, 1, 1]


def test_hostile_process_name_is_escaped() -> None:
    hostile = DeviceProcess(pid=7, owner="a\nb", command="\x1b[31mred")
    assert unavailable_reason(gpu(0, processes=(hostile,))) == "in use by process 7 of a b ([31mred)"


def test_each_instance_of_a_divided_gpu_is_a_device(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_MIG", "3")
    gpus = read_devices()[:-1]
    assert [(gpu.label, gpu.key) for gpu in gpus] == [
        ("cuda:0", FREE), ("cuda:1", BUSY), ("cuda:2", FULL), ("cuda:3:0", SLICES[0]), ("cuda:3:1", SLICES[1])
    ]  # fmt: skip
    assert [gpu.memory_total for gpu in gpus[3:]] == [10 * GIB, 20 * GIB]
    assert [gpu.temperature for gpu in gpus[3:]] == [33, 33], "that of the GPU that they are parts of"
    assert [(gpu.power, gpu.energy) for gpu in gpus[3:]] == [(None, None)] * 2, "the whole GPU's is not theirs"
    assert [gpu.key for gpu in match_devices("cuda:3", gpus)] == list(SLICES)
    assert [gpu.key for gpu in match_devices("cuda:3:1,0", gpus)] == [SLICES[1], FREE]
    assert select_device(gpus[4].key)["CUDA_VISIBLE_DEVICES"] == SLICES[1]
    assert [unavailable_reason(gpu) for gpu in gpus[3:]] == [None, None]
    four_gpus.setenv("STANDIN_ECC", "3")
    assert [gpu.memory_errors for gpu in read_devices()[:-1]] == [0, 0, 0, 2, 2], "those of the GPU"


def test_an_exclusive_gpu_takes_one_process_and_a_prohibited_one_none(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_EXCLUSIVE", "1")
    gpus = read_devices()[:-1]
    assert [gpu.compute_mode for gpu in gpus[:2]] == [ComputeMode.DEFAULT, ComputeMode.EXCLUSIVE]
    busy = f"in exclusive mode and in use by process {ELSEWHERE}"
    assert unavailable_reason(gpus[1], share=True) == busy
    assert unavailable_reason(gpus[1], ours=[ELSEWHERE]) == busy, "a second run of ours could not start either"
    four_gpus.setenv("STANDIN_EXCLUSIVE", "0")
    free = read_devices()[0]
    assert unavailable_reason(free) is None
    assert unavailable_reason(free, runs=1) == "in exclusive mode", "a run that has not opened the GPU yet counts"
    assert recommended_slots(free, GIB) == 1
    four_gpus.setenv("STANDIN_PROHIBITED", "2")
    assert "compute mode is prohibited" in (unavailable_reason(read_devices()[2], share=True) or "")


def test_warnings_do_not_block(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_ECC", "0")
    four_gpus.setenv("STANDIN_HOT", "3")
    gpus = read_devices()[:-1]
    assert [gpu.warning for gpu in gpus] == [
        "2 uncorrected memory errors (ECC) since its driver was loaded: reset it",
        None,
        None,
        "slowed down by heat",
    ]
    assert [unavailable_reason(gpu) for gpu in (gpus[0], gpus[3])] == [None, None]


def test_utilization_shows_use_where_no_process_is_listed(four_gpus: pytest.MonkeyPatch) -> None:
    four_gpus.setenv("STANDIN_CONTAINER", "1")
    free, busy = read_devices()[:2]
    assert (free.processes, busy.processes) == ((), ())
    assert unavailable_reason(free) is None, "3 % is idle"
    assert unavailable_reason(busy) == "97 % in use by processes that are not listed"
    assert unavailable_reason(busy, share=True) is None
    assert unavailable_reason(busy, runs=1) is None, "it may be our own run"


def test_the_library_is_opened_once_for_several_reads(four_gpus: pytest.MonkeyPatch) -> None:
    nvml: CDLL = pynvml.nvmlLib
    opened = nvml.standin_inits()
    with DeviceReader({}, seconds=0) as reader:
        for _ in range(3):
            assert len(reader.read()) == 5
        assert (nvml.standin_inits() - opened, nvml.standin_users()) == (1, 1)
        reader.close()
        assert nvml.standin_users() == 0, "an open library blocks the reset of a GPU"
        reader.read()
    assert (nvml.standin_inits() - opened, nvml.standin_users()) == (2, 0)


def test_a_gpu_that_was_lost_is_found_again(four_gpus: pytest.MonkeyPatch) -> None:
    """The library reports a GPU as lost until it is opened again."""
    nvml: CDLL = pynvml.nvmlLib
    four_gpus.setenv("STANDIN_LOST", "0")
    with DeviceReader({}, seconds=0) as reader:
        assert reader.read()[0].problem
        assert nvml.standin_users() == 0
        four_gpus.delenv("STANDIN_LOST")
        assert reader.read()[0].problem is None
