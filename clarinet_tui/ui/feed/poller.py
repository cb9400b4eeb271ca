"""A thread that reads what the app requests, so that no screen waits for a disk, a device or another process."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")

RETRY_SECONDS = 2.0
"""Pause after an error."""


class Poller(ABC, Generic[Request, Result]):
    """Reads the newest request at once, then at its interval, and posts each result that differs.

    Without a request it waits. Its thread calls `read`, `on_error`, `close` and `post`.
    """

    interval: float | None = None
    """Seconds until the same request is read again; None if it is read once."""
    delay = 0.0
    """Seconds without a newer request after which a request is read."""

    def __init__(self, name: str, post: Callable[[Result], object]) -> None:
        self.post = post
        self.requested: Request | None = None
        self.is_idle = True
        """Whether the thread waits for a request."""
        self._last: Result | None = None
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    @abstractmethod
    def read(self, request: Request) -> Iterable[Result]:
        """Yield what was read; nothing if nothing has changed. Files may stay open until `close`."""

    @abstractmethod
    def on_error(self, error: Exception, last: Result | None) -> Result | None:
        """Return what to post after an error; None reads again without a pause."""

    def close(self) -> None:
        """Close what `read` has opened: after an error, and at the end."""

    def start(self) -> None:
        if not self._thread.ident and not self._stopped.is_set():
            self._thread.start()

    def request(self, request: Request | None) -> None:
        """Read this from now on, and at once if it is new; None pauses the poller."""
        if request != self.requested:
            self.requested = request
            self._wake.set()

    def refresh(self) -> None:
        """Read at once, after a change."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread; wait up to a second for it."""
        self._stopped.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(timeout=1.0)

    def _run(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            request, interval = self.requested, None
            self.is_idle = request is None
            try:
                if request is not None and not (self.delay and self._wake.wait(self.delay)):
                    for result in self.read(request):
                        self._post_if_new(result)
                    interval = self.interval
            except Exception as error:  # noqa: BLE001  shown and logged; it may pass
                self.close()
                problem = self.on_error(error, self._last)
                if problem is not None:
                    self._post_if_new(problem)
                    self._stopped.wait(RETRY_SECONDS)
            else:
                self._wake.wait(interval)
        self.close()

    def _post_if_new(self, result: Result) -> None:
        if result != self._last and not self._stopped.is_set():
            self._last = result
            self.post(result)
