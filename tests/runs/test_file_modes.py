"""The modes of a run's files under any umask: nobody else writes them, and private ones are private."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE_RUN = """
import os, sys
from pathlib import Path
os.umask(int(sys.argv[2], 8))
from clarinet_tui.queue.workers import start_detached
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.archive import write_archive
from clarinet_tui.runs.archive import import_archive
from clarinet_tui.runs.environment import write_environment
from tests.support.events import started
from tests.support.histories import make_run, open_history, write_events
from clarinet_tui.history.ingest import ingest_all
runs = Path(sys.argv[1]) / "runs"
run = make_run(runs, "abc")
write_events(run, [started()])
add_tag(run, "mine")
write_environment(run, run.read_config(), device="cpu", command=["secret"])
start_detached(["true"], run.log).wait()
write_archive([run], Path(sys.argv[1]) / "out.tar.gz")
import_archive(Path(sys.argv[1]) / "out.tar.gz", runs.with_name("imported"))
"""


@pytest.mark.parametrize("umask", ["000", "002", "022", "077"])
def test_modes_of_files(tmp_path: Path, umask: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-P", "-c", MAKE_RUN, str(tmp_path), umask], env=environment, check=True, timeout=60
    )
    assert mode(tmp_path / "out.tar.gz") == 0o666 & ~int(umask, 8)
    for run in (tmp_path / "runs" / "abc", tmp_path / "imported" / "abc"):
        assert mode(run) == 0o755 & ~int(umask, 8)
        assert (run / "worker.log").exists()
        for path in run.iterdir():
            private = path.name in ("environment.json", "worker.log")
            assert mode(path) == (0o600 if private else 0o644 & ~int(umask, 8)), path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
