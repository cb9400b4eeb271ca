"""The modes of a run's files under any umask: nobody else writes them, and private ones are private."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from clarinet_tui.queue.supervisor import start_detached
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.archive import Limits, import_archive, write_archive
from clarinet_tui.runs.environment import write_environment
from tests.support.events import started
from tests.support.histories import make_run, write_events


def write_all_files(folder: Path, umask: int) -> None:
    os.umask(umask)
    run = make_run(folder / "runs", "abc")
    write_events(run, [started()])
    add_tag(run, "mine")
    write_environment(run, run.read_config(), device="cpu", command=["secret"])
    start_detached(["true"], run.log).wait()
    write_archive([run], folder / "out.tar.gz")
    import_archive(folder / "out.tar.gz", folder / "imported", Limits())


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o022, 0o077])
def test_modes_of_files(tmp_path: Path, umask: int) -> None:
    process = multiprocessing.get_context("spawn").Process(target=write_all_files, args=(tmp_path, umask))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert mode(tmp_path / "out.tar.gz") == 0o666 & ~umask
    for run in (tmp_path / "runs" / "abc", tmp_path / "imported" / "abc"):
        assert mode(run) == 0o755 & ~umask
        assert (run / "worker.log").exists()
        for path in run.iterdir():
            private = path.name in ("environment.json", "worker.log")
            assert mode(path) == (0o600 if private else 0o644 & ~umask), path


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)
