"""The Devices view: devices, waiting runs, and what the keys change in queue.json."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from clarinet_tui.history.queries import varied_settings
from clarinet_tui.place import LaunchOptions, QueueRow, settings_of_row
from clarinet_tui.queue.queue_file import read_queue, update_queue
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import Listing
from clarinet_tui.ui.text.devices import (
    fit_queue,
    format_device,
    format_ended_runs,
    format_queue_end,
    format_queue_header,
    format_queued_run,
    makespan,
    reason_fits,
)
from clarinet_tui.ui.widgets.pick_list import PickList
from core.config import RunConfig
from tests.support.app import SMALL, WIDE, OpenedApp, expect_text, open_app, screen_text, wait_until
from tests.support.nvml import BUSY, FREE
from tests.support.trained_runs import make_trained_run
from tests.support.ui_queue import CPU, fill_queue, waiting
from tests.support.ui_runs import run_row, three_runs


def open_devices(runs_dir: Path, text: str = " cpu ", size: tuple[int, int] = WIDE) -> OpenedApp:
    return open_app(runs_dir, view="6", text=text, size=size, notifications=True)


async def test_the_runs_that_ended_last_are_listed(runs_dir: Path) -> None:
    for number in range(1, 8):
        make_trained_run(runs_dir, f"run{number}", [70.0 + number], seed=number)
    async with open_devices(runs_dir) as (app, pilot):

        def listed() -> str:
            return screen_text(app).partition("Last ended")[2]

        await wait_until(pilot, lambda: all(f"run{n}" in listed() for n in range(3, 8)), "the ended runs")
        assert "run1" not in listed()
        assert "run2" not in listed()
        assert "77.0" in listed()
        listing = app.state.snapshot.listing if app.state.snapshot else Listing()
        assert (len(listing.rows), len(listing.ended)) == (0, 5), "no other rows are read"


@pytest.mark.usefixtures("machine")
async def test_a_driver_error_is_shown(runs_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_LOST", "1")
    async with open_devices(runs_dir) as (app, _):
        assert "NVIDIA's driver reports" in screen_text(app)


@pytest.mark.usefixtures("machine")
async def test_a_run_is_shown_with_its_device(held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_FOREIGN", str(os.getpid()))
    run = fill_queue(held, "aaa111", "bbb222")[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], device_key=BUSY, started_at=1.0))
    with run.hold_lock():
        async with open_devices(held, "1 started, 1 waiting") as (app, _):
            lines = screen_text(app).splitlines()
            place = next(number for number, line in enumerate(lines) if "cuda:1" in line)
            assert "▸ aaa111  clarinet  Y→D  seed 1" in lines[place + 1]
            assert "computes" not in lines[place + 2]


async def test_move_pause_and_cancel(held: Path) -> None:
    fill_queue(held, "aaa111", "bbb222", "ccc333")
    async with open_devices(held, "aaa111", SMALL) as (app, pilot):
        lines = app.screen.query_one("#queue", PickList)
        await pilot.press("J", "J")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "ccc333", "aaa111"], "two steps down")
        await wait_until(pilot, lambda: lines.highlighted == 2, "the cursor's move with its run")
        assert lines.highlighted_id == "aaa111"
        await pilot.press("shift+up")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "aaa111", "ccc333"], "one step up")
        await pilot.press("p")
        await wait_until(pilot, lambda: read_queue(held)["aaa111"].paused, "the pause")
        await expect_text(pilot, "‖ aaa111")
        await pilot.press("p")
        await wait_until(pilot, lambda: not read_queue(held)["aaa111"].paused, "the end of the pause")
        await pilot.press("d")
        await wait_until(pilot, lambda: waiting(held) == ["bbb222", "ccc333"], "the cancelling")
        await expect_text(pilot, "aaa111 was removed from the queue")


@pytest.mark.usefixtures("machine")
async def test_a_long_wait_reason_is_shown_and_slots_can_be_changed(held: Path) -> None:
    fill_queue(held, "aaa111", device="cuda:9")
    async with open_devices(held, "aaa111: device: there is no cuda:9 here, only cuda:0", SMALL) as (app, pilot):
        app.screen.query_one("#devices").focus()
        await pilot.press("plus")
        await wait_until(pilot, lambda: read_queue(held).slots_for(FREE) == 2, "two slots")
        await pilot.press("minus", "minus")
        await expect_text(pilot, "expected 1 to 64, got 0")
        assert read_queue(held).slots_for(FREE) == 1


async def test_the_whole_queue_is_paused_and_enter_opens_a_run(held: Path) -> None:
    three_runs(held)
    run = fill_queue(held, "ddd444")[0]
    update_queue(held, lambda queue: queue.with_changes([run.id], paused=True))
    async with open_devices(held, "ddd444", SMALL) as (app, pilot):
        await expect_text(pilot, "paused: P resumes it")
        await pilot.press("P")
        await wait_until(pilot, lambda: not read_queue(held).paused, "the resumed queue")
        await wait_until(pilot, lambda: "paused: P resumes it" not in screen_text(app))
        await pilot.press("P")
        await wait_until(pilot, lambda: read_queue(held).paused, "the pause")
        app.state.overlaid_runs = tuple(sorted({"aaa111", "bbb222"}))
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.current_mode == "live", "Live")
        assert (app.state.live_run, app.state.overlaid_runs) == ("ddd444", ())
        await pilot.press("6", "d")
        await wait_until(pilot, lambda: not waiting(held), "the cancelling")
        await expect_text(pilot, "The queue is empty")
        app.clear_notifications()
        await pilot.press("d")
        await wait_until(pilot, lambda: screen_text(app).count("The queue is empty") == 2, "the notice")


def make_machine(*rows: QueueRow) -> MachineSnapshot:
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
    assert format_queue_end(make_machine(started, *waiting), running) == "done in about 22m00"
    unknown = QueueRow(id="run9")
    assert format_queue_end(make_machine(started, unknown), running).endswith("plus 1 run of unknown time")
    assert format_queue_end(make_machine(unknown), {}) == ""
    assert format_queue_end(make_machine(), {}) == ""


def test_a_waiting_run_has_its_time_and_its_limit() -> None:
    row = QueueRow(id="abc", method="fwd+basset-kept", task="Y->D", seed=1, wait_reason="until 2026-11-17 16:59")
    narrow, wide = (fit_queue(MachineSnapshot(), width) for width in (78, 158))
    assert format_queued_run(row, MachineSnapshot(), None, narrow).plain.endswith(" until 2026-11-17 16:59")
    assert reason_fits(row, narrow)
    limited = replace(row, options=LaunchOptions(data_dir="", working_directory="", time_limit=5400.0))
    assert format_queued_run(limited, MachineSnapshot(), None, wide).plain.endswith("16:59; at most 1h30")
    assert not reason_fits(limited, narrow)


def test_runs_of_a_sweep_are_told_apart_by_their_settings() -> None:
    configs = [RunConfig(method="fwd+basset-kept", task="Y->D", classifier_rate=rate) for rate in (0.001, 0.003, 0.01)]
    rows = [
        QueueRow(id=f"run{number}", started_on="cpu" if number == 0 else "", **settings_of_row(config))
        for number, config in enumerate(configs)
    ]
    machine = replace(make_machine(*rows), varied=tuple(varied_settings(rows)))
    layout = fit_queue(machine, 78)
    header = format_queue_header(layout).plain
    lines = [format_queued_run(row, machine, None, layout).plain for row in rows]
    assert header.split()[:5] == ["run", "method", "task", "seed", "classifier_rate"]
    end = header.index("classifier_rate") + len("classifier_rate")
    assert [line[end - 6 : end].split()[-1] for line in lines] == ["0.001", "0.003", "0.01"]
    assert "device" not in header, "dropped before a setting that differs"
    assert "device" in format_queue_header(fit_queue(machine, 118)).plain
    assert all(len(line) <= 78 for line in lines)
    assert "seed 1  classifier_rate=0.001" in format_device(CPU, machine, {}, 78).plain
    ended = run_row(method="basset", settings={"classifier_rate": 0.03})
    assert " 0.03 " in format_ended_runs([ended], 0.0, layout).plain
    many = replace(machine, varied=("classifier_rate", "discriminator_rate", "epochs", "weight_decay"))
    shown = [column.title for column, _ in fit_queue(many, 98).columns]
    assert "epochs" not in shown, "the first two of many settings are kept"
    assert "discriminator_rate" in shown


def test_an_ended_run_fits_a_narrow_line() -> None:
    run = run_row(method="fwd+basset-kept", ended=0.0, seconds=113.0, memory=488 * 2**20, target_accuracy=83.6)
    layouts = (fit_queue(MachineSnapshot(), width) for width in (78, 158))
    (_, narrow), (_, wide) = (format_ended_runs([run], 720.0, layout).plain.splitlines() for layout in layouts)
    assert narrow.endswith("83.6  12m ago   1m53")
    assert wide.endswith("1m53, 488 MiB")


def test_the_use_of_a_device_is_drawn_from_0_to_100() -> None:
    assert "▁▁▁▁▁▁▁▁▁▁▁▁████████████" in format_device(CPU, make_machine(), {}, 158, (0.0, 100.0)).plain
    assert "█" not in format_device(CPU, make_machine(), {}, 80, (0.0, 100.0)).plain
