"""The Devices view: devices, waiting runs, and what the keys change in queue.json."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from clarinet_tui.place import QueueRow
from clarinet_tui.queue.queue_file import update_queue
from clarinet_tui.ui.app import ClarinetApp
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import Listing
from clarinet_tui.ui.text.devices import (
    format_device,
    format_ended_runs,
    format_queue_end,
    format_queued_run,
    makespan,
    reason_fits,
)
from clarinet_tui.ui.widgets.pick_list import PickList
from tests.support.app import SIZES, make_app, screen_text, wait_until
from tests.support.nvml import BUSY, FREE, build
from tests.support.trained_runs import make_trained_run
from tests.support.ui_queue import CPU, dismissed, fill_queue, hold_queue, queue_of, still_machine, waiting
from tests.support.ui_runs import run_row, three_runs


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def held(runs_dir: Path) -> Iterator[Path]:
    runs_dir.mkdir()
    hold_queue(runs_dir)
    yield from dismissed(runs_dir)


async def opened(pilot: Pilot[None]) -> PickList:
    await pilot.press("6")
    await wait_until(pilot, lambda: " cpu " in screen_text(pilot.app), "the devices")
    return pilot.app.screen.query_one("#queue", PickList)


@pytest.mark.parametrize("size", SIZES)
async def test_devices_with_load_and_foreign_processes(
    app: ClarinetApp, library: Path, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    still_machine(library, monkeypatch)
    async with app.run_test(size=size) as pilot:
        await opened(pilot)
        lines = screen_text(app).splitlines()
        assert "cuda:0  RTX 3090" in lines[2]
        assert "0.5/24.0 GiB" in lines[2]
        assert "free" in lines[2]
        assert "97 %" in lines[3]
        assert "71" in lines[3]
        assert "?: ? 4194305 compute, 9.0 GiB" in lines[4]
        assert "full" in lines[5]
        assert "The queue is empty" in screen_text(app)


async def test_the_runs_that_ended_last_are_listed(runs_dir: Path) -> None:
    for number in range(1, 8):
        make_trained_run(runs_dir, f"run{number}", [70.0 + number], seed=number)
    app = make_app(runs_dir)
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)

        def listed() -> str:
            return screen_text(app).partition("Last ended")[2]

        await wait_until(pilot, lambda: all(f"run{n}" in listed() for n in range(3, 8)), "the ended runs")
        assert "run1" not in listed()
        assert "run2" not in listed()
        assert "77.0" in listed()
        listing = app.state.snapshot.listing if app.state.snapshot else Listing()
        assert (len(listing.rows), len(listing.ended)) == (0, 5), "no other rows are read"


async def test_a_driver_error_is_shown(app: ClarinetApp, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)
    monkeypatch.setenv("STANDIN_LOST", "1")
    async with app.run_test(size=(160, 48)) as pilot:
        await opened(pilot)
        assert "NVIDIA's driver reports" in screen_text(app)


async def test_a_run_is_shown_with_its_device(held: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)
    monkeypatch.setenv("STANDIN_FOREIGN", str(os.getpid()))
    run = fill_queue(held, "aaa111", "bbb222")[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], device_key=BUSY, started_at=1.0))
    app = make_app(held)
    with run.hold_lock():
        async with app.run_test(size=(160, 48)) as pilot:
            await opened(pilot)
            await wait_until(pilot, lambda: "1 started, 1 waiting" in screen_text(app))
            lines = screen_text(app).splitlines()
            place = next(number for number, line in enumerate(lines) if "cuda:1" in line)
            assert "▸ aaa111  clarinet  Y→D  seed 1" in lines[place + 1]
            assert "computes" not in lines[place + 2]


@pytest.mark.parametrize("size", SIZES)
async def test_move_pause_and_cancel(held: Path, size: tuple[int, int]) -> None:
    fill_queue(held, "aaa111", "bbb222", "ccc333")
    app = make_app(held)
    async with app.run_test(size=size, notifications=True) as pilot:
        lines = await opened(pilot)
        await wait_until(pilot, lambda: "aaa111" in screen_text(app))
        await pilot.press("J", "J")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "ccc333", "aaa111"], "two steps down")
        await wait_until(pilot, lambda: lines.highlighted == 2, "the cursor's move with its run")
        assert lines.highlighted_id == "aaa111"
        await pilot.press("shift+up")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "aaa111", "ccc333"], "one step up")
        await pilot.press("p")
        await wait_until(pilot, lambda: queue_of(held)["aaa111"].paused, "the pause")
        await wait_until(pilot, lambda: "‖ aaa111" in screen_text(app), "its sign")
        await pilot.press("p")
        await wait_until(pilot, lambda: not queue_of(held)["aaa111"].paused, "the end of the pause")
        await pilot.press("d")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "ccc333"], "the cancelling")
        await wait_until(pilot, lambda: "aaa111 was removed from the queue" in screen_text(app), "the notice")


async def test_the_whole_queue_can_be_paused_and_resumed(held: Path) -> None:
    run = fill_queue(held, "aaa111")[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], paused=True))
    app = make_app(held)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: "paused: P resumes it" in screen_text(app))
        await pilot.press("P")
        await wait_until(pilot, lambda: not queue_of(held).paused, "the resumed queue")
        await wait_until(pilot, lambda: "P resumes it" not in screen_text(app))
        await pilot.press("P")
        await wait_until(pilot, lambda: queue_of(held).paused, "the pause")


async def test_slots_of_the_device_under_the_cursor(held: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)
    app = make_app(held)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        app.screen.query_one("#devices").focus()
        await pilot.press("plus")
        await wait_until(pilot, lambda: queue_of(held).slots_for(FREE) == 2, "two slots")
        await pilot.press("minus", "minus")
        await wait_until(pilot, lambda: "expected 1 to 64, got 0" in screen_text(app), "the refusal")
        assert queue_of(held).slots_for(FREE) == 1


async def test_a_long_wait_reason_is_shown_in_full(held: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    still_machine(library, monkeypatch)
    fill_queue(held, "aaa111", device="cuda:9")
    app = make_app(held)
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: "aaa111: device: there is no cuda:9 here, only cuda:0" in screen_text(app))


async def test_enter_opens_a_run_and_keys_on_an_empty_queue_notify(held: Path) -> None:
    three_runs(held)
    fill_queue(held, "ddd444")
    app = make_app(held)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await opened(pilot)
        await wait_until(pilot, lambda: "ddd444" in screen_text(app))
        app.state.overlaid_runs = tuple(sorted({"aaa111", "bbb222"}))
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.current_mode == "live", "Live")
        assert (app.state.live_run, app.state.overlaid_runs) == ("ddd444", ())
        await pilot.press("6", "d")
        await wait_until(pilot, lambda: not waiting(held), "the cancelling")
        await wait_until(pilot, lambda: "The queue is empty" in screen_text(app))
        await pilot.press("d")
        await wait_until(pilot, lambda: screen_text(app).count("The queue is empty") == 2, "the notice")


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
