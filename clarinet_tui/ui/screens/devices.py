"""Devices and queue: who computes where, what waits and for what, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import OptionList

from clarinet_tui.ui.action_result import Outcome
from clarinet_tui.ui.screens.machine_screen import MachineScreen
from clarinet_tui.ui.snapshot.machine import Machine, Place
from clarinet_tui.ui.snapshot.snapshot import Snapshot, Wanted
from clarinet_tui.ui.text import devices as device_lines
from clarinet_tui.ui.text import queue as queue_lines
from clarinet_tui.ui.text.run_summary import Part, said
from clarinet_tui.ui.widgets.key_footer import KeyFooter
from clarinet_tui.ui.widgets.pick_list import PickList
from clarinet_tui.ui.widgets.text_line import Words

if TYPE_CHECKING:
    from clarinet_tui.history.queries import RunRow

RUNNING = "state:starting,running"
EMPTY = "The queue is empty: n fills it."


class DevicesScreen(MachineScreen):
    """Devices above, the queue below; keys act on the line under the cursor."""

    NAME = "devices"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "app.view('launch')", "New", id="queue.new", tooltip="Start new runs"),
        Binding(
            "K,shift+up", "shift(-1)", "Sooner", key_display="K", id="queue.sooner", tooltip="Start this run sooner"
        ),
        Binding("J,shift+down", "shift(1)", "Later", key_display="J", id="queue.later", tooltip="Start this run later"),
        Binding("p", "pause", "Hold", id="queue.pause", tooltip="Hold this run back, or let it go"),
        Binding("P", "pause_all", "Pause all", id="queue.pause_all", tooltip="Pause the whole queue, or continue it"),
        Binding("d", "cancel", "Cancel", id="queue.cancel", tooltip="Take this run out of the queue"),
        Binding("s", "stop", "Stop", id="queue.stop", tooltip="Stop this run: it saves itself and can be resumed"),
        Binding("plus,equals_sign", "slots(1)", "More slots", key_display="+", id="queue.more_slots", show=False),
        Binding("minus,underscore", "slots(-1)", "Fewer slots", key_display="-", id="queue.fewer_slots", show=False),
        Binding("escape", "app.view('history')", "Back", id="queue.back", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield self.top_bar()
        yield Words(id="device-head")
        yield PickList(id="devices")
        yield Words(id="queue-title")
        yield Words(id="queue-head")
        yield PickList(id="queue")
        yield Words(id="why")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._queue.focus()

    def on_screen_resume(self) -> None:
        """A supervisor that was killed is no reason to wait."""
        self.work(self._ensure)

    def _ensure(self) -> Outcome:
        from clarinet_tui.queue.requests import ensure_supervisor_if_needed

        ensure_supervisor_if_needed(self.session.runs_dir)
        return Outcome()

    @property
    def _devices(self) -> PickList:
        return self.query_one("#devices", PickList)

    @property
    def _queue(self) -> PickList:
        return self.query_one("#queue", PickList)

    @property
    def _room(self) -> int:
        return max(40, self.size.width - 2)

    def wanted(self) -> Wanted:
        return Wanted(RUNNING)

    def show(self, snapshot: Snapshot) -> None:
        if self.session.machine:
            self.see(self.session.machine)

    def _under_way(self) -> dict[str, RunRow]:
        """What is known of running runs, once the history was asked for them."""
        listing = self.session.snapshot.listing if self.session.snapshot else None
        return {run.id: run for run in listing.rows} if listing and listing.query == RUNNING else {}

    def see(self, machine: Machine) -> None:
        running, width = self._under_way(), self._room
        self.query_one("#device-head", Words).say(device_lines.head(width))
        self._devices.show(
            [(device.key, device_lines.card(device, machine, running, width)) for device in machine.devices]
        )
        self._queue.show(
            [(place.id, queue_lines.line(place, machine, running.get(place.id), width)) for place in machine.places]
        )
        self.query_one("#queue-head", Words).say(
            queue_lines.head(width) if machine.places else said((f" {EMPTY}", "muted"))
        )
        self.query_one("#queue-title", Words).say(said(*_title(machine)))
        self._tell_why()

    def on_resize(self) -> None:
        if self._ready and self.session.machine:
            self.see(self.session.machine)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._tell_why()

    def _pointed(self) -> Place | None:
        machine = self.session.machine
        name = self._queue.pointed
        return next((place for place in machine.places if place.id == name), None) if machine else None

    def _tell_why(self) -> None:
        """The whole sentence: on its line there may be no room for it."""
        place = self._pointed()
        hidden = place is not None and not queue_lines.fits(place, self._room)
        self.query_one("#why").display = hidden
        self.query_one("#why", Words).say(said((f"{place.id}: {place.why}" if place and hidden else "", "muted")))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_list is self._queue and event.option.id:
            self.session.watched = event.option.id
            self.app.switch_mode("live")

    def _with_pointed(self, act: Callable[[str], Outcome]) -> None:
        place = self._pointed()
        if place is None:
            self.notify(EMPTY, timeout=4)
            return
        self.work(partial(act, place.id))

    def action_shift(self, step: int) -> None:
        self._with_pointed(lambda run: self.acts.shift(run, step))

    def action_pause(self) -> None:
        self._with_pointed(self.acts.pause)

    def action_pause_all(self) -> None:
        self.work(self.acts.pause_all)

    def action_cancel(self) -> None:
        self._with_pointed(self.acts.cancel)

    def action_stop(self) -> None:
        self._with_pointed(lambda run: self.acts.stop([run]))

    def action_slots(self, step: int) -> None:
        """Of the device under the cursor."""
        if key := self._devices.pointed:
            self.work(partial(self.acts.slots, key, step))


def _title(machine: Machine) -> list[Part]:
    running, waiting = len(machine.places) - len(machine.waiting), len(machine.waiting)
    parts: list[Part] = [(" Queue", "strong"), (f"  {running} started, {waiting} waiting", "muted")]
    if machine.queue.paused:
        parts.append(("   paused: P continues it", "warn"))
    if machine.problem:
        parts.append((f"   {machine.problem}", "bad"))
    return parts
