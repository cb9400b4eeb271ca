"""Fixtures and hooks for all tests. Torch uses one thread, so that parallel tests do not compete for cores."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from _typeshed import FileDescriptorLike

    from tests.support.terminal import Terminal

os.environ.setdefault("OMP_NUM_THREADS", "1")
VARIABLE = "CLARINET_TEST_DATA"
# No deadline: an example may be slow on a busy machine.
settings.register_profile("clarinet", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("clarinet")


def check_file(fd: "FileDescriptorLike") -> None:
    """Replace `os.fsync` in the process of the tests, which make thousands of runs and never cut the power."""
    os.fstat(fd if isinstance(fd, int) else fd.fileno())


os.fsync = check_file


def pytest_configure(config: pytest.Config) -> None:
    folder = os.environ.get(VARIABLE)
    if folder and not Path(folder).is_dir():
        raise pytest.UsageError(f"{VARIABLE}: {folder} is not a directory")
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in `make test &`; child processes inherit it
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Start two pytest workers per core: tests of processes and of the app spend most of their time waiting."""
    return (os.cpu_count() or 1) * 2


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a long text by its length: pytest copies names into its reports, and one had ten million characters."""
    return f"{argname} of {len(val)}" if isinstance(val, str | bytes) and len(val) > 200 else None


def pytest_collection_finish() -> None:
    """Exempt imported modules from garbage collection, which otherwise takes 40 % of the time of the app's tests."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


@pytest.fixture(scope="session")
def digits() -> Path:
    """The folder with the real MNIST, USPS, MNIST-M and SVHN."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        pytest.skip(f"{VARIABLE} is not set")
    return Path(folder)


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a stand-in for NVIDIA's library: a machine with four GPUs."""
    from tests.support.nvml import build

    return build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Iterator[Terminal]":
    """A terminal in the folder of the test."""
    from tests.support.terminal import open_terminal

    yield from open_terminal(tmp_path, monkeypatch)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Iterator[None]:
    yield
    counts = {
        outcome: sum("digits" in report.keywords for report in terminalreporter.getreports(outcome))
        for outcome in ("passed", "failed", "skipped")
    }
    ran = counts["passed"] + counts["failed"]
    terminalreporter.write_line(f"Tests on real digits: {ran} ran, {counts['skipped']} skipped.")


@pytest.fixture(scope="session", autouse=True)
def gpu_locks(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the locks of simulated GPUs apart from those of this machine and of parallel tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLARINET_GPU_LOCKS", str(tmp_path_factory.mktemp("gpu-locks")))
        yield
