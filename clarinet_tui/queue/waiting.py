"""What the queue of a runs directory comes to: which waiting run could start where, as the supervisor decides."""

from collections.abc import Collection, Sequence
from pathlib import Path

from clarinet_tui.devices.local import Device
from clarinet_tui.queue.queue_file import Queue
from clarinet_tui.queue.scheduling import Decision, decide
from clarinet_tui.queue.supervisor_process import holder_of
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.stage1 import Part, part_of
from core.errors import InputError


class Waiting:
    """Remembers which runs share a stage 1: a run's settings never change once it is queued."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._parts: dict[str, Part | None] = {}

    def decide(self, queue: Queue, devices: Sequence[Device], workers: Collection[int] | None = None) -> list[Decision]:
        """`workers` are the pids of the runs that were started; they are looked up where they are not given."""
        queued = {entry.id for entry in queue.entries}
        self._parts = {one: known for one, known in self._parts.items() if one in queued}
        making = [self._part(entry.id) for entry in queue.started if not self._has_labels(entry.id)]
        return decide(
            queue,
            devices,
            workers=self._workers(queue) if workers is None else workers,
            parts={entry.id: self._part(entry.id) for entry in queue.waiting},
            making=[part.signature for part in making if part],
        )

    def _workers(self, queue: Queue) -> set[int]:
        holders = (holder_of(RunDirectory(self._runs_dir, entry.id)) for entry in queue.started)
        return {holder.pid for holder in holders if holder}

    def _has_labels(self, run_id: str) -> bool:
        return RunDirectory(self._runs_dir, run_id).pseudo_labels.exists()

    def _part(self, run_id: str) -> Part | None:
        if run_id not in self._parts:
            try:
                self._parts[run_id] = part_of(RunDirectory(self._runs_dir, run_id).read_config())
            except InputError:
                self._parts[run_id] = None
        return self._parts[run_id]
