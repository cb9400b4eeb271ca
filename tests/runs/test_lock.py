"""One worker a run, with real processes."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.lock import read_holder
from clarinet_tui.runs.process import alive, myself, process_start
from core.errors import InputError
from core.resolve import resolve

HOLD = """
import sys, time
from pathlib import Path
from clarinet_tui.runs.directory import RunDirectory
with RunDirectory(Path(sys.argv[1]), sys.argv[2]).hold():
    print("held", flush=True)
    {then}
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, resolve(preset="smoke"))


def holder_process(run: RunDirectory, then: str = "time.sleep(60)") -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", HOLD.format(then=then), str(run.runs_dir), run.id]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def test_second_holder_is_told_host_and_pid(run: RunDirectory) -> None:
    with holder_process(run) as process:
        try:
            with pytest.raises(InputError, match=f"process {process.pid} on {myself().host}"), run.hold():
                pass
            holder = read_holder(run.lock)
            assert holder is not None
            assert alive(holder) is True
        finally:
            process.kill()
        assert process.wait() == -signal.SIGKILL
    with run.hold() as mine:
        assert mine.pid == os.getpid()


def test_killed_holder_is_gone_even_as_a_zombie(run: RunDirectory) -> None:
    process = holder_process(run)
    holder = read_holder(run.lock)
    assert holder is not None
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and not taken from the process table
    assert alive(holder) is False
    process.communicate()
    assert alive(holder) is False
    assert holder.released is None


def test_lock_given_back_says_so(run: RunDirectory) -> None:
    with run.hold():
        pass
    holder = read_holder(run.lock)
    assert holder is not None
    assert holder.released is not None
    assert alive(holder) is False


def test_forked_child_does_not_keep_the_lock(run: RunDirectory) -> None:
    then = "import os; os.fork() or print(os.getpid(), flush=True); time.sleep(60)"
    process = holder_process(run, then)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        process.kill()
        process.wait()
        with run.hold():
            assert process_start(child) is not None
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_reused_pid_another_boot_and_another_machine() -> None:
    me = myself()
    assert alive(me) is True
    changed = msgspec.structs.replace
    assert alive(changed(me, start=me.start + 1)) is False
    assert alive(changed(me, boot="another"), changed(me, machine="m")) is None
    assert alive(changed(me, machine="m", boot="another"), changed(me, machine="m")) is False
    assert alive(changed(me, machine="", boot="another"), changed(me, machine="")) is None
    assert alive(changed(me, host="elsewhere")) is None
    assert alive(changed(me, namespace="container")) is None


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": 3}', b"\xff" * 100])
def test_unreadable_lock_has_no_holder(run: RunDirectory, content: bytes) -> None:
    run.lock.write_bytes(content)
    assert read_holder(run.lock) is None
    with run.hold():
        assert read_holder(run.lock) is not None


def test_symlinked_lock_is_refused(run: RunDirectory, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    run.lock.symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written"), run.hold():
        pass
    assert outside.read_text() == "precious"
