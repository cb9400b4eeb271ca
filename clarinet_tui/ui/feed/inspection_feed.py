"""A thread that inspects runs, one after the other, in a process each; it lives while there is something to inspect."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot.snapshot import InspectionProgress

if TYPE_CHECKING:
    from clarinet_tui.ui.feed.app_process import AppProcess


class InspectionFeed:
    """Calls `post` from its own thread; a process ends with the app."""

    def __init__(self, runs_dir: Path, data_dir: Path, post: Callable[[InspectionProgress], object]) -> None:
        self._directories = [f"--runs-dir={runs_dir}", f"--data-dir={data_dir}"]
        self._post = post
        self._lock = threading.Lock()
        self._waiting: deque[str] = deque()
        self._current = ""
        self._thread: threading.Thread | None = None
        self._process: AppProcess | None = None

    def add(self, runs: Iterable[str]) -> None:
        """Inspect these runs, unless they already wait."""
        from clarinet_tui.ui.feed.app_process import AppProcess  # not for the first paint

        with self._lock:
            for run in runs:
                if run not in (self._current, *self._waiting):
                    self._post(InspectionProgress(run))  # before the thread can post its next step
                    self._waiting.append(run)
            self._process = self._process or AppProcess()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, args=(self._process,), name="inspect", daemon=True)
                self._thread.start()

    def stop(self) -> None:
        with self._lock:
            self._waiting.clear()
            thread = self._thread
        if self._process:
            self._process.stop()
        if thread:
            thread.join(timeout=1.0)

    def _run(self, process: AppProcess) -> None:
        while run := self._next():
            error = ""
            try:
                for report in process.reports(["inspect", f"--run={run}", *self._directories]):
                    error = report.error or error
                    self._post(InspectionProgress(run, report.what, report.done, report.total))
            except OSError as problem:
                error = str(problem)
            self._post(InspectionProgress(run, error=error, has_ended=True))

    def _next(self) -> str:
        with self._lock:
            self._current = self._waiting.popleft() if self._waiting else ""
            if not self._current:
                self._thread = None
            return self._current
