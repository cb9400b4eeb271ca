"""Samples of the hardware, with a stand-in for NVIDIA's library: their values, their journal lines and the history."""

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from clarinet_tui.devices.local import DeviceReader
from clarinet_tui.history.queries import count_runs, list_runs, read_sample_curves
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.queue.scheduling import schedule_queue
from clarinet_tui.runs.environment import read_environment
from clarinet_tui.runs.journal_writer import JournalWriter
from clarinet_tui.runs.memory_peaks import read_largest_peak, read_memory_peak
from clarinet_tui.text import GIB
from clarinet_tui.worker.hardware import HardwareSampler, describe_hardware, find_gpu, hardware_kind
from clarinet_tui.worker.recorder import Recorder
from core.errors import InputError
from core.events import Sampled, Stepped, Stopped
from tests.support.events import resumed, started, step
from tests.support.histories import ingest, make_run, open_history
from tests.support.nvml import BUSY, install_standin
from tests.support.workers import read_events

TIMEOUT = 60.0


@pytest.fixture
def our_gpu(library: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The only visible GPU, with 9 GiB of this process."""
    install_standin(library, monkeypatch)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", BUSY)
    monkeypatch.setenv("STANDIN_FOREIGN", str(os.getpid()))
    return monkeypatch


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def sample_twice(patch: pytest.MonkeyPatch, device: str = "cuda:0") -> list[Sampled]:
    """Return a sample of the time in which the GPU used 500 J, and one of the time in which it used 250 J."""
    samples: list[Sampled] = []
    patch.setenv("STANDIN_ENERGY", "1000")
    with DeviceReader(seconds=0) as reader:
        gpu = find_gpu(reader, device)
    patch.setenv("STANDIN_ENERGY", "501000")
    sampler = HardwareSampler(device, gpu, samples.append, lambda: (7, 1.5), interval=0.01)
    wait_until(lambda: samples)
    patch.setenv("STANDIN_ENERGY", "751000")
    sampler.stop()
    return samples


def test_a_sample_has_what_the_driver_reports(our_gpu: pytest.MonkeyPatch) -> None:
    first, *others = sample_twice(our_gpu)
    assert (first.iteration, first.seconds) == (7, 1.5)
    assert (first.gpu_use, first.power, first.temperature) == (97.0, 344.5, 71)
    assert (first.gpu_memory, first.gpu_memory_peak) == (9 * GIB, 9 * GIB)
    assert (first.cpu or 0.0) >= 0
    assert (first.memory or 0) > 1 << 20
    assert first.energy == 500.0
    total = sum(sample.energy or 0.0 for sample in (first, *others))
    assert total == 750.0, "each sample has what was used since the one before"
    our_gpu.setenv("STANDIN_SECOND", "1")
    assert sample_twice(our_gpu)[0].energy == 250.0, "it is divided among the processes of a GPU"


def test_unknown_values_stay_unknown(our_gpu: pytest.MonkeyPatch) -> None:
    on_cpu = sample_twice(our_gpu, "cpu")[0]
    assert (on_cpu.gpu_use, on_cpu.gpu_memory, on_cpu.power, on_cpu.energy) == (None, None, None, None)
    assert on_cpu.memory
    our_gpu.setenv("STANDIN_UNSUPPORTED", "1")
    silent = sample_twice(our_gpu)[0]
    assert (silent.gpu_use, silent.gpu_memory, silent.energy) == (None, None, None)
    our_gpu.setenv("STANDIN_INIT", "9")
    assert sample_twice(our_gpu)[0].gpu_use is None


def torch_standin(name: str = "NVIDIA A100", reserved: int = 3 * GIB, peak: int = 5 * GIB) -> Any:
    """A torch that has a GPU, as far as the sampler uses it."""
    cuda = SimpleNamespace(
        get_device_name=lambda device: name,
        is_initialized=lambda: True,
        memory_reserved=lambda device: reserved,
        max_memory_reserved=lambda device: peak,
    )
    return SimpleNamespace(
        cuda=cuda,
        backends=SimpleNamespace(cudnn=SimpleNamespace(version=lambda: 91002)),
        version=SimpleNamespace(cuda="12.8", hip=None),
        get_num_threads=lambda: 4,
        __version__="2.13.0+cu128",
        __spec__=importlib.util.find_spec("torch"),
    )


def test_the_peak_between_two_samples_is_known_from_torch(our_gpu: pytest.MonkeyPatch) -> None:
    """The driver lists 9 GiB now, of which torch holds 3; at its peak torch held 5."""
    our_gpu.setitem(sys.modules, "torch", torch_standin())
    first = sample_twice(our_gpu)[0]
    assert (first.gpu_memory, first.gpu_memory_peak) == (9 * GIB, 11 * GIB)
    our_gpu.setenv("STANDIN_CONTAINER", "1")
    unlisted = sample_twice(our_gpu)[0]
    assert (unlisted.gpu_memory, unlisted.gpu_memory_peak) == (3 * GIB + GIB // 2, 5 * GIB + GIB // 2)


def test_the_kind_of_hardware_is_the_model_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels of stage 1 are shared only between runs whose computation is rounded alike."""
    monkeypatch.setitem(sys.modules, "torch", torch_standin("NVIDIA A100"))
    assert [hardware_kind(device) for device in ("cuda:0", "cpu", "mps")] == ["cuda NVIDIA A100", "cpu", "mps mps"]


def test_an_attempt_records_its_hardware(our_gpu: pytest.MonkeyPatch) -> None:
    our_gpu.setitem(sys.modules, "torch", torch_standin())
    with DeviceReader(seconds=0) as reader:
        hardware = describe_hardware("cuda:0", find_gpu(reader, "cuda:0"))
    assert hardware.pop("cpu")
    assert hardware.pop("cores") >= 1
    assert hardware == {
        "name": "NVIDIA GeForce RTX 3090",
        "uuid": BUSY,
        "driver": "570.86.15",
        "memory": 24 * GIB,
        "torch": "2.13.0+cu128",
        "cuda": "12.8",
        "cudnn": 91002,
        "threads": 4,
    }


def record_attempt(run_dir: Path, patch: pytest.MonkeyPatch, name: str = "abc", **settings: Any) -> Any:
    """Record a run of one iteration on the GPU, during which it uses 7.2 MJ."""
    run = make_run(run_dir, name, **settings)
    patch.setenv("STANDIN_ENERGY", "0")
    recorder = Recorder(run, run.read_config(), print)
    recorder.device = "cuda:0"
    recorder.record(started())
    recorder.record(step(1))
    patch.setenv("STANDIN_ENERGY", "7200000000")
    recorder.record(Stopped(iteration=1))
    recorder.close()
    return run


FOUND = (
    *("gpu_memory>8GB", "gpu_memory:9GiB", "gpu_memory>=9663676416", "gpu_memory:1gb..10gb", "gpu_use>90"),
    *("energy>1.9kWh", "energy:2kwh", "energy<7300kJ", "memory>1MB", "hardware:3090"),
)
NOT_FOUND = ("gpu_memory>9GiB", "gpu_memory<9.5GB", "energy>2kWh", "hardware:A100")


def test_the_history_has_samples_and_their_sums(tmp_path: Path, our_gpu: pytest.MonkeyPatch) -> None:
    run = record_attempt(tmp_path, our_gpu)
    assert [event["event"] for event in read_events(run)] == ["started", "step", "sample", "stopped"]
    hardware = read_environment(run)["hardware"]
    assert (hardware["name"], hardware["uuid"]) == ("NVIDIA GeForce RTX 3090", BUSY)
    with open_history(tmp_path) as db:
        row = ingest(db, run)
        assert (row.hardware, row.gpu_memory, row.gpu_use) == ("NVIDIA GeForce RTX 3090", 9.0 * GIB, 97.0)
        assert row.energy == 7.2e6
        assert row.memory
        samples = read_sample_curves(db, run.id)
        assert (samples["power"].mean.tolist(), samples["temperature"].mean.tolist()) == ([344.5], [71.0])
        assert [query for query in (*FOUND, *NOT_FOUND) if count_runs(db, query)] == list(FOUND)
        assert [found.id for found in list_runs(db, "", sort="gpu_memory")] == [run.id]
        for wrong in ("gpu_memory>8apples", "energy>1kWq", "memory>GB", "energy:-3J"):
            with pytest.raises(InputError, match=r"expected a(n energy| size) such as"):
                count_runs(db, wrong)


def test_energy_of_all_attempts_is_added(tmp_path: Path, our_gpu: pytest.MonkeyPatch) -> None:
    run = record_attempt(tmp_path, our_gpu)
    recorder = Recorder(run, run.read_config(), print)
    recorder.device = "cuda:0"
    our_gpu.setenv("STANDIN_ENERGY", "1000000")
    recorder.record(resumed(0))
    our_gpu.setenv("STANDIN_ENERGY", "2000000")
    recorder.record(Stopped(iteration=1))
    recorder.close()
    with open_history(tmp_path) as db:
        assert ingest(db, run).energy == 7.2e6 + 1e3, "also of iterations that the second attempt has superseded"


def test_the_next_run_like_it_reserves_its_peak(tmp_path: Path, our_gpu: pytest.MonkeyPatch) -> None:
    run = record_attempt(tmp_path, our_gpu, seed=1)
    assert read_memory_peak(tmp_path, run.read_config()) == read_largest_peak(tmp_path) == 9 * GIB
    like, other = make_run(tmp_path, "like", seed=2), make_run(tmp_path, "other", batch_size=16)
    entries = tuple(QueueEntry(id=one.id, working_directory="/", data_dir="/") for one in (like, other))
    our_gpu.setenv("CUDA_VISIBLE_DEVICES", "2")
    our_gpu.setenv("STANDIN_FOREIGN", "0")
    with DeviceReader(seconds=0) as reader:
        decisions = schedule_queue(tmp_path, Queue(entries=entries), reader.read(), ())
    reasons = {decision.entry.id: decision.reason for decision in decisions}
    assert reasons == {
        "like": "cuda:0: 1.0 of 24.0 GiB free, 9.0 needed",
        "other": "cuda:0: 1.0 of 24.0 GiB free, 2.0 needed",
    }
    (file,) = (tmp_path / "memory").iterdir()
    for damaged in ("{", '{"kind": "", "bytes": -1}', '{"kind": "", "bytes": "9"}'):
        file.write_text(damaged)
        assert read_memory_peak(tmp_path, run.read_config()) is None


def test_samples_and_iterations_of_two_threads_are_all_written(tmp_path: Path) -> None:
    run = make_run(tmp_path, "abc")
    journal = JournalWriter(run.journal)

    def sample() -> None:
        for number in range(500):
            journal.append_sample(Sampled(iteration=number))

    thread = threading.Thread(target=sample)
    journal.append(started())
    thread.start()
    for number in range(1, 2001):
        journal.append(Stepped(iteration=number, epoch=1, adaptation_epoch=1, stage="train", metrics={"loss": 1.0}))
    thread.join()
    journal.close()
    assert journal.pending_bytes == 0
    events = read_events(run)
    assert [event["iteration"] for event in events if event["event"] == "step"] == list(range(1, 2001))
    assert [event["iteration"] for event in events if event["event"] == "sample"] == list(range(500))
