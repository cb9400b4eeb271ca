"""Which run starts on which device, and what it waits for: a device, a time, or other runs."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from clarinet_tui.cli.launch import parse_duration, parse_start_time
from clarinet_tui.devices.device import ComputeMode, Device, DeviceProcess
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.queue.scheduling import schedule, schedule_queue, waiting_reason
from clarinet_tui.runs.stage1 import Stage1Role
from core.errors import InputError
from core.events import Failed, Finished
from tests.support.events import started
from tests.support.histories import make_run, write_events

GIB = 1 << 30


def entry(name: str, device: str = "auto", **fields: object) -> QueueEntry:
    return QueueEntry(id=name, device=device, working_directory="/", data_dir="/data", **fields)  # type: ignore[arg-type]


def gpu(number: int, *processes: DeviceProcess, used: int = 0) -> Device:
    return Device(
        key=f"GPU-{number}",
        label=f"cuda:{number}",
        name="A100",
        cores=None,
        memory_total=40 * GIB,
        memory_used=used,
        utilization=0,
        temperature=30,
        processes=processes,
    )


CPU = Device(key="cpu", label="cpu", name="CPU", cores=8, memory_total=64 * GIB, memory_used=0)
FOREIGN = DeviceProcess(pid=4242, owner="ann", command="python", memory=GIB, computes=True)


def schedule_labels(queue: Queue, *devices: Device, **more: object) -> dict[str, str]:
    decisions = schedule(queue, devices, **more)  # type: ignore[arg-type]
    return {decision.entry.id: decision.device.label if decision.device else decision.reason for decision in decisions}


def test_free_gpus_are_filled_in_order_and_the_rest_waits() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")))
    placed = schedule_labels(queue, gpu(0), gpu(1), CPU)
    assert placed == {"aaa": "cuda:0", "bbb": "cuda:1", "ccc": "cuda:0 has no free slot; cuda:1 has no free slot"}


def test_without_gpus_runs_start_on_the_cpu() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb")), slots={"cpu": 2})
    assert schedule_labels(queue, CPU) == {"aaa": "cpu", "bbb": "cpu"}


def test_started_runs_occupy_their_slots() -> None:
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb"), entry("ccc")), slots={"gpu": 2})
    assert schedule_labels(queue, gpu(0), CPU) == {"bbb": "cuda:0", "ccc": "cuda:0 has no free slot"}


def test_a_gpu_in_use_by_others_needs_permission_to_share() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb", share_device=True)))
    placed = schedule_labels(queue, gpu(0, FOREIGN), CPU)
    assert "4242" in placed["aaa"]
    assert "ann" in placed["aaa"]
    assert placed["bbb"] == "cuda:0"


def test_own_workers_are_not_foreign_processes() -> None:
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb")), slots={"gpu": 2})
    assert schedule_labels(queue, gpu(0, FOREIGN), CPU, worker_pids={4242}) == {"bbb": "cuda:0"}


def test_a_requested_device_is_used_even_if_others_are_free() -> None:
    queue = Queue(entries=(entry("aaa", "cuda:1"), entry("bbb", "cuda:1"), entry("ccc", "cpu"), entry("ddd")))
    placed = schedule_labels(queue, gpu(0), gpu(1), CPU)
    assert placed == {"aaa": "cuda:1", "bbb": "cuda:1 has no free slot", "ccc": "cpu", "ddd": "cuda:0"}


def test_a_missing_device_is_impossible() -> None:
    (decision,) = schedule(Queue(entries=(entry("aaa", "cuda:7"),)), [gpu(0), CPU])
    assert decision.is_impossible
    assert "cuda:7" in decision.reason


def test_runs_wait_for_a_failing_driver() -> None:
    broken = Device(
        key="cpu", label="cpu", name="CPU", cores=8, memory_total=1, memory_used=0, problem="the driver does not answer"
    )
    decisions = schedule(Queue(entries=(entry("aaa", "cuda:0"), entry("bbb"), entry("ccc", "cpu"))), [broken])
    assert [decision.is_impossible for decision in decisions] == [False] * 3
    assert [decision.device is None for decision in decisions] == [True, True, False]


def test_paused_runs_and_paused_queues_start_nothing() -> None:
    assert schedule_labels(Queue(entries=(entry("aaa", paused=True), entry("bbb"))), CPU) == {
        "aaa": "paused",
        "bbb": "cpu",
    }
    assert schedule_labels(Queue(entries=(entry("aaa"),), paused=True), CPU) == {"aaa": "the queue is paused"}


def test_a_run_waits_for_the_stage_1_in_progress() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc"), entry("ddd")), slots={"cpu": 4})
    shared = {"aaa": Stage1Role("k1", True), "bbb": Stage1Role("k1", True), "ccc": Stage1Role("k2", True), "ddd": None}
    placed = schedule_labels(queue, CPU, stage1_roles=shared, stage1_in_progress=["k2"])
    waits = "the stage 1 of another run"
    assert placed == {"aaa": "cpu", "bbb": waits, "ccc": waits, "ddd": "cpu"}


def test_gac_waits_for_no_stage_1_but_others_wait_for_gac() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")), slots={"cpu": 4})
    parts = {"aaa": Stage1Role("k1", False), "bbb": Stage1Role("k1", True), "ccc": Stage1Role("k2", False)}
    placed = schedule_labels(queue, CPU, stage1_roles=parts, stage1_in_progress=["k2"])
    assert placed == {"aaa": "cpu", "bbb": "the stage 1 of another run", "ccc": "cpu"}


def test_free_gpus_are_filled_before_any_gets_a_second_run() -> None:
    """Eight runs on eight free GPUs with two slots each."""
    queue = Queue(entries=tuple(entry(f"run{number}") for number in range(8)), slots={"gpu": 2})
    placed = schedule_labels(queue, *(gpu(number) for number in range(8)), CPU)
    assert sorted(placed.values()) == [f"cuda:{number}" for number in range(8)]


def test_the_ninth_run_shares_the_gpu_with_the_fewest_runs() -> None:
    started = [entry("aaa", device_key="GPU-0"), entry("bbb", device_key="GPU-0"), entry("ccc", device_key="GPU-1")]
    queue = Queue(entries=(*started, entry("ddd"), entry("eee")), slots={"gpu": 3})
    assert schedule_labels(queue, gpu(0), gpu(1), CPU) == {"ddd": "cuda:1", "eee": "cuda:0"}


def test_a_gpu_that_has_just_failed_a_run_is_used_last() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")), failed_devices=("GPU-0",))
    placed = schedule_labels(queue, gpu(0), gpu(1), gpu(2), CPU)
    assert placed == {"aaa": "cuda:1", "bbb": "cuda:2", "ccc": "cuda:0"}


def test_a_gpu_with_memory_errors_or_heat_is_used_after_healthy_ones() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")))
    placed = schedule_labels(queue, replace(gpu(0), memory_errors=1), replace(gpu(1), throttling="heat"), gpu(2), CPU)
    assert placed == {"aaa": "cuda:2", "bbb": "cuda:1", "ccc": "cuda:0"}


def test_memory_of_runs_that_have_just_started_is_reserved() -> None:
    """Neither has allocated anything: 40 GiB are free, and only one more run of 15 GiB fits beside one."""
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb"), entry("ccc")), slots={"gpu": 4})
    needs = dict.fromkeys(("aaa", "bbb", "ccc"), 15 * GIB)
    placed = schedule_labels(queue, gpu(0), CPU, memory_needs=needs)
    reason = "cuda:0: 40.0 of 40.0 GiB free, 30.0 of them reserved, 15.0 needed"
    assert placed == {"bbb": "cuda:0", "ccc": reason}


def test_memory_that_a_run_has_allocated_is_not_reserved_twice() -> None:
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb")), slots={"gpu": 2})
    ours = DeviceProcess(pid=4242, owner="me", command="python", memory=15 * GIB)
    needs = {"aaa": 20 * GIB, "bbb": 20 * GIB}
    assert schedule_labels(queue, gpu(0, ours, used=15 * GIB), CPU, memory_needs=needs, worker_pids={4242}) == {
        "bbb": "cuda:0"
    }
    unlisted = replace(gpu(0, used=15 * GIB), processes=None)
    assert schedule_labels(queue, unlisted, CPU, memory_needs=needs) == {"bbb": "cuda:0"}


def test_a_run_of_unknown_need_gets_2_gib() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb")), slots={"gpu": 2})
    placed = schedule_labels(queue, gpu(0, used=37 * GIB), CPU)
    assert placed == {"aaa": "cuda:0", "bbb": "cuda:0: 3.0 of 40.0 GiB free, 2.0 of them reserved, 2.0 needed"}


def test_sharing_does_not_start_a_run_on_a_lost_gpu() -> None:
    queue = Queue(entries=(entry("aaa", share_device=True),))
    lost = replace(gpu(0, FOREIGN), problem="the GPU is lost")
    assert schedule_labels(queue, lost, CPU) == {"aaa": "cuda:0: the GPU is lost"}


def test_an_exclusive_gpu_gets_one_run_whatever_its_slots() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb")), slots={"gpu": 2})
    exclusive = replace(gpu(0), compute_mode=ComputeMode.EXCLUSIVE)
    assert schedule_labels(queue, exclusive, CPU) == {"aaa": "cuda:0", "bbb": "cuda:0: in exclusive mode"}


def test_outcomes_of_gpus_are_remembered() -> None:
    queue = Queue().with_outcome("GPU-0", failed=True).with_outcome("GPU-1", failed=True)
    assert queue.failed_devices == ("GPU-0", "GPU-1")
    assert queue.with_outcome("GPU-0", failed=False).failed_devices == ("GPU-1",)
    assert Queue().with_outcome("cpu", failed=True) == Queue()


NOW = datetime(2026, 11, 17, 21, 30)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("22:00", datetime(2026, 11, 17, 22, 0)),
        ("7:15", datetime(2026, 11, 18, 7, 15)),
        ("2h30m", datetime(2026, 11, 18, 0, 0)),
        ("2026-11-20", datetime(2026, 11, 20)),
        ("2026-11-20 08:00", datetime(2026, 11, 20, 8)),
    ],
)
def test_start_times(text: str, expected: datetime) -> None:
    assert parse_start_time(text, "--not-before", NOW) == expected.timestamp()


@pytest.mark.parametrize("text", ["", "soon", "25:00", "12:60", "-1h", "2026-13-01", "9" * 50 + "h"])
def test_wrong_start_times_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^--not-before: expected a "):
        parse_start_time(text, "--not-before", NOW)


def test_durations() -> None:
    assert [parse_duration(text, "--time-limit") for text in ("90m", "2h30m", "1d", "45s")] == [5400, 9000, 86400, 45]
    for text in ("", "0m", "90", "1h1d", "400d"):
        with pytest.raises(InputError, match=r"^--time-limit: expected a duration such as 90m"):
            parse_duration(text, "--time-limit")


def test_run_waits_for_its_time(tmp_path: Path) -> None:
    waiting = entry("abc", not_before=NOW.timestamp())
    reason = waiting_reason(waiting, Queue(), tmp_path, NOW.timestamp() - 1)
    assert reason == "until 2026-11-17 21:30"
    assert waiting_reason(waiting, Queue(), tmp_path, NOW.timestamp()) is None


def test_run_waits_until_another_has_finished(tmp_path: Path) -> None:
    first, second = make_run(tmp_path, "abc"), make_run(tmp_path, "bcd")
    waiting = entry(second.id, after=(first.id,))

    def reason(queue: Queue) -> str | None:
        decisions = {decision.entry.id: decision for decision in schedule_queue(tmp_path, queue, [CPU], ())}
        decision = decisions[second.id]
        return None if decision.device else decision.reason

    assert reason(Queue(entries=(waiting, entry(first.id)))) == "run abc"
    assert reason(Queue(entries=(waiting,))) == "run abc, which has not ended"
    write_events(first, [started(), Failed(iteration=0, message="no memory")])
    assert reason(Queue(entries=(waiting,))) == "run abc, which is failed"
    write_events(first, [Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None)])
    assert reason(Queue(entries=(waiting,))) is None
