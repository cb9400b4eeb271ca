"""Follows the last lines of a run's log in the feed's thread."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot.run_detail import MAX_LOG_LINES, LogExcerpt

if TYPE_CHECKING:
    from clarinet_tui.logs.run_log import RunLog
    from clarinet_tui.runs.directory import RunDirectory


class LogReader:
    """Follows one run at a time."""

    def __init__(self) -> None:
        self._run = ""
        self._log: RunLog | None = None
        self._lines: deque[str] = deque(maxlen=MAX_LOG_LINES)
        self._count = 0
        self._last = LogExcerpt()

    def read(self, run: RunDirectory) -> LogExcerpt:
        """Return the last lines; the same object as before if there are no new ones."""
        new = self._open(run) if run.id != self._run else list(self._log.read_new() if self._log else ())
        if new:
            self._count += len(new)
            self._lines.extend(new)
            self._last = LogExcerpt(self._count - len(self._lines), tuple(self._lines))
        return self._last

    def _open(self, run: RunDirectory) -> list[str]:
        from clarinet_tui.logs.run_log import RunLog

        self.close()
        self._run, self._log = run.id, RunLog(run)
        return self._log.read_last(MAX_LOG_LINES)

    def close(self) -> None:
        if self._log:
            self._log.__exit__(None, None, None)
        self._run, self._log, self._count, self._last = "", None, 0, LogExcerpt()
        self._lines.clear()
