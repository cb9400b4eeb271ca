"""A model of the queue: what users may observe after each operation, whatever the supervisor did meanwhile."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum, auto
from pathlib import Path
from typing import Any

from clarinet_tui.history.trash import list_removed
from clarinet_tui.queue.queue_file import Queue, read_queue
from clarinet_tui.runs.directory import list_run_ids
from tests.support.fault_worker import STARTS_FILE

Operation = Mapping[str, Any]
Result = Mapping[str, Any]


class Where(StrEnum):
    WAITING = auto()
    STARTED = auto()
    IDLE = auto()
    """In the runs directory, but not in the queue."""
    TRASH = auto()


@dataclass(frozen=True)
class Observation:
    """The runs as their files show them."""

    queue: Queue
    places: dict[str, Where]
    starts: dict[str, int]
    """How many workers have locked each run."""

    @property
    def waiting(self) -> list[str]:
        return [entry.id for entry in self.queue.waiting]


def observe(runs_dir: Path) -> Observation:
    """Read runs, queue and trash; the queue is read last, because the supervisor only drops runs that have ended."""
    trash = {path.name.partition(".")[0]: path for path in list_removed(runs_dir)}
    present = {run_id: runs_dir / run_id for run_id in list_run_ids(runs_dir)}
    queue = read_queue(runs_dir)
    places = dict.fromkeys(trash, Where.TRASH) | dict.fromkeys(present, Where.IDLE)
    for entry in queue.entries:
        assert entry.id in present, f"{entry.id} is queued, but has no directory"
        places[entry.id] = Where.WAITING if entry.is_waiting else Where.STARTED
    return Observation(queue, places, {run_id: _starts(path) for run_id, path in (trash | present).items()})


def _starts(run: Path) -> int:
    path = run / STARTS_FILE
    return len(path.read_text().splitlines()) if path.exists() else 0


@dataclass
class ModelRun:
    place: Where
    paused: bool = False
    stopping: bool = False
    starts: int = 0
    permitted_starts: int = 0
    """One for each time that it was queued, and one for each retry."""


@dataclass
class Model:
    slots: int
    paused: bool = False
    runs: dict[str, ModelRun] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)
    """Waiting runs in starting order."""

    def check(
        self, operations: Sequence[Operation], results: Sequence[Result], seen: Observation, disk_is_full: bool
    ) -> None:
        """Compare what is seen with what these operations, all at once, and a supervisor may have done."""
        was_paused = self.paused
        changes: dict[str, tuple[Operation, bool]] = {}
        for operation, result in zip(operations, results, strict=True):
            if operation["name"] == "sweep":
                self._add_runs(operation, result, seen)
            elif operation["name"] in ("pause all", "continue all"):
                self._pause_all(operation, result, seen)
            elif "run" in operation:
                self._check_answer(operation, result, disk_is_full)
                is_certain = "done" in result
                if is_certain or "killed" in result or disk_is_full:
                    changes[operation["run"]] = ({**operation, "value": result.get("value")}, is_certain)
        assert seen.places.keys() == self.runs.keys(), "a run was lost, or appeared"
        assert len(seen.queue.started) <= self.slots
        assert seen.queue.paused == self.paused
        self._check_order(operations, seen)
        for run_id, run in self.runs.items():
            self._check_run(run_id, run, changes.get(run_id), seen, was_paused and self.paused)

    def _add_runs(self, operation: Operation, result: Result, seen: Observation) -> None:
        """A sweep is queued as a whole or not at all; if it was killed in between, its runs are not queued."""
        new = [run_id for run_id in result.get("value", ()) if run_id not in self.runs]
        if "killed" in result:
            new = [run_id for run_id in seen.places if run_id not in self.runs]
            queued = {seen.places[run_id] is not Where.IDLE or seen.starts[run_id] > 0 for run_id in new}
            assert len(queued) <= 1, f"only a part of a sweep was queued: {new}"
            if queued != {True}:
                self.runs |= {run_id: ModelRun(Where.IDLE) for run_id in new}
                return
            assert len(new) == len(operation["steps"])
        permitted = 1 + operation["retries"]
        for run_id in new:
            self.runs[run_id] = ModelRun(Where.WAITING, paused=operation["paused"], permitted_starts=permitted)
        self.order = [*new, *self.order] if operation["front"] else [*self.order, *new]

    def _pause_all(self, operation: Operation, result: Result, seen: Observation) -> None:
        if "done" in result:
            self.paused = operation["name"] == "pause all"
        elif "killed" in result:
            self.paused = seen.queue.paused

    def _check_answer(self, operation: Operation, result: Result, disk_is_full: bool) -> None:
        """A request about a run that cannot start meanwhile has only one answer."""
        name, run = operation["name"], self.runs[operation["run"]]
        held = self.paused or run.paused
        if name in ("pause", "continue", "move", "cancel"):
            if "done" in result:
                assert run.place in (Where.WAITING, Where.STARTED), f"{name} of a run that was {run.place}"
            elif "refused" in result and run.place is Where.WAITING and held:
                assert disk_is_full, f"{name} of a waiting run was refused: {result['refused']}"
        elif name == "restore" and "done" in result:
            assert run.place is Where.TRASH
        elif name in ("stop", "resume", "remove") and "done" in result:
            assert run.place is not Where.TRASH, f"{name} of a removed run"

    def _check_order(self, operations: Sequence[Operation], seen: Observation) -> None:
        """Check the starting order unless several operations at once have changed it."""
        ordering = [operation for operation in operations if operation["name"] in ("sweep", "resume", "move")]
        kept = [run_id for run_id in self.order if run_id in seen.waiting and self.runs[run_id].place is Where.WAITING]
        moved = {operation["run"] for operation in ordering if operation["name"] != "sweep"}
        if len(ordering) <= 1:
            expected = [run_id for run_id in kept if run_id not in moved]
            assert [run_id for run_id in seen.waiting if run_id in expected] == expected, "the order has changed"
        self.order = seen.waiting

    def _check_run(
        self, run_id: str, run: ModelRun, change: tuple[Operation, bool] | None, seen: Observation, held: bool
    ) -> None:
        entry = next((entry for entry in seen.queue.entries if entry.id == run_id), None)
        before = _supervised({run.place}, run, held or run.paused)
        places = set(before)
        if change is not None:
            operation, is_certain = change
            changed = _changed(before, operation)
            if not is_certain:  # a removal takes the run out of the queue first
                changed |= places | ({Where.IDLE} if operation["name"] == "remove" else set())
            places = changed
            if operation["name"] == "resume":
                run.permitted_starts += 1
            run.stopping = operation["name"] == "stop" and operation["value"] == "REQUESTED"
            if run.stopping:  # it is not retried, but the worker that is to stop may not have been seen yet
                run.permitted_starts = min(run.permitted_starts, run.starts + 1)
            holds = operation["name"] == "pause" or (run.paused and operation["name"] != "continue")
            places = _supervised(places, run, held or holds)
        place = seen.places[run_id]
        assert place in places, f"{run_id} was {run.place}, {change}: is {place}, expected one of {sorted(places)}"
        is_queued_again = change is not None and change[0]["name"] == "resume"
        if place in (Where.IDLE, Where.TRASH) and run.place is place and not is_queued_again:
            assert seen.starts[run_id] == run.starts, f"{run_id} was started although it was {place}"
        if place is run.place is Where.WAITING and run.paused and entry is not None and entry.paused:
            assert seen.starts[run_id] == run.starts, f"{run_id} was started although it was paused"
        assert seen.starts[run_id] <= run.permitted_starts, f"{run_id} was started too often"
        run.place, run.starts = place, seen.starts[run_id]
        run.paused = entry is not None and entry.paused
        run.stopping = entry is not None and entry.stop_timeout is not None


def _supervised(places: Iterable[Where], run: ModelRun, held: bool) -> set[Where]:
    """Return where runs in these places may be after a supervisor has worked."""
    reached = set(places)
    if Where.STARTED in reached:
        reached |= {Where.IDLE} if run.stopping else {Where.IDLE, Where.WAITING}
    if Where.WAITING in reached and not held:
        reached |= {Where.STARTED, Where.IDLE}
    return reached


def _changed(places: set[Where], operation: Operation) -> set[Where]:
    """Return where a run is after an operation that has succeeded."""
    match operation["name"], operation["value"]:
        case "cancel", _:
            return {Where.IDLE}
        case "stop", "DEQUEUED":
            return {Where.IDLE}
        case "stop", "REQUESTED":
            return {Where.STARTED}
        case "stop", _:
            return {Where.IDLE, Where.STARTED}
        case "resume", _:
            return {Where.WAITING}
        case "remove", _:
            return {Where.TRASH}
        case "restore", _:
            return {Where.IDLE}
        case _:
            return places & {Where.WAITING, Where.STARTED}
