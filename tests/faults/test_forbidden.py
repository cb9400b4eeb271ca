"""What may not be written, and processes that are not ours: told in a sentence, and never touched."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.queue import requests
from clarinet_tui.queue.queue_file import read_queue
from clarinet_tui.queue.supervisor_process import SUPERVISOR_LOCK
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.process import Holder, alive, ask_to_stop, myself, process_start, send_signal
from core.errors import InputError
from tests.support.child_processes import born, lived
from tests.support.disks import read_only
from tests.support.events import started, step
from tests.support.histories import say
from tests.support.supervised import begun, fed, logs, make, present, put, recorded, state, until, word
from tests.support.workers import make_task, said, tiny_run


@contextmanager
def mounted_read_only(run: RunDirectory) -> Iterator[None]:
    with read_only(run.path):
        yield


@contextmanager
def folders_for_files(run: RunDirectory) -> Iterator[None]:
    """Where nothing can be mounted: a directory stands where the run's files should be."""
    for path in (run.lock, run.log, run.journal):
        path.mkdir()
    yield


@pytest.mark.parametrize("spoil", [mounted_read_only, folders_for_files])
def test_a_run_that_cannot_be_written_is_told_and_keeps_nobody_waiting(
    runs: Path, spoil: Callable[[RunDirectory], AbstractContextManager[None]]
) -> None:
    spoilt, sound = make(runs, "spoilt", "steps=3"), make(runs, "sound", "steps=3")
    with spoil(spoilt):
        put(spoilt, sound, retries=1)
        with fed(runs):
            until(lambda: not read_queue(runs).entries, runs)
        assert (begun(spoilt), word(sound)) == ([], "finished")
        assert "run spoilt: the worker could not be started" in logs(runs)
        words = ["spoilt", "--runs-dir", str(runs), "--data-dir", str(runs)]
        command = [sys.executable, "-P", "-m", "clarinet_tui.worker.main", *words]
        worker = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert (worker.returncode, len(worker.stderr.splitlines())) == (2, 1)
        assert "spoilt/lock: cannot be written" in worker.stderr
        assert state(spoilt) == "queued"  # and, half a minute after it was made, stopped


def test_a_read_only_run_cannot_be_tagged(runs: Path) -> None:
    run = make(runs, "one")
    with read_only(run.path), pytest.raises(InputError, match=r"annotations\.jsonl: cannot be written: Read-only file"):
        add_tag(run, "mine")
    assert state(run) == "queued"


@contextmanager
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that has nothing to do with any run."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process
        finally:
            process.kill()


def forge(lock: Path, pid: int) -> Holder:
    """As if whoever held the lock had had this pid before."""
    start = process_start(pid)
    assert start is not None
    holder = msgspec.structs.replace(myself(), pid=pid, start=start - 1)
    lock.write_bytes(msgspec.json.encode(holder) + b"\n")
    return holder


def test_a_reused_pid_is_never_taken_for_the_worker_nor_signalled(runs: Path) -> None:
    run = make(runs, "one")
    say(run, [started(), step(1)])
    with stranger() as process:
        holder = forge(run.lock, process.pid)
        assert alive(holder) is False
        assert not send_signal(holder, signal.SIGKILL)
        assert not ask_to_stop(holder)
        assert state(run) == "lost"
        with pytest.raises(InputError, match="run one: is not running"):
            requests.stop(run)
        put(run, on="cpu", stop_within=0.0)
        with fed(runs):
            until(lambda: not read_queue(runs).entries, runs)
            requests.resume([run], requests.Wishes(runs, runs))
        assert process.poll() is None
        assert state(run) == "queued" or begun(run)


def test_a_reused_pid_is_never_taken_for_the_supervisor(runs: Path) -> None:
    run = make(runs, "one", "steps=3")
    put(run)
    with stranger() as process:
        forge(runs / SUPERVISOR_LOCK, process.pid)
        assert present(runs) is None
        with fed(runs):
            until(lambda: not read_queue(runs).entries, runs)
        assert process.poll() is None
    assert (word(run), len(begun(run))) == ("finished", 1)


def test_a_run_directory_made_read_only_while_its_worker_writes(tmp_path: Path) -> None:
    """What it has opened it can write, but no checkpoint: it ends with a sentence, and goes on when it may."""
    task = make_task(tmp_path)
    settings = {"epochs": 12, "checkpoint_minutes": 0.001}
    alone, spoilt = (tiny_run(tmp_path / name, task, name, "clarinet", **settings) for name in ("alone", "spoilt"))
    log = tmp_path / "log"
    worker = born(spoilt, log=log)
    until(lambda: spoilt.has_checkpoint or worker.poll() is not None, tmp_path)
    worker.send_signal(signal.SIGSTOP)
    with read_only(spoilt.path):
        worker.send_signal(signal.SIGCONT)
        assert worker.wait() == 1, log.read_text()
    assert "Read-only file system" in said(spoilt, "failed")[0]["message"]
    assert lived(spoilt, log=log) == 0, log.read_text()
    assert lived(alone) == 0, alone.log.read_text()
    assert recorded(spoilt) == recorded(alone)


def test_a_lock_of_another_machine_is_believed_while_it_is_held_or_the_run_speaks(runs: Path) -> None:
    run = make(runs, "one")
    say(run, [started(), step(1)])
    run.lock.write_bytes(msgspec.json.encode(msgspec.structs.replace(myself(), host="elsewhere")) + b"\n")
    wishes = requests.Wishes(runs, runs, paused=True)
    with pytest.raises(InputError, match=r"is running already, process [0-9]+ on elsewhere"):
        requests.resume([run], wishes)
    with pytest.raises(InputError, match=r"runs on elsewhere as process [0-9]+: stop it there"):
        requests.stop(run)
    os.utime(run.journal, (1.0, 1.0))
    with fed(runs):
        requests.resume([run], wishes)
    assert run.id in read_queue(runs)


def test_a_worker_that_saves_itself_is_asked_once_by_whoever_asks(runs: Path) -> None:
    """Not from the queue: `clarinet stop` speaks to the worker itself."""
    run = make(runs, "one", "steps=100000 saves=0.5")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [
        sys.executable,
        "-P",
        "-m",
        "tests.support.fault_worker",
        "one",
        "--runs-dir",
        str(runs),
        "--device",
        "cpu",
    ]
    with subprocess.Popen(command, env=environment) as worker:
        until(lambda: begun(run) and run.journal.exists(), runs)
        for _ in range(3):
            assert requests.stop(run) == "was asked to stop"
        assert requests.wait_until_stopped(run, 30.0)
        assert worker.wait(timeout=60) == 128 + signal.SIGTERM
    assert word(run) == "stopped"
