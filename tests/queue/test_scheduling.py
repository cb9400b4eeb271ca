"""Which run starts where, and what the others are told."""

from clarinet_tui.devices.device import Device, DeviceProcess
from clarinet_tui.queue.queue_file import Queue, QueueEntry
from clarinet_tui.queue.scheduling import schedule
from clarinet_tui.runs.stage1 import Stage1Role

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
        use=0,
        temperature=30,
        processes=processes,
    )


CPU = Device(key="cpu", label="cpu", name="CPU", cores=8, memory_total=64 * GIB, memory_used=0)
FOREIGN = DeviceProcess(pid=4242, owner="ann", command="python", memory=GIB, computes=True)


def placed(queue: Queue, *devices: Device, **more: object) -> dict[str, str]:
    decisions = schedule(queue, devices, **more)  # type: ignore[arg-type]
    return {one.entry.id: one.device.label if one.device else one.reason for one in decisions}


def test_free_gpus_are_filled_in_order_and_the_rest_waits() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")))
    found = placed(queue, gpu(0), gpu(1), CPU)
    assert found == {"aaa": "cuda:0", "bbb": "cuda:1", "ccc": "cuda:0 has no free slot; cuda:1 has no free slot"}


def test_without_gpus_the_cpu_is_a_device_like_any_other() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb")), slots={"cpu": 2})
    assert placed(queue, CPU) == {"aaa": "cpu", "bbb": "cpu"}


def test_runs_that_were_started_take_their_slots() -> None:
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb"), entry("ccc")), slots={"gpu": 2})
    assert placed(queue, gpu(0), CPU) == {"bbb": "cuda:0", "ccc": "cuda:0 has no free slot"}


def test_a_gpu_where_others_compute_is_left_to_them_unless_told_otherwise() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb", share_device=True)))
    found = placed(queue, gpu(0, FOREIGN), CPU)
    assert "4242" in found["aaa"]
    assert "ann" in found["aaa"]
    assert found["bbb"] == "cuda:0"


def test_our_own_workers_are_not_foreign() -> None:
    queue = Queue(entries=(entry("aaa", device_key="GPU-0"), entry("bbb")), slots={"gpu": 2})
    assert placed(queue, gpu(0, FOREIGN), CPU, worker_pids={4242}) == {"bbb": "cuda:0"}


def test_what_was_asked_for_is_kept_to_even_where_others_are_free() -> None:
    queue = Queue(entries=(entry("aaa", "cuda:1"), entry("bbb", "cuda:1"), entry("ccc", "cpu"), entry("ddd")))
    found = placed(queue, gpu(0), gpu(1), CPU)
    assert found == {"aaa": "cuda:1", "bbb": "cuda:1 has no free slot", "ccc": "cpu", "ddd": "cuda:0"}


def test_a_device_that_is_not_there_is_refused_at_once() -> None:
    (decision,) = schedule(Queue(entries=(entry("aaa", "cuda:7"),)), [gpu(0), CPU])
    assert decision.is_impossible
    assert "cuda:7" in decision.reason


def test_a_driver_that_fails_for_a_moment_is_waited_for() -> None:
    broken = Device(
        key="cpu", label="cpu", name="CPU", cores=8, memory_total=1, memory_used=0, problem="the driver does not answer"
    )
    decisions = schedule(Queue(entries=(entry("aaa", "cuda:0"), entry("bbb"), entry("ccc", "cpu"))), [broken])
    assert [one.is_impossible for one in decisions] == [False] * 3
    assert [one.device is None for one in decisions] == [True, True, False]


def test_paused_runs_and_paused_queues_start_nothing() -> None:
    assert placed(Queue(entries=(entry("aaa", paused=True), entry("bbb"))), CPU) == {"aaa": "paused", "bbb": "cpu"}
    assert placed(Queue(entries=(entry("aaa"),), paused=True), CPU) == {"aaa": "the queue is paused"}


def test_a_second_run_of_one_stage_1_holds_no_device_while_the_first_makes_it() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc"), entry("ddd")), slots={"cpu": 4})
    shared = {"aaa": Stage1Role("k1", True), "bbb": Stage1Role("k1", True), "ccc": Stage1Role("k2", True), "ddd": None}
    found = placed(queue, CPU, stage1_roles=shared, stage1_in_progress=["k2"])
    waits = "waits for the stage 1 of another run"
    assert found == {"aaa": "cpu", "bbb": waits, "ccc": waits, "ddd": "cpu"}


def test_gac_waits_for_no_stage_1_but_others_wait_for_it() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")), slots={"cpu": 4})
    parts = {"aaa": Stage1Role("k1", False), "bbb": Stage1Role("k1", True), "ccc": Stage1Role("k2", False)}
    found = placed(queue, CPU, stage1_roles=parts, stage1_in_progress=["k2"])
    assert found == {"aaa": "cpu", "bbb": "waits for the stage 1 of another run", "ccc": "cpu"}
