"""States of GPUs that decide where a run may start: divided, exclusive, faulty, hot, lost and unlisted use."""

from ctypes import CDLL
from pathlib import Path

import pynvml
import pytest

from clarinet_tui.devices.device import ComputeMode, Device
from clarinet_tui.devices.local import DeviceReader, list_devices
from clarinet_tui.devices.placement import match_devices, recommended_slots, unavailable_reason, worker_environment
from clarinet_tui.text import GIB
from tests.support.nvml import BUSY, ELSEWHERE, FREE, FULL, SLICES, build, install_standin


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def machine(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    install_standin(library, monkeypatch)
    monkeypatch.setenv("STANDIN_FOREIGN", str(ELSEWHERE))
    return monkeypatch


def read_gpus(visible: str | None = None) -> list[Device]:
    return list_devices({} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}, seconds=0)[:-1]


def test_each_instance_of_a_divided_gpu_is_a_device(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_MIG", "3")
    gpus = read_gpus()
    assert [(gpu.label, gpu.key) for gpu in gpus] == [
        ("cuda:0", FREE), ("cuda:1", BUSY), ("cuda:2", FULL), ("cuda:3:0", SLICES[0]), ("cuda:3:1", SLICES[1])
    ]  # fmt: skip
    assert [gpu.memory_total for gpu in gpus[3:]] == [10 * GIB, 20 * GIB]
    assert [gpu.temperature for gpu in gpus[3:]] == [33, 33], "that of the GPU that they are parts of"
    assert [(gpu.power, gpu.energy) for gpu in gpus[3:]] == [(None, None)] * 2, "the whole GPU's is not theirs"
    assert [gpu.key for gpu in match_devices("cuda:3", gpus)] == list(SLICES)
    assert [gpu.key for gpu in match_devices("cuda:3:1,0", gpus)] == [SLICES[1], FREE]
    assert worker_environment(gpus[4], {})["CUDA_VISIBLE_DEVICES"] == SLICES[1]
    assert [unavailable_reason(gpu) for gpu in gpus[3:]] == [None, None]


def test_faults_of_a_divided_gpu_are_those_of_its_instances(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_MIG", "3")
    machine.setenv("STANDIN_ECC", "3")
    assert [gpu.memory_errors for gpu in read_gpus()] == [0, 0, 0, 2, 2]


def test_a_batch_system_may_give_several_instances(machine: pytest.MonkeyPatch) -> None:
    assert [(gpu.label, gpu.key) for gpu in read_gpus(",".join(SLICES))] == [
        ("cuda:0", SLICES[0]),
        ("cuda:1", SLICES[1]),
    ]


def test_an_exclusive_gpu_takes_one_process(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_EXCLUSIVE", "1")
    gpus = read_gpus()
    assert [gpu.compute_mode for gpu in gpus[:2]] == [ComputeMode.DEFAULT, ComputeMode.EXCLUSIVE]
    busy = f"in exclusive mode and in use by process {ELSEWHERE}"
    assert unavailable_reason(gpus[1], share=True) == busy
    assert unavailable_reason(gpus[1], ours=[ELSEWHERE]) == busy, "a second run of ours could not start either"
    machine.setenv("STANDIN_EXCLUSIVE", "0")
    free = read_gpus()[0]
    assert unavailable_reason(free) is None
    assert unavailable_reason(free, runs=1) == "in exclusive mode", "a run that has not opened the GPU yet counts"
    assert recommended_slots(free, GIB) == 1


def test_a_prohibited_gpu_takes_none(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_PROHIBITED", "0")
    assert "compute mode is prohibited" in (unavailable_reason(read_gpus()[0], share=True) or "")


def test_warnings_do_not_block(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_ECC", "0")
    machine.setenv("STANDIN_HOT", "3")
    gpus = read_gpus()
    assert [gpu.warning for gpu in gpus] == [
        "2 uncorrected memory errors (ECC) since its driver was loaded: reset it",
        None,
        None,
        "slowed down by heat",
    ]
    assert [unavailable_reason(gpu) for gpu in (gpus[0], gpus[3])] == [None, None]


def test_utilization_shows_use_where_no_process_is_listed(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_CONTAINER", "1")
    free, busy = read_gpus()[:2]
    assert (free.processes, busy.processes) == ((), ())
    assert unavailable_reason(free) is None, "3 % is idle"
    assert unavailable_reason(busy) == "97 % in use by processes that are not listed"
    assert unavailable_reason(busy, share=True) is None
    assert unavailable_reason(busy, runs=1) is None, "it may be our own run"


def test_sharing_needs_a_gpu_that_works_and_has_room(machine: pytest.MonkeyPatch) -> None:
    machine.setenv("STANDIN_LOST", "0")
    lost, busy, full, _ = read_gpus()
    assert "GPU is lost" in (unavailable_reason(lost, share=True) or "")
    assert unavailable_reason(busy, share=True) is None
    assert unavailable_reason(full, share=True) == "1.0 of 24.0 GiB free, 2.0 needed"


def test_memory_that_runs_will_use_is_reserved(machine: pytest.MonkeyPatch) -> None:
    free = read_gpus()[0]
    assert unavailable_reason(free, needed=10 * GIB, reserved=13 * GIB) is None
    reason = "23.5 of 24.0 GiB free, 14.0 of them reserved, 10.0 needed"
    assert unavailable_reason(free, needed=10 * GIB, reserved=14 * GIB) == reason


def test_slots_follow_from_the_peak_memory(machine: pytest.MonkeyPatch) -> None:
    gpu = read_gpus()[0]
    assert [recommended_slots(gpu, peak * GIB) for peak in (1, 6, 10, 20, 40)] == [4, 3, 2, 1, 1]


def test_the_library_is_opened_once_for_several_reads(library: Path, machine: pytest.MonkeyPatch) -> None:
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


def test_a_gpu_that_was_lost_is_found_again(machine: pytest.MonkeyPatch) -> None:
    """The library reports a GPU as lost until it is opened again."""
    nvml: CDLL = pynvml.nvmlLib
    machine.setenv("STANDIN_LOST", "0")
    with DeviceReader({}, seconds=0) as reader:
        assert reader.read()[0].problem
        assert nvml.standin_users() == 0
        machine.delenv("STANDIN_LOST")
        assert reader.read()[0].problem is None
