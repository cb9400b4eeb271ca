"""Which run starts where, and what the others are told."""

from clarinet_tui.devices.local import Device, Process
from clarinet_tui.queue.queue_file import Entry, Queue
from clarinet_tui.queue.scheduling import decide
from clarinet_tui.runs.stage1 import Part

GIB = 1 << 30


def entry(name: str, device: str = "auto", **fields: object) -> Entry:
    return Entry(id=name, device=device, folder="/", data_dir="/data", **fields)  # type: ignore[arg-type]


def gpu(number: int, *processes: Process, used: int = 0) -> Device:
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
FOREIGN = Process(pid=4242, owner="ann", command="python", memory=GIB, computes=True)


def placed(queue: Queue, *devices: Device, **more: object) -> dict[str, str]:
    decisions = decide(queue, devices, **more)  # type: ignore[arg-type]
    return {one.entry.id: one.device.label if one.device else one.why for one in decisions}


def test_free_gpus_are_filled_in_order_and_the_rest_waits() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")))
    found = placed(queue, gpu(0), gpu(1), CPU)
    assert found == {"aaa": "cuda:0", "bbb": "cuda:1", "ccc": "cuda:0 is taken; cuda:1 is taken"}


def test_without_gpus_the_cpu_is_a_device_like_any_other() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb")), slots={"cpu": 2})
    assert placed(queue, CPU) == {"aaa": "cpu", "bbb": "cpu"}


def test_runs_that_were_started_take_their_slots() -> None:
    queue = Queue(entries=(entry("aaa", on="GPU-0"), entry("bbb"), entry("ccc")), slots={"gpu": 2})
    assert placed(queue, gpu(0), CPU) == {"bbb": "cuda:0", "ccc": "cuda:0 is taken"}


def test_a_gpu_where_others_compute_is_left_to_them_unless_told_otherwise() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb", shares=True)))
    found = placed(queue, gpu(0, FOREIGN), CPU)
    assert "4242" in found["aaa"]
    assert "ann" in found["aaa"]
    assert found["bbb"] == "cuda:0"


def test_our_own_workers_are_not_foreign() -> None:
    queue = Queue(entries=(entry("aaa", on="GPU-0"), entry("bbb")), slots={"gpu": 2})
    assert placed(queue, gpu(0, FOREIGN), CPU, workers={4242}) == {"bbb": "cuda:0"}


def test_what_was_asked_for_is_kept_to_even_where_others_are_free() -> None:
    queue = Queue(entries=(entry("aaa", "cuda:1"), entry("bbb", "cuda:1"), entry("ccc", "cpu"), entry("ddd")))
    found = placed(queue, gpu(0), gpu(1), CPU)
    assert found == {"aaa": "cuda:1", "bbb": "cuda:1 is taken", "ccc": "cpu", "ddd": "cuda:0"}


def test_a_device_that_is_not_there_is_refused_at_once() -> None:
    (decision,) = decide(Queue(entries=(entry("aaa", "cuda:7"),)), [gpu(0), CPU])
    assert decision.refused
    assert "cuda:7" in decision.why


def test_a_driver_that_fails_for_a_moment_is_waited_for() -> None:
    broken = Device(
        key="cpu", label="cpu", name="CPU", cores=8, memory_total=1, memory_used=0, trouble="the driver does not answer"
    )
    decisions = decide(Queue(entries=(entry("aaa", "cuda:0"), entry("bbb"), entry("ccc", "cpu"))), [broken])
    assert [one.refused for one in decisions] == [False] * 3
    assert [one.device is None for one in decisions] == [True, True, False]


def test_paused_runs_and_paused_queues_start_nothing() -> None:
    assert placed(Queue(entries=(entry("aaa", paused=True), entry("bbb"))), CPU) == {"aaa": "paused", "bbb": "cpu"}
    assert placed(Queue(entries=(entry("aaa"),), paused=True), CPU) == {"aaa": "the queue is paused"}


def test_a_second_run_of_one_stage_1_holds_no_device_while_the_first_makes_it() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc"), entry("ddd")), slots={"cpu": 4})
    shared = {"aaa": Part("k1", True), "bbb": Part("k1", True), "ccc": Part("k2", True), "ddd": None}
    found = placed(queue, CPU, parts=shared, making=["k2"])
    waits = "another run makes its stage 1"
    assert found == {"aaa": "cpu", "bbb": waits, "ccc": waits, "ddd": "cpu"}


def test_gac_waits_for_no_stage_1_but_others_wait_for_it() -> None:
    queue = Queue(entries=(entry("aaa"), entry("bbb"), entry("ccc")), slots={"cpu": 4})
    parts = {"aaa": Part("k1", False), "bbb": Part("k1", True), "ccc": Part("k2", False)}
    found = placed(queue, CPU, parts=parts, making=["k2"])
    assert found == {"aaa": "cpu", "bbb": "another run makes its stage 1", "ccc": "cpu"}
