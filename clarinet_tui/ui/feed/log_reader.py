"""The last lines that a run said and its worker printed, read on as they come. Belongs to the feed's thread."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from clarinet_tui.ui.snapshot.run_detail import KEPT, Lines

if TYPE_CHECKING:
    from clarinet_tui.logs.run_log import Story
    from clarinet_tui.runs.directory import RunDirectory


class LogReader:
    """Follows one run at a time."""

    def __init__(self) -> None:
        self._run = ""
        self._story: Story | None = None
        self._lines: deque[str] = deque(maxlen=KEPT)
        self._count = 0
        self._told = Lines()

    def read(self, run: RunDirectory) -> Lines:
        """The same object as the last time, if nothing came since."""
        new = self._begin(run) if run.id != self._run else list(self._story.new() if self._story else ())
        if new:
            self._count += len(new)
            self._lines.extend(new)
            self._told = Lines(self._count - len(self._lines), tuple(self._lines))
        return self._told

    def _begin(self, run: RunDirectory) -> list[str]:
        from clarinet_tui.logs.run_log import Story

        self.close()
        self._run, self._story = run.id, Story(run)
        return self._story.last(KEPT)

    def close(self) -> None:
        if self._story:
            self._story.__exit__(None, None, None)
        self._run, self._story, self._count, self._told = "", None, 0, Lines()
        self._lines.clear()
