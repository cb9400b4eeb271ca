"""What users ask of runs: queue, pause, move, cancel, stop, resume. Requests are written; the supervisor acts."""

import os
import signal
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from clarinet_tui.devices.local import candidates, list_devices
from clarinet_tui.queue.queue_file import Entry, Queue, change_queue, read_queue
from clarinet_tui.queue.supervisor_process import ensure_supervisor, fed_elsewhere, supervisor
from clarinet_tui.queue.supervisor_process import holder_of as holder_of
from clarinet_tui.runs.atomic_files import size_of
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.journal_reader import last_word
from clarinet_tui.runs.process import alive, ask_to_stop, send_signal
from core.config import RunConfig
from core.errors import InputError

GRACE = 60.0
"""Seconds that a run gets to save itself before it is killed."""
MOST_SLOTS = 64


@dataclass(frozen=True)
class Wishes:
    """How queued runs are to be started."""

    data_dir: Path
    folder: Path
    priority: int = 0
    retries: int = 0
    shares: bool = False
    paused: bool = False
    on_alarm: tuple[str, ...] = ()


def submit(runs_dir: Path, configs: Sequence[RunConfig], wishes: Wishes) -> list[RunDirectory]:
    """New runs at the end of the queue, in this order."""
    refuse_absent({config.device for config in configs})
    runs = [RunDirectory.create(runs_dir, config) for config in configs]
    enqueue(runs, wishes)
    return runs


def enqueue(runs: Sequence[RunDirectory], wishes: Wishes, device: str | None = None) -> None:
    """Runs that are there, at the end of the queue."""
    if runs:
        _enqueue(runs[0].runs_dir, [(run.id, device or run.read_config().device) for run in runs], wishes)


def refuse_absent(requests: Iterable[str]) -> None:
    """Devices that are not here: whoever asks for one hears it at once, and not from a run that has failed."""
    devices = list_devices(seconds=0)
    if devices[-1].trouble:
        return  # a driver that fails for a moment may know it again when the run's turn comes
    for request in requests:
        candidates(request, devices)


def cores_for(runs_dir: Path, device: str) -> int | None:
    """The cores of one slot, for a run that will compute on the CPU; None is all of them."""
    slots = read_queue(runs_dir).slots_of("cpu")
    if slots == 1 or candidates(device, list_devices(seconds=0))[0].key != "cpu":
        return None
    return max(1, len(os.sched_getaffinity(0)) // slots)


def resume(runs: Sequence[RunDirectory], wishes: Wishes, device: str | None = None) -> None:
    """Stopped, failed, lost and cancelled runs again, from their last checkpoint."""
    if not runs:
        return
    if device is not None:
        refuse_absent([device])
    queue = read_queue(runs[0].runs_dir)
    for run in runs:
        if run.id in queue and not _abandoned(run, queue[run.id]):
            raise InputError(f"run {run.id}: is {'queued' if queue[run.id].waits else 'running'} already")
        if holder := holder_of(run):
            raise InputError(f"run {run.id}: is running already, process {holder.pid} on {holder.host}")
        if (word := last_word(run.journal)) and word["event"] == "finished":
            raise InputError(f"run {run.id}: is finished: `clarinet clone {run.id}` makes another one like it")
    enqueue(runs, wishes, device)


def _abandoned(run: RunDirectory, entry: Entry) -> bool:
    """Whether its worker was killed and the supervisor with it, so that nobody has taken it out of the queue."""
    return not entry.waits and holder_of(run) is None and supervisor(run.runs_dir) is None


def _enqueue(runs_dir: Path, asked: Sequence[tuple[str, str]], wishes: Wishes) -> None:
    entries = [
        Entry(
            id=run_id,
            device=device,
            folder=str(wishes.folder.absolute()),
            data_dir=str(wishes.data_dir.absolute()),
            priority=wishes.priority,
            retries=wishes.retries,
            shares=wishes.shares,
            paused=wishes.paused,
            on_alarm=wishes.on_alarm,
            added=time.time(),
        )
        for run_id, device in asked
    ]

    def add(queue: Queue) -> Queue:
        old = [entry.id for entry in entries if entry.id in queue]
        kept = queue.without([one for one in old if _abandoned(RunDirectory(runs_dir, one), queue[one])])
        return queue.with_entries([*kept.entries, *(entry for entry in entries if entry.id not in kept)])

    change_queue(runs_dir, add)
    ensure_supervisor(runs_dir)


def pause(runs_dir: Path, ids: Collection[str], paused: bool) -> None:
    """Hold waiting runs back, or let them go; with no ids the whole queue."""

    def edit(queue: Queue) -> Queue:
        if not ids:
            return queue.paused_as(paused)
        _refuse_unless_waiting(queue, ids)
        return queue.change(ids, paused=paused)

    queue = change_queue(runs_dir, edit)
    if not paused and queue.entries:
        ensure_supervisor(runs_dir)


def move(runs_dir: Path, ids: Sequence[str], place: int) -> None:
    """Waiting runs to `place`, counted from 0 in the order of starting; they get the priority of whom they displace."""

    def edit(queue: Queue) -> Queue:
        _refuse_unless_waiting(queue, ids)
        rest = [entry for entry in queue.waiting if entry.id not in ids]
        at = max(0, min(place, len(rest)))
        neighbour = rest[at] if at < len(rest) else rest[-1] if rest else queue[ids[0]]
        moved = [queue.change(ids, priority=neighbour.priority)[one] for one in ids]
        return queue.with_entries([*queue.started, *rest[:at], *moved, *rest[at:]])

    change_queue(runs_dir, edit)


def cancel(runs_dir: Path, ids: Collection[str]) -> None:
    """Waiting runs leave the queue; what they recorded before stays."""

    def edit(queue: Queue) -> Queue:
        _refuse_unless_waiting(queue, ids)
        return queue.without(ids)

    change_queue(runs_dir, edit)


def set_slots(runs_dir: Path, wanted: Mapping[str, int]) -> None:
    """How many runs at once, by the devices' keys, or "cpu" and "gpu" for all of a kind."""
    for device, count in wanted.items():
        if not 1 <= count <= MOST_SLOTS:
            raise InputError(f"slots: {device}: expected 1 to {MOST_SLOTS}, got {count}")
    change_queue(runs_dir, lambda queue: queue.with_slots({**queue.slots, **wanted}))
    ensure_supervisor_if_needed(runs_dir)


def ensure_supervisor_if_needed(runs_dir: Path) -> None:
    """For those who open the queue: what waits is started even if the supervisor was killed.

    Not the queue of another machine, seen on a network mount or in a copy: looking must not start its runs here.
    """
    queue = read_queue(runs_dir)
    if (queue.started or (queue.waiting and not queue.paused)) and not fed_elsewhere(runs_dir):
        ensure_supervisor(runs_dir)


def refuse_unless_active(runs: Sequence[RunDirectory]) -> None:
    """For those who stop several: none of them if one neither runs nor waits."""
    for run in runs:
        if holder_of(run) is None and run.id not in read_queue(run.runs_dir):
            raise InputError(f"run {run.id}: is not running")


def stop(run: RunDirectory, grace: float = GRACE) -> str:
    """Ask a run to save and end; what was done, in words. One that waits in the queue just leaves it."""
    done = ""

    def edit(queue: Queue) -> Queue:
        nonlocal done
        if run.id not in queue:
            return queue
        if queue[run.id].waits:
            done = "has left the queue"
            return queue.without([run.id])
        done = "was asked to stop"
        return queue.change([run.id], stop_within=grace)

    change_queue(run.runs_dir, edit)
    if done == "was asked to stop":
        ensure_supervisor(run.runs_dir)
    return done or _stop_other(run)


def _stop_other(run: RunDirectory) -> str:
    """A run that the queue has not started, such as one of a batch job."""
    holder = holder_of(run)
    if holder is None:
        raise InputError(f"run {run.id}: is not running")
    if alive(holder) is None:
        raise InputError(f"run {run.id}: runs on {holder.host} as process {holder.pid}: stop it there")
    ask_to_stop(holder)
    return "was asked to stop"


def wait_until_stopped(
    run: RunDirectory,
    grace: float,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Until no worker holds the run; one that the queue has not started is killed here. Whether it saved itself."""
    limit = clock() + grace
    while (holder := holder_of(run)) or _is_started(run):
        if holder and not _is_started(run):
            if clock() > limit:
                send_signal(holder, signal.SIGKILL)
            else:
                ask_to_stop(holder)  # one that had just begun was not listening yet
        sleep(0.1)
    word = last_word(run.journal)  # an iteration is none
    return size_of(run.journal) == 0 if word is None else word["event"] in ("stopped", "finished")


def _is_started(run: RunDirectory) -> bool:
    queue = read_queue(run.runs_dir)
    return run.id in queue and not queue[run.id].waits


def _refuse_unless_waiting(queue: Queue, ids: Collection[str]) -> None:
    for one in ids:
        if one not in queue:
            raise InputError(f"run {one}: is not in the queue")
        if not queue[one].waits:
            raise InputError(f"run {one}: has started already: `clarinet stop {one}` ends it")
