"""Devices: the devices with their runs, and the queue with the reason why each run waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList

from clarinet_tui.place import QueueRow
from clarinet_tui.ui.actions import ActionResult
from clarinet_tui.ui.screens.view_screen import ViewScreen
from clarinet_tui.ui.snapshot.machine import MachineSnapshot
from clarinet_tui.ui.snapshot.snapshot import HistorySnapshot, Listing, ViewRequest
from clarinet_tui.ui.text import devices as device_text
from clarinet_tui.ui.text.styled import Span, styled
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.pick_list import PickList
from clarinet_tui.ui.widgets.styled_text import StyledText

LIVE = "state:starting,running"
PARTITION = "slurm:"
KEPT_VALUES = 600
"""Values of a device's use that are kept: those of about twenty minutes."""
EMPTY = "The queue is empty: n starts runs."


class DevicesScreen(ViewScreen):
    """Devices above, the queue below; keys act on the line under the cursor."""

    NAME = "devices"
    READS_MACHINE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "app.view('launch')", "New", id="queue.new", tooltip="Start new runs"),
        Binding(
            "K,shift+up", "shift(-1)", "Sooner", key_display="K", id="queue.sooner", tooltip="Start this run sooner"
        ),
        Binding("J,shift+down", "shift(1)", "Later", key_display="J", id="queue.later", tooltip="Start this run later"),
        Binding("p", "pause", "Pause", id="queue.pause", tooltip="Pause this waiting run, or release it"),
        Binding("P", "pause_all", "Pause all", id="queue.pause_all", tooltip="Pause the whole queue, or resume it"),
        Binding("d", "cancel", "Cancel", id="queue.cancel", tooltip="Remove this run from the queue"),
        Binding("s", "stop", "Stop", id="queue.stop", tooltip="Stop this run: saves a checkpoint and can be resumed"),
        Binding("S", "stop_now", "Stop now", id="queue.stop_now", show=False, tooltip="Stop without a question"),
        Binding("plus,equals_sign", "slots(1)", "More slots", key_display="+", id="queue.more_slots", show=False),
        Binding("minus,underscore", "slots(-1)", "Fewer slots", key_display="-", id="queue.fewer_slots", show=False),
        Binding("escape", "app.view('history')", "Back", id="queue.back", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield StyledText(id="device-head")
        yield PickList(id="devices")
        yield StyledText(id="queue-title")
        yield StyledText(id="queue-head")
        yield PickList(id="queue")
        yield StyledText(id="wait-reason")
        yield StyledText(id="ended")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._use: dict[str, deque[float]] = {}
        """The utilizations of each device since the view was opened."""
        self._queue.focus()

    def on_screen_resume(self) -> None:
        self.ensure_supervisor()

    _devices = getters.query_one("#devices", PickList)
    _queue = getters.query_one("#queue", PickList)

    @property
    def _columns(self) -> int:
        return max(40, self.size.width - 2)

    def make_request(self) -> ViewRequest:
        return ViewRequest(LIVE, limit=1000, ended=5)

    def show(self, snapshot: HistorySnapshot) -> None:
        self._draw()

    def show_machine(self, machine: MachineSnapshot) -> None:
        """Remember how much each device is used, to show it over time."""
        for device in machine.devices:
            if device.utilization is not None:
                self._use.setdefault(device.key, deque(maxlen=KEPT_VALUES)).append(device.utilization)
        self._draw()

    def _draw(self) -> None:
        machine = self.state.machine
        if machine is None:
            return
        listing, width = self.state.snapshot.listing if self.state.snapshot else Listing(), self._columns
        if listing.query != LIVE:  # the history was not yet read for this view
            listing = Listing()
        running = {run.id: run for run in listing.rows}
        layout = device_text.fit_queue(machine, width)
        ended = device_text.format_ended_runs(listing.ended, self.state.now(), layout)
        self.set_text("#ended", ended)
        self.query_one("#ended").display = bool(ended.plain)
        self.set_text("#device-head", device_text.format_device_header(width))
        self._devices.show(
            [
                (
                    device.key,
                    device_text.format_device(device, machine, running, width, tuple(self._use.get(device.key, ()))),
                )
                for device in machine.devices
            ]
            + [(f"{PARTITION}{row.name}", device_text.format_partition(row, width)) for row in machine.partitions]
        )
        self._queue.show(
            [
                (row.id, device_text.format_queued_run(row, machine, running.get(row.id), layout))
                for row in machine.queue_rows
            ]
        )
        header = device_text.format_queue_header(layout) if machine.queue_rows else styled((f" {EMPTY}", "muted"))
        self.set_text("#queue-head", header)
        self.set_text("#queue-title", _format_title(machine, device_text.format_queue_end(machine, running)))
        self._show_wait_reason()

    def on_resize(self) -> None:
        if self._is_ready:
            self._draw()

    def _cursor_row(self) -> QueueRow | None:
        machine = self.state.machine
        name = self._queue.highlighted_id
        return next((row for row in machine.queue_rows if row.id == name), None) if machine else None

    @on(OptionList.OptionHighlighted)
    def _show_wait_reason(self) -> None:
        """Show the whole reason below the queue if its row has no room for it."""
        row, machine = self._cursor_row(), self.state.machine
        hidden = False
        if row and machine:
            hidden = not device_text.reason_fits(row, device_text.fit_queue(machine, self._columns))
        self.query_one("#wait-reason").display = hidden
        self.set_text("#wait-reason", styled((f"{row.id}: {row.waits_for}" if row and hidden else "", "muted")))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_list is self._queue and event.option.id:
            self.watch_runs(event.option.id)

    def _require_row(self) -> QueueRow | None:
        row = self._cursor_row()
        if row is None:
            self.notify(EMPTY, timeout=4)
        return row

    def _act_on_cursor_row(self, action: Callable[[str], ActionResult]) -> None:
        if row := self._require_row():
            self.start_action(partial(action, row.id))

    def action_shift(self, step: int) -> None:
        self._act_on_cursor_row(lambda run: self.actions.move(run, step))

    def action_pause(self) -> None:
        self._act_on_cursor_row(self.actions.toggle_pause)

    def action_pause_all(self) -> None:
        self.start_action(self.actions.toggle_queue_pause)

    def action_cancel(self) -> None:
        self._act_on_cursor_row(self.actions.cancel)

    def action_stop(self) -> None:
        if row := self._require_row():
            self.ask_to_stop((row.id,))

    def action_stop_now(self) -> None:
        if row := self._require_row():
            self.stop((row.id,))

    def action_slots(self, step: int) -> None:
        """Change the slots of the device under the cursor."""
        key = self._devices.highlighted_id
        if key and not key.startswith(PARTITION):
            self.start_action(partial(self.actions.change_slots, key, step))


def _format_title(machine: MachineSnapshot, end: str) -> Content:
    running, waiting = len(machine.queue_rows) - len(machine.waiting), len(machine.waiting)
    parts: list[Span] = [(" Queue", "strong"), (f"  {running} started, {waiting} waiting", "muted")]
    if end and not machine.queue.paused:
        parts.append((f"   {end}", ""))
    if machine.queue.paused:
        parts.append(("   paused: P resumes it", "warn"))
    if machine.problem:
        parts.append((f"   {machine.problem}", "bad"))
    return styled(*parts)
