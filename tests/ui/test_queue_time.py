"""When the queue will be done, and how much devices were used."""

from dataclasses import replace

from clarinet_tui.place import QueueRow
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.text.devices import format_device
from clarinet_tui.ui.text.ended_runs import format_ended_runs
from clarinet_tui.ui.text.queue import format_queue_end, format_queued_run, makespan, reason_fits
from tests.support.ui_queue import CPU
from tests.support.ui_runs import run_row


def machine(*rows: QueueRow) -> MachineSnapshot:
    return MachineSnapshot(devices=(CPU,), queue_rows=rows)


def test_runs_start_on_the_slot_that_is_free_first() -> None:
    assert makespan([], 0) == 0
    assert makespan([10, 20, 30], 1) == 60
    assert makespan([10, 20, 30], 2) == 40
    assert makespan([10], 1, busy=[5]) == 15
    assert makespan([10], 2, busy=[50]) == 50


def test_the_end_counts_running_and_waiting_runs() -> None:
    started = QueueRow(id="aaa111", started_on="cpu")
    waiting = [QueueRow(id=f"run{seed}", seconds=600.0) for seed in (2, 3)]
    running = {"aaa111": run_row(id="aaa111", seconds_left=120.0)}
    assert format_queue_end(machine(started, *waiting), running) == "done in about 22m00"
    unknown = QueueRow(id="run9")
    assert format_queue_end(machine(started, unknown), running).endswith("plus 1 run of unknown time")
    assert format_queue_end(machine(unknown), {}) == ""
    assert format_queue_end(machine(), {}) == ""


def test_a_waiting_run_has_its_time_and_its_limit() -> None:
    row = QueueRow(id="abc", method="fwd+basset-kept", task="Y->D", seed=1, wait_reason="until 2026-11-17 16:59")
    assert format_queued_run(row, MachineSnapshot(), None, 78).plain.endswith(" until 2026-11-17 16:59")
    assert reason_fits(row, 78)
    limited = replace(row, time_limit=5400.0)
    assert format_queued_run(limited, MachineSnapshot(), None, 158).plain.endswith("16:59; at most 1h30")
    assert not reason_fits(limited, 78)


def test_an_ended_run_fits_a_narrow_line() -> None:
    run = run_row(method="fwd+basset-kept", ended=0.0, seconds=113.0, memory=488 * 2**20, target_accuracy=83.6)
    (_, narrow), (_, wide) = (format_ended_runs([run], 720.0, width).plain.splitlines() for width in (78, 158))
    assert narrow.endswith("83.6  12m ago   1m53")
    assert wide.endswith("1m53, 488 MiB")


def test_the_use_of_a_device_is_drawn_from_0_to_100() -> None:
    assert "▁▁▁▁▁▁▁▁▁▁▁▁████████████" in format_device(CPU, machine(), {}, 158, (0.0, 100.0)).plain
    assert "█" not in format_device(CPU, machine(), {}, 80, (0.0, 100.0)).plain
