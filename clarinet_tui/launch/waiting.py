"""What the queue of a runs directory comes to: which waiting run could start where, as the supervisor decides."""

from collections.abc import Collection, Sequence
from pathlib import Path

from clarinet_tui.journal.directory import RunDirectory
from clarinet_tui.journal.queue import Queue
from clarinet_tui.launch.devices import Device
from clarinet_tui.launch.presence import holder_of
from clarinet_tui.launch.slots import Decision, decide
from clarinet_tui.launch.stage1 import signature
from core.errors import InputError


class Waiting:
    """Remembers which runs share a stage 1: a run's settings never change once it is queued."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._signatures: dict[str, str | None] = {}

    def decide(self, queue: Queue, devices: Sequence[Device], workers: Collection[int] | None = None) -> list[Decision]:
        """`workers` are the pids of the runs that were started; they are looked up where they are not given."""
        queued = {entry.id for entry in queue.entries}
        self._signatures = {one: known for one, known in self._signatures.items() if one in queued}
        making = [self._signature(entry.id) for entry in queue.started if not self._has_labels(entry.id)]
        return decide(
            queue,
            devices,
            workers=self._workers(queue) if workers is None else workers,
            stage1_of={entry.id: self._signature(entry.id) for entry in queue.waiting},
            making=[one for one in making if one],
        )

    def _workers(self, queue: Queue) -> set[int]:
        holders = (holder_of(RunDirectory(self._runs_dir, entry.id)) for entry in queue.started)
        return {holder.pid for holder in holders if holder}

    def _has_labels(self, run_id: str) -> bool:
        return RunDirectory(self._runs_dir, run_id).pseudo_labels.exists()

    def _signature(self, run_id: str) -> str | None:
        if run_id not in self._signatures:
            try:
                self._signatures[run_id] = signature(RunDirectory(self._runs_dir, run_id).read_config())
            except InputError:
                self._signatures[run_id] = None
        return self._signatures[run_id]
