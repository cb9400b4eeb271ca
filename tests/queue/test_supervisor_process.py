"""Starting the real supervisor from a process that lives longer, such as the app."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.queue.supervisor import SUPERVISOR_LOCK, SUPERVISOR_LOG, ensure_supervisor, find_supervisor
from clarinet_tui.runs.lock import signal_holder
from tests.support.supervised import runs_directory, wait_until


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    with runs_directory(tmp_path / "runs") as made:
        yield made


def test_a_supervisor_that_ended_does_not_stay_in_the_process_table(runs: Path) -> None:
    ensure_supervisor(runs)
    wait_until(lambda: find_supervisor(runs), runs)
    supervisor = find_supervisor(runs)
    assert supervisor is not None
    assert [(runs / name).stat().st_mode & 0o077 for name in (SUPERVISOR_LOCK, SUPERVISOR_LOG)] == [0, 0]
    assert signal_holder(runs / SUPERVISOR_LOCK, supervisor, signal.SIGTERM)
    wait_until(lambda: not Path(f"/proc/{supervisor.pid}").exists(), runs)
