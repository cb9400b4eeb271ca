"""The command of --on-alarm may contain a token: other users of the machine never see it."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from clarinet_tui.queue.queue_file import QUEUE_FILE
from tests.support.supervised import (
    enqueue_directly,
    make_fault_run,
    read_worker_starts,
    running_supervisor,
    runs_directory,
    wait_until,
)

TOKEN = "token-0451"


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[Path]:
    with runs_directory(tmp_path / "runs") as made:
        yield made


def test_the_command_for_alarms_is_in_no_process_list(runs: Path) -> None:
    run = make_fault_run(runs, "one", "steps=100000")
    enqueue_directly(run, on_alarm=("curl", f"https://example.org/?{TOKEN}"))
    with running_supervisor(runs) as supervisor:
        wait_until(lambda: read_worker_starts(run), runs)
        worker = read_worker_starts(run)[0][0]
        for pid in (worker, str(supervisor.pid)):
            assert TOKEN not in Path(f"/proc/{pid}/cmdline").read_text()
        assert TOKEN in Path(f"/proc/{worker}/environ").read_text(), "which only its user can read"
    readable = [path for path in runs.rglob("*") if path.is_file() and stat.S_IMODE(path.stat().st_mode) & 0o077]
    assert runs / QUEUE_FILE not in readable
    assert [path for path in readable if TOKEN.encode() in path.read_bytes()] == []
