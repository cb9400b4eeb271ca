"""The states of a run."""

from enum import StrEnum


class RunState(StrEnum):
    """The value is what the history stores and what users read."""

    QUEUED = "queued"
    STARTING = "starting"
    """Its worker was started and has not written to the journal yet."""
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """Ended on request; also a run that was cancelled before it started."""
    LOST = "lost"
    """Its worker died without recording an end."""
    SILENT = "silent"
    """Its journal was not written for long, and its worker is on a machine whose processes cannot be checked."""

    @property
    def is_live(self) -> bool:
        """Whether a worker is known to be alive."""
        return self in (RunState.STARTING, RunState.RUNNING)

    @property
    def is_started(self) -> bool:
        """Whether it has started and is not known to have ended."""
        return self.is_live or self is RunState.SILENT

    @property
    def is_pending(self) -> bool:
        """Whether it may still finish without being resumed."""
        return self.is_started or self is RunState.QUEUED

    @property
    def is_resumable(self) -> bool:
        return self in (RunState.FAILED, RunState.STOPPED, RunState.LOST)


FINAL_EVENTS = frozenset({RunState.FINISHED, RunState.FAILED, RunState.STOPPED})
"""The journal's events that end an attempt; each gives the run its state."""
