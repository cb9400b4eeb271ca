"""A thread that reads what the app requests, so that no screen waits for a disk, a device or another process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeVar

Request = TypeVar("Request")
Result = TypeVar("Result")
Requested = TypeVar("Requested", contravariant=True)
Read = TypeVar("Read", covariant=True)

RETRY_SECONDS = 2.0
"""Pause after an error."""


class Reader(Protocol[Requested, Read]):
    """What a poller calls in its thread; it may keep files open, and what it has read."""

    @property
    def interval(self) -> float | None:
        """Seconds until the same request is read again; None if it is read once."""

    def read(self, request: Requested) -> Iterable[Read]:
        """Yield what was read; nothing if nothing has changed."""

    def close(self) -> None: ...


class Poller(Generic[Request, Result]):
    """Reads the newest request at once, then at the reader's interval, and posts each result that differs.

    Without a request it waits. The reader is opened for the first request, and again after an error.
    """

    def __init__(
        self,
        name: str,
        open_reader: Callable[[], Reader[Request, Result]],
        post: Callable[[Result], object],
        on_error: Callable[[Exception, Result | None], Result | None],
        *,
        delay: float = 0.0,
        retry: float = RETRY_SECONDS,
    ) -> None:
        """All functions are called by the poller's thread.

        `on_error` takes the error and the last result, and returns what to post; None reads again without a pause.
        `delay` is the time without a newer request after which a request is read.
        """
        self._open_reader, self._post, self._on_error = open_reader, post, on_error
        self._delay, self._retry = delay, retry
        self.requested: Request | None = None
        self.is_idle = True
        """Whether the thread waits for a request."""
        self._last: Result | None = None
        self._wake, self._stopped = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

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
        reader: Reader[Request, Result] | None = None
        while not self._stopped.is_set():
            self._wake.clear()
            request, interval = self.requested, None
            self.is_idle = request is None
            try:
                if request is not None and not (self._delay and self._wake.wait(self._delay)):
                    reader = reader or self._open_reader()
                    for result in reader.read(request):
                        self._post_if_new(result)
                    interval = reader.interval
            except Exception as error:  # noqa: BLE001  shown and logged; it may pass
                if reader:
                    reader.close()
                    reader = None
                problem = self._on_error(error, self._last)
                if problem is not None:
                    self._post_if_new(problem)
                    self._stopped.wait(self._retry)
            else:
                self._wake.wait(interval)
        if reader:
            reader.close()

    def _post_if_new(self, result: Result) -> None:
        if result != self._last and not self._stopped.is_set():
            self._last = result
            self._post(result)
