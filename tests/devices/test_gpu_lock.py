"""Locks of GPUs, with real processes that race for them, die with them and leave files."""

import json
import os
import subprocess
import sys
from functools import partial
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from pathlib import Path

import pytest

from clarinet_tui.devices.device import Device
from clarinet_tui.devices.gpu_lock import GpuInUseError, hold_gpu, with_lock_holders
from tests.support.forked_python import forkserver, held_in_process
from tests.support.nvml import BUSY, FREE

GPUS = [Device(key=key, label=f"cuda:{number}", name="A100") for number, key in enumerate((FREE, BUSY))]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CLARINET_GPU_LOCKS", str(tmp_path / "gpus"))
    return tmp_path / "gpus"


def use_folder(folder: Path) -> None:
    """Use the test's folder in another process."""
    os.environ["CLARINET_GPU_LOCKS"] = str(folder)


def take_gpu(folder: Path, barrier: Barrier, run: str, answers: "SimpleQueue[str]") -> None:
    """Take a GPU together with other processes, and keep it until all have answered."""
    use_folder(folder)
    barrier.wait()
    try:
        with hold_gpu([FREE, BUSY], run) as key:
            answers.put(key)
            barrier.wait()
    except GpuInUseError as error:
        answers.put(str(error))
        barrier.wait()


def test_processes_that_start_together_take_different_gpus(folder: Path) -> None:
    barrier, answers = forkserver.Barrier(4), forkserver.SimpleQueue()
    arguments = [(folder, barrier, f"run{number}", answers) for number in range(4)]
    racing = [forkserver.Process(target=take_gpu, args=each, daemon=True) for each in arguments]
    for process in racing:
        process.start()
    found = sorted(answers.get() for _ in racing)
    for process in racing:
        process.join()
    assert [answer for answer in found if not answer.startswith("device:")] == sorted([FREE, BUSY])
    assert sum(f"{FREE} is in use by run run" in answer for answer in found) == 2


def test_a_killed_holder_blocks_nothing(folder: Path) -> None:
    with held_in_process(hold_gpu, [FREE], "dead", prepare=partial(use_folder, folder)) as holder:
        refused = pytest.raises(GpuInUseError, match=rf"run dead of \S+ \(process {holder.pid}\)")
        with refused, hold_gpu([FREE], "b"):
            pass
        holder.kill()
        holder.wait()
        assert len(list(folder.glob("*.lock"))) == 1, "it has left its file"
        with hold_gpu([FREE], "next") as key:
            assert key == FREE
            assert len(list(folder.glob("*.lock"))) == 1, "and the next holder has removed it"
    assert list(folder.glob("*.lock")) == []


def test_runs_of_one_queue_share_a_gpu_and_other_queues_do_not(folder: Path) -> None:
    enter = partial(hold_gpu, group="q1")
    with held_in_process(enter, [FREE], "one", prepare=partial(use_folder, folder)):
        with hold_gpu([FREE], "two", group="q1") as key:
            assert key == FREE
        with pytest.raises(GpuInUseError), hold_gpu([FREE], "three", group="q2"):
            pass
        with hold_gpu([FREE], "four", share=True) as key:
            assert key == FREE


def test_runs_outside_a_queue_share_with_none() -> None:
    with hold_gpu([FREE], "one"), pytest.raises(GpuInUseError), hold_gpu([FREE], "two"):
        pass


def test_a_forked_child_does_not_keep_the_lock() -> None:
    """Processes that read data are forked from the worker and may outlive it."""
    code = (
        "import os, sys, time\nfrom clarinet_tui.devices.gpu_lock import hold_gpu\n"
        f"with hold_gpu([{FREE!r}], 'parent'):\n"
        "    pid = os.fork()\n    if not pid:\n        os.close(1); time.sleep(60)\n"
        "    print(pid, flush=True)\n    os._exit(0)\n"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    child = int(done.stdout)
    try:
        os.kill(child, 0)
        with hold_gpu([FREE], "next") as key:
            assert key == FREE
    finally:
        os.kill(child, 9)


def test_a_holder_is_listed_before_its_process_uses_the_gpu() -> None:
    assert with_lock_holders(GPUS) == GPUS
    with hold_gpu([BUSY], "abc1"):
        free, busy = with_lock_holders(GPUS)
        assert free.processes == ()
        assert busy.processes is not None
        assert [(process.pid, process.command) for process in busy.processes] == [(os.getpid(), "run abc1")]
    assert with_lock_holders(GPUS) == GPUS


def test_the_folder_is_open_to_all_users_and_files_are_readable(folder: Path) -> None:
    mask = os.umask(0o077)
    try:
        with hold_gpu([FREE], "one"):
            modes = {path.name.rpartition(".")[2]: path.stat().st_mode & 0o7777 for path in folder.iterdir()}
            assert (folder.stat().st_mode & 0o7777, modes) == (0o1777, {"lock": 0o644})
    finally:
        os.umask(mask)


def test_files_of_other_users_are_only_data(folder: Path) -> None:
    """Symbolic links, pipes and nonsense neither block nor are followed."""
    folder.mkdir()
    (folder / f"{FREE}.a.lock").symlink_to("/etc/passwd")
    os.mkfifo(folder / f"{FREE}.b.lock")
    (folder / f"{FREE}.c.lock").write_text("\x1b]0;title")
    assert with_lock_holders(GPUS) == GPUS
    with hold_gpu([FREE], "one") as key:
        assert key == FREE


def test_a_hostile_name_reaches_no_terminal(folder: Path) -> None:
    with hold_gpu([FREE], "one"):
        (lock,) = folder.glob("*.lock")
        lock.write_text(json.dumps({"pid": 1, "user": "\x1b[31m", "run": "\n\x07"}))
        with pytest.raises(GpuInUseError) as raised, hold_gpu([FREE], "two"):
            pass
    assert str(raised.value).isprintable()


def test_a_folder_that_cannot_be_used_stops_no_run(folder: Path) -> None:
    folder.write_text("a file")
    messages: list[str] = []
    with hold_gpu([FREE, BUSY], "one", notify=messages.append) as key:
        assert key == FREE
    assert messages == [f"{folder}: Not a directory: runs of other users may start on the same GPU"]
    assert with_lock_holders(GPUS) == GPUS
