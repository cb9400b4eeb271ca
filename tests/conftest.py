"""What all tests share: the folder of real digits, and one thread for torch so that two processes do not thrash."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
VARIABLE = "CLARINET_TEST_DATA"
# A busy machine is no failure: no example has a time to keep.
settings.register_profile("clarinet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clarinet")


def pytest_configure(config: pytest.Config) -> None:
    named = os.environ.get(VARIABLE)
    if named and not Path(named).is_dir():
        raise pytest.UsageError(f"{VARIABLE}: there is no folder {named}")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # of `make test &`: processes of tests are to hear Ctrl-C
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Twice as many as there are cores: tests of processes and of the app wait for much of their time."""
    return (os.cpu_count() or 1) * 2


def pytest_collection_finish() -> None:
    """What was imported stays for good: looking through it for garbage again and again took 40 % of the app's tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def digits() -> Path:
    """Real MNIST, USPS, MNIST-M and SVHN."""
    named = os.environ.get(VARIABLE)
    if not named:
        pytest.skip(f"{VARIABLE} is not set")
    return Path(named)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield
    counts = {
        outcome: sum("digits" in report.keywords for report in terminalreporter.getreports(outcome))
        for outcome in ("passed", "failed", "skipped")
    }
    ran = counts["passed"] + counts["failed"]
    terminalreporter.write_line(f"On the real digits: {ran} tests ran, {counts['skipped']} were skipped.")
