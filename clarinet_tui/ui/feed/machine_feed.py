"""The poller of devices, queue and data: it reads while a view shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.feed.poller import Poller

if TYPE_CHECKING:
    from clarinet_tui.ui.feed.machine_reader import MachineReader
    from clarinet_tui.ui.snapshot.machine import MachineSnapshot


class MachineFeed(Poller[str, "MachineSnapshot"]):
    """The request is the name of the view that shows the machine; None if the current view does not."""

    interval = 2.0

    def __init__(
        self,
        runs_dir: Path,
        data_dir: Path,
        post: Callable[[MachineSnapshot], object],
        log_error: Callable[[Exception, str], object] = lambda error, where: None,
        *,
        database: Path | None = None,
    ) -> None:
        super().__init__("machine", post)
        self._paths, self._log_error = (runs_dir, data_dir, database), log_error
        self._reader: MachineReader | None = None

    def read(self, view: str) -> Iterator[MachineSnapshot]:
        if self._reader is None:
            from clarinet_tui.ui.feed.machine_reader import MachineReader

            self._reader = MachineReader(*self._paths)
        yield self._reader.read()

    def on_error(self, error: Exception, last: MachineSnapshot | None) -> MachineSnapshot:
        from clarinet_tui.ui.snapshot.machine import MachineSnapshot
        from core.errors import describe_error

        self._log_error(error, "the machine feed")
        return replace(last or MachineSnapshot(), problem=describe_error(error))
