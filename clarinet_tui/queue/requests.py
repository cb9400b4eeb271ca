"""Users' requests: each goes to the place of its options, or to that of its runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from clarinet_tui.place import STOP_TIMEOUT, LaunchOptions, Place, PlaceName, StopResult
from clarinet_tui.queue.local import LocalPlace
from clarinet_tui.runs.directory import RunDirectory, find_worker
from clarinet_tui.runs.files import file_size
from clarinet_tui.runs.journal import read_last_event
from clarinet_tui.runs.state import RunState
from clarinet_tui.slurm.place import SlurmPlace
from core.errors import InputError


def places(runs_dir: Path) -> tuple[Place, ...]:
    """Return all places, this machine first."""
    return LocalPlace(runs_dir), SlurmPlace(runs_dir)


def place_named(runs_dir: Path, name: PlaceName) -> Place:
    return next(place for place in places(runs_dir) if place.name == name)


def place_of(runs_dir: Path, run_id: str) -> Place:
    """Return the place where a run waits or computes; this machine for a run that is nowhere."""
    here, *others = places(runs_dir)
    return next((place for place in others if place.has(run_id)), here)


def resume(
    runs: Sequence[RunDirectory], options: LaunchOptions, *, device: str | None = None, same_place: bool = True
) -> None:
    """Queue stopped, failed, lost and cancelled runs again; each continues from its last checkpoint.

    A run returns to the place where it was, with the options that it had there, unless a device or the options of
    another place are given, or `same_place` is false.
    """
    if not runs:
        return
    runs_dir = runs[0].runs_dir
    here, *others = places(runs_dir)
    for run in runs:
        run.check_own("resume")
    for place in (*others, here):
        place.check_absent(runs)
    for run in runs:
        if worker := find_worker(run):
            raise InputError(f"run {run.id}: is already running as process {worker.pid} on {worker.host}")
        if (event := read_last_event(run.journal)) and event["event"] == RunState.FINISHED:
            raise InputError(
                f"run {run.id}: has finished: `clarinet clone {run.id}` starts a new run with its settings"
            )
    if options.on is not here.name or device or not same_place:
        place_named(runs_dir, options.on).resume(runs, options, device=device)
        return
    groups: dict[bytes, tuple[LaunchOptions, list[RunDirectory]]] = {}
    for run in runs:
        found = (place.last_options(run, options) for place in (*others, here))
        earlier = next(kept for kept in found if kept is not None)
        groups.setdefault(msgspec.json.encode(earlier), (earlier, []))[1].append(run)
    for shared, members in groups.values():
        place_named(runs_dir, shared.on).resume(members, shared)


def check_active(runs: Sequence[RunDirectory]) -> None:
    """Raise InputError if one of the runs is neither running nor queued, so that all are stopped or none."""
    for run in runs:
        run.check_own("stop")
        if find_worker(run) is None and not any(place.has(run.id) for place in places(run.runs_dir)):
            raise InputError(f"run {run.id}: is not running")


def stop(run: RunDirectory, timeout: float = STOP_TIMEOUT) -> StopResult:
    """Ask a run to save and end; remove it from the queue if it is waiting."""
    run.check_own("stop")
    return place_of(run.runs_dir, run.id).stop(run, timeout)


def wait_until_stopped(run: RunDirectory, timeout: float) -> bool:
    """Wait until the run has ended; return whether it saved itself, or never started."""
    place_of(run.runs_dir, run.id).wait_until_stopped(run, timeout)
    event = read_last_event(run.journal)
    if event is None:
        return file_size(run.journal) == 0
    return event["event"] in (RunState.STOPPED, RunState.FINISHED)


def hold(runs_dir: Path, run_ids: Sequence[str], held: bool) -> None:
    """Pause waiting runs, or let them start again."""
    for place, ids in _by_place(runs_dir, run_ids):
        place.hold(ids, held)


def move(runs_dir: Path, run_ids: Sequence[str], index: int) -> None:
    """Move waiting runs to `index` in the starting order of their place."""
    for place, ids in _by_place(runs_dir, run_ids):
        place.move(ids, index)


def cancel(runs_dir: Path, run_ids: Sequence[str]) -> None:
    """Remove waiting runs from the queue; their directories stay."""
    for place, ids in _by_place(runs_dir, run_ids):
        place.cancel(ids)


def _by_place(runs_dir: Path, run_ids: Sequence[str]) -> Iterator[tuple[Place, list[str]]]:
    """Yield each place that has some of the runs, this machine last: it refuses runs that are nowhere."""
    here, *others = places(runs_dir)
    rest = list(run_ids)
    for place in others:
        if ids := [run_id for run_id in rest if place.has(run_id)]:
            rest = [run_id for run_id in rest if run_id not in ids]
            yield place, ids
    if rest:
        yield here, rest
