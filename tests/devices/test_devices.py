"""Devices, read from a stand-in for NVIDIA's library, and what is decided with them."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from clarinet_tui.devices.local import (
    Device,
    Process,
    candidates,
    list_devices,
    why_not_free,
    worker_device,
    worker_environment,
)
from clarinet_tui.devices.visible import visible_indices
from core.errors import InputError
from tests.support.nvml import BUSY, ELSEWHERE, FREE, FULL, LARGE, SLICE, UUIDS, build, plug_in

GIB = 1 << 30
ME = psutil.Process().username()


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def four(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A machine with four GPUs; its `setenv` steers them."""
    plug_in(library, monkeypatch)
    return monkeypatch


@contextmanager
def somebody(*command: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that lives until the block ends, and its children with it."""
    process = subprocess.Popen(command or ("sleep", "60"), stdout=subprocess.PIPE, start_new_session=True)
    with process:
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def look(**environ: str) -> list[Device]:
    return list_devices(environ, seconds=0)


def gpu(index: int = 0, used: int = 0, processes: tuple[Process, ...] | None = (), key: str = "") -> Device:
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


def test_four_gpus_and_the_cpu_with_all_that_is_known(four: pytest.MonkeyPatch) -> None:
    with somebody() as process:
        four.setenv("STANDIN_FOREIGN", str(process.pid))
        found = look()
        known = Process(pid=process.pid, owner=ME, command="sleep", memory=9 * GIB)
    assert [(device.label, device.key) for device in found] == [
        ("cuda:0", FREE), ("cuda:1", BUSY), ("cuda:2", FULL), ("cuda:3", LARGE), ("cpu", "cpu")
    ]  # fmt: skip
    assert found[1] == Device(
        key=BUSY,
        label="cuda:1",
        name="NVIDIA GeForce RTX 3090",
        memory_total=24 * GIB,
        memory_used=10 * GIB,
        use=97.0,
        temperature=71,
        processes=(known,),
    )
    assert found[3].temperature == 33, "the older question was not asked"
    assert [device.processes for device in (found[0], *found[2:])] == [()] * 4


def test_the_cpu_is_a_device_like_any_other() -> None:
    cpu = list_devices({"CUDA_VISIBLE_DEVICES": ""}, seconds=0.01)[-1]
    assert (cpu.key, cpu.label, cpu.is_gpu, cpu.temperature) == ("cpu", "cpu", False, None)
    assert cpu.name
    assert cpu.cores is not None
    assert cpu.cores >= 1
    assert cpu.use is not None
    assert 0 <= cpu.use <= 100
    assert cpu.memory_used is not None
    assert cpu.memory_total is not None
    assert 0 < cpu.memory_used < cpu.memory_total


def test_what_a_gpu_does_not_tell_is_unknown_and_keeps_nobody_away(four: pytest.MonkeyPatch) -> None:
    four.setenv("STANDIN_UNSUPPORTED", "1")
    silent = look()[1]
    assert silent == Device(key=BUSY, label="cuda:1", name="NVIDIA GeForce RTX 3090", processes=None)
    assert why_not_free(silent) is None


def test_a_lost_gpu_is_shown_and_not_used(four: pytest.MonkeyPatch) -> None:
    four.setenv("STANDIN_LOST", "0")
    found = look()
    assert [device.label for device in found] == ["cuda:0", "cuda:1", "cuda:2", "cuda:3", "cpu"]
    assert "GPU is lost" in (why_not_free(found[0]) or "")
    assert found[1].key == BUSY
    assert [device.trouble for device in found[1:]] == [None] * 4


def test_gpus_of_other_batch_jobs_are_not_counted(four: pytest.MonkeyPatch) -> None:
    four.setenv("STANDIN_FORBIDDEN", "0")
    assert [(device.label, device.key) for device in look()[:2]] == [("cuda:0", BUSY), ("cuda:1", FULL)]
    assert [device.key for device in look(CUDA_VISIBLE_DEVICES="1")] == [FULL, "cpu"]


@pytest.mark.parametrize(("error", "said"), [(9, "driver is not loaded"), (18, "version mismatch"), (999, "Unknown")])
def test_a_driver_that_fails_leaves_the_cpu_and_says_so(four: pytest.MonkeyPatch, error: int, said: str) -> None:
    four.setenv("STANDIN_INIT", str(error))
    (cpu,) = look()
    assert said in (cpu.trouble or "")
    assert why_not_free(cpu) is None
    with pytest.raises(InputError, match=said):
        candidates("cuda:0", [cpu])


def test_a_driver_without_gpus_is_no_trouble(four: pytest.MonkeyPatch) -> None:
    four.setenv("STANDIN_GPUS", "0")
    assert [(device.key, device.trouble) for device in look()] == [("cpu", None)]


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
def test_the_variable_is_read_as_cuda_reads_it(value: str | None, indices: list[int]) -> None:
    assert visible_indices(value, UUIDS) == indices


def test_labels_count_what_is_visible(four: pytest.MonkeyPatch) -> None:
    found = look(CUDA_VISIBLE_DEVICES="3,1")
    assert [(device.label, device.key) for device in found] == [("cuda:0", LARGE), ("cuda:1", BUSY), ("cpu", "cpu")]


def test_a_slice_of_a_gpu_keeps_its_id(four: pytest.MonkeyPatch) -> None:
    found, _ = look(CUDA_VISIBLE_DEVICES=f"{SLICE},MIG-other")
    assert (found.key, found.label, found.memory_total) == (SLICE, "cuda:0", 10 * GIB)
    assert (found.use, found.temperature, found.trouble) == (None, None, None)
    assert worker_environment(found, {})["CUDA_VISIBLE_DEVICES"] == SLICE
    missing, _ = look(CUDA_VISIBLE_DEVICES="MIG-other")
    assert "Not Found" in (why_not_free(missing) or "")


@pytest.mark.parametrize("index", range(5))
def test_a_worker_sees_its_own_device_only(four: pytest.MonkeyPatch, index: int) -> None:
    device = look()[index]
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
def test_what_a_request_stands_for(request_: str, labels: list[str]) -> None:
    assert [device.label for device in candidates(request_, FIVE)] == labels


def test_without_gpus_auto_is_the_cpu() -> None:
    assert candidates("auto", [CPU]) == [CPU]


@pytest.mark.parametrize(
    ("request_", "devices", "sentence"),
    [
        ("cuda:7", FIVE, "device: there is no cuda:7 here, but cuda:0 … cuda:3 and cpu"),
        ("cuda:0,9", [gpu(0), CPU], "device: there is no cuda:9 here, but cuda:0 and cpu"),
        ("cuda", [CPU], "device: there is no cuda here, but cpu"),
        ("GPU-beef", [gpu(0), gpu(1), CPU], "device: there is no GPU-beef here, but cuda:0, cuda:1 and cpu"),
        ("GPU-5a", FIVE, "device: GPU-5a may be cuda:0 and cuda:1: give more of its UUID"),
        ("tpu", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "tpu"'),
        ("cpu,1", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "1"'),
        ("cuda:-1", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "cuda:-1"'),
        ("auto,cpu", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got "auto"'),
        ("", FIVE, 'device: expected auto, cpu, cuda:0 or a GPU\'s UUID, got ""'),
    ],
)
def test_a_wrong_request_is_told_what_there_is(request_: str, devices: list[Device], sentence: str) -> None:
    with pytest.raises(InputError) as raised:
        candidates(request_, devices)
    assert str(raised.value) == sentence


def test_which_of_the_four_are_free(four: pytest.MonkeyPatch) -> None:
    with somebody() as process:
        four.setenv("STANDIN_FOREIGN", str(process.pid))
        busy = f"cuda:1: process {process.pid} of {ME} (sleep) computes there"
        full = "cuda:2: 1.0 of 24.0 GiB free, 2.0 needed"
        assert [why_not_free(device) for device in look()] == [None, busy, full, None, None]
        assert why_not_free(look()[1], ours=[process.pid]) is None
        assert why_not_free(look()[1], ours=[process.pid + 1]) == busy
    assert why_not_free(look()[1]) is None, "the process has ended"


def test_children_of_our_workers_are_ours(four: pytest.MonkeyPatch) -> None:
    with somebody("sh", "-c", "sleep 60 & echo $!; wait") as worker:
        assert worker.stdout is not None
        four.setenv("STANDIN_FOREIGN", worker.stdout.readline().decode().strip())
        assert why_not_free(look()[1], ours={worker.pid}) is None
        assert why_not_free(look()[1]) is not None


def test_who_only_draws_takes_no_turn(four: pytest.MonkeyPatch) -> None:
    with somebody() as process:
        four.setenv("STANDIN_DRAWS", str(process.pid))
        drawn, busy = look()[:2]
        assert drawn.processes is not None
        assert [(seen.pid, seen.computes, seen.memory) for seen in drawn.processes] == [(process.pid, False, None)]
        assert why_not_free(drawn) is None
        assert busy.processes is not None
        assert [seen.computes for seen in busy.processes] == [True, False]
        four.setenv("STANDIN_FOREIGN", str(process.pid))
        both = look()[1].processes
    assert both is not None
    assert [(seen.pid, seen.computes) for seen in both] == [(process.pid, True)]


def test_a_process_of_another_container_counts_and_has_no_name(four: pytest.MonkeyPatch) -> None:
    four.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
    assert why_not_free(look()[1], ours=[1]) == f"cuda:1: process {ELSEWHERE} computes there"


def test_memory_that_is_asked_for() -> None:
    assert why_not_free(gpu(0, used=22 * GIB)) is None
    assert why_not_free(gpu(0, used=22 * GIB + 1)) is not None
    assert why_not_free(gpu(0, used=20 * GIB), needed=5 * GIB) == "cuda:0: 4.0 of 24.0 GiB free, 5.0 needed"


def test_a_hostile_name_steers_no_terminal() -> None:
    hostile = Process(pid=7, owner="a\nb", command="\x1b[31mred")
    assert why_not_free(gpu(0, processes=(hostile,))) == "cuda:0: process 7 of a b ([31mred) computes there"
