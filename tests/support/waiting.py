"""Wait for what another thread or process does."""

import time
from collections.abc import Callable

TIMEOUT = 120.0


def wait_until(
    condition: Callable[[], object], describe: Callable[[], str] = str, timeout: float = TIMEOUT, interval: float = 0.02
) -> None:
    """Wait until the condition holds; after the timeout, fail with the description of what is there instead."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, describe()
        time.sleep(interval)
