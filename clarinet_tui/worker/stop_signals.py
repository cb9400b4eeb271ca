"""The signals that stop a worker."""

import os
import signal
import time
from contextlib import suppress
from types import FrameType

STDERR = 2


class CheckpointAbandoned(BaseException):
    """The user pressed Ctrl+C a second time: end without a checkpoint."""


class StopSignals:
    """The first signal requests a stop with a checkpoint.

    A second Ctrl+C abandons the checkpoint, and a second SIGTERM ends the process. A second SIGHUP is ignored, because
    a terminal that closes sends several; and so are the warnings of batch systems, SIGUSR1 and SIGUSR2.
    """

    def __init__(self) -> None:
        self.received = 0
        self.time_is_over = False
        """Whether the time limit has requested the stop."""
        self._deadline: float | None = None
        self._pid = os.getpid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
                signal.signal(number, self._receive)

    def stop_after(self, seconds: float) -> None:
        """Request a stop, as SIGTERM does, after this time; 0 is no limit."""
        self._deadline = time.monotonic() + seconds if seconds else None

    def is_stop_requested(self) -> bool:
        if self._deadline is not None and not self.received and time.monotonic() >= self._deadline:
            self.received = signal.SIGTERM
            self.time_is_over = True
        return self.received != 0

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._pid:  # a process that reads data: Ctrl+C reaches it as well
            return
        self.received = number
        if number == signal.SIGINT:
            signal.signal(number, self._abandon)
            # A signal may have interrupted a write to the buffered stream, and the terminal may be gone.
            with suppress(OSError):
                erase_line = "\r\x1b[2K" if os.isatty(STDERR) else ""  # of the progress bar
                os.write(STDERR, f"{erase_line}Saving a checkpoint; press Ctrl+C again to abandon it\n".encode())
        else:
            signal.signal(number, signal.SIG_DFL if number == signal.SIGTERM else signal.SIG_IGN)

    def _abandon(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() == self._pid:
            signal.signal(number, signal.SIG_DFL)
            raise CheckpointAbandoned
