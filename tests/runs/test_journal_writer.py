"""The journal writer: every appended event reaches the file, even if the disk is full for a while."""

import errno
import multiprocessing
import os
import resource
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clarinet_tui.runs.journal_writer import JournalWriter
from core.errors import InputError
from core.events import Checkpointed, Event, Finished
from tests.support.events import EIGHT_METRICS, evaluation, read_journal, resumed, started, step


def until(true: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not true():
        assert time.monotonic() < limit
        time.sleep(0.002)


class Disk:
    """A disk with `room` free bytes; a write takes what fits."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.refused = self.synced = 0

    def write(self, file: int, content: memoryview) -> int:
        if self.room == 0:
            self.refused += 1
            raise OSError(errno.ENOSPC, "No space left on device")
        count = os.write(file, content[: self.room])
        self.room -= count
        return count

    def fsync(self, file: int) -> None:
        self.synced += 1

    def writer(self, path: Path, **options: Any) -> JournalWriter:
        return JournalWriter(path / "journal.jsonl", write=self.write, fsync=self.fsync, **options)


def test_lines_are_written_in_the_background(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    writer = JournalWriter(path)
    writer.append(step(1))
    until(lambda: len(read_journal(path)) == 1)
    writer.close()
    writer.close()


@pytest.mark.parametrize("event", [evaluation(3), Checkpointed(iteration=3, path="checkpoint.pt")])
def test_evaluations_and_checkpoints_are_synced_at_once(tmp_path: Path, event: Event) -> None:
    disk = Disk(1 << 20)
    with disk.writer(tmp_path, interval=60) as writer:
        writer.append(step(1))
        writer.append(event)
        until(lambda: disk.synced == 1)
        assert len(read_journal(writer.path)) == 2


def test_final_event_is_synced_when_append_returns(tmp_path: Path) -> None:
    disk = Disk(1 << 20)
    with disk.writer(tmp_path, interval=60) as writer:
        writer.append(Finished(iteration=1, epoch=1, target_accuracy=None, source_accuracy=None))
        assert disk.synced == 1
        assert [record["event"] for record in read_journal(writer.path)] == ["finished"]


def test_columns_only_when_names_are_new(tmp_path: Path) -> None:
    expected = [{"a": 1.0, "b": 2.0}, {"a": 1.0}, {"b": 2.0}, {"a": 1.0, "b": 2.0}, {"c": 3.0}, {"c": 3.0}, {}]
    with JournalWriter(tmp_path / "journal.jsonl") as writer:
        for iteration, measured in enumerate(expected, 1):
            writer.append(step(iteration, measured, stage="next" if iteration > 5 else "first"))
    assert writer.path.read_text().count("columns") == 2
    found = [{name: record[name] for name in "abc" if name in record} for record in read_journal(writer.path)]
    assert found == expected


def test_full_disk_delays_writing(tmp_path: Path) -> None:
    disk, messages = Disk(1000), list[str]()
    with disk.writer(tmp_path, interval=0.005, notify=messages.append) as writer:
        for iteration in range(1, 201):
            writer.append(step(iteration))
            if iteration % 50 == 0:
                writer.sync()
        assert writer.pending_bytes > 0
        assert len(messages) == 1
        assert "No space left" in messages[0]
        disk.room = 1 << 20
        until(lambda: writer.pending_bytes == 0)
        until(lambda: len(messages) == 2)
    assert [record["iteration"] for record in read_journal(writer.path)] == list(range(1, 201))
    assert "nothing was lost" in messages[1]


def test_disk_full_for_long_pauses_training_with_one_message(tmp_path: Path) -> None:
    disk, messages = Disk(100), list[str]()
    writer = disk.writer(tmp_path, interval=0.005, max_pending=2000, notify=messages.append)

    def train() -> None:
        for iteration in range(1, 501):
            writer.append(step(iteration))

    training = threading.Thread(target=train)
    training.start()
    until(lambda: any("training pauses" in message for message in messages))
    refused = disk.refused
    until(lambda: disk.refused > refused + 5)
    assert training.is_alive()
    assert 2000 < writer.pending_bytes < 2200
    for _ in range(300):  # room comes and goes, a few bytes at a time
        disk.room = 37
        until(lambda: disk.room == 0)
    disk.room = 1 << 20
    training.join(20)
    writer.close()
    assert [record["iteration"] for record in read_journal(writer.path)] == list(range(1, 501))
    assert sum("training pauses" in message for message in messages) == 1


def test_disk_that_stays_full_is_an_error_at_the_end(tmp_path: Path) -> None:
    disk = Disk(10)
    writer = disk.writer(tmp_path, interval=0.01)
    writer.append(step(1))
    with pytest.raises(OSError, match="No space left"):
        writer.close(timeout=0.05)


def test_append_waits_no_longer_when_a_stop_is_requested(tmp_path: Path) -> None:
    messages: list[str] = []
    options = {"can_wait": lambda: not messages, "notify": messages.append}
    writer = Disk(0).writer(tmp_path, max_pending=10, interval=0.001, **options)
    writer.append(step(1))  # returns after the first message
    assert writer.pending_bytes > 10
    with pytest.raises(OSError, match="No space left"):
        writer.close(timeout=0.0)


def test_each_attempt_has_an_identity_in_its_first_event_and_all_events_have_a_time(tmp_path: Path) -> None:
    for event in (started(notes=["Größe — «made»"]), resumed(1)):
        with JournalWriter(tmp_path / "journal.jsonl", now=lambda: 12.3456) as writer:
            writer.append(event)
            writer.append(evaluation(2))
    events = read_journal(tmp_path / "journal.jsonl")
    first, second = events[0]["attempt"], events[2]["attempt"]
    assert first != second
    assert [event.get("attempt") for event in events] == [first, None, second, None]
    assert {event["time"] for event in events} == {12.346}
    assert events[0]["notes"] == ["Größe — «made»"]


def fail_to_sync(file: int) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_a_failed_fsync_is_reported_as_such_and_never_forgotten(tmp_path: Path) -> None:
    """Later fsyncs of a real disk succeed, although the system has dropped the content."""
    messages: list[str] = []
    failures = iter([fail_to_sync])

    def fsync(file: int) -> None:
        next(failures, os.fsync)(file)

    writer = JournalWriter(tmp_path / "journal.jsonl", fsync=fsync, interval=60, notify=messages.append)
    writer.append(started())
    with pytest.raises(OSError, match="Input/output error"):
        writer.sync_or_wait()
    writer.append(step(1))
    with pytest.raises(OSError, match="Input/output error"):
        writer.check_sync()
    with pytest.raises(OSError, match="Input/output error"):
        writer.close()
    assert [message.partition("jsonl: ")[2] for message in messages] == [
        "Input/output error: what was written may be lost if the machine fails"
    ]


def test_failing_callback_does_not_end_the_flushing(tmp_path: Path) -> None:
    def fail(message: str) -> None:
        raise RuntimeError(message)

    disk = Disk(10)
    with disk.writer(tmp_path, interval=0.005, notify=fail) as writer:
        writer.append(step(1))
        writer.sync()
        disk.room = 1 << 20
        until(lambda: writer.pending_bytes == 0)


def test_cut_at_every_byte_of_the_last_line_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with JournalWriter(path) as writer:
        writer.append(started())
        for iteration in (1, 2, 3):
            writer.append(step(iteration, dict.fromkeys(EIGHT_METRICS, 0.1)))
    whole = path.read_bytes()
    last = whole[:-1].rindex(b"\n") + 1
    for size in range(last, len(whole)):
        path.write_bytes(whole[:size])
        assert [record["event"] for record in read_journal(path)] == ["started", "step", "step"]
        with JournalWriter(path) as writer:
            writer.append(resumed(2))
            writer.append(step(3))
        assert path.read_bytes().startswith(whole[:size])
        iterations = [record.get("iteration") for record in read_journal(path)]
        # With only its line end missing, the line is readable: the run resumed from 2 supersedes it.
        assert iterations == ([None, 1, 2, 3, None, 3] if size == len(whole) - 1 else [None, 1, 2, None, 3])


def test_cut_by_a_full_disk_then_killed_and_resumed(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    disk = Disk(333)
    writer = disk.writer(tmp_path, interval=60)
    for iteration in range(1, 20):
        writer.append(step(iteration))
    writer.sync()
    assert path.stat().st_size == 333
    with JournalWriter(path) as again:  # the first one is gone as if killed
        again.append(resumed(0))
    assert read_journal(path)[-1]["event"] == "resumed"
    disk.room = 1 << 20
    writer.close()


def test_journal_is_never_reached_through_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("precious")
    (tmp_path / "journal.jsonl").symlink_to(outside)
    with pytest.raises(InputError, match="cannot be written: Too many levels of symbolic links"):
        JournalWriter(tmp_path / "journal.jsonl")
    assert outside.read_text() == "precious"


def write_beyond_a_limit(path: Path) -> None:
    """Write more than the system allows, and the rest once it allows it."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5001, resource.RLIM_INFINITY))
    messages: list[str] = []
    with JournalWriter(path, interval=0.01, notify=messages.append) as writer:
        for iteration in range(1, 1001):
            writer.append(step(iteration))
        writer.sync()
        assert (path.stat().st_size, writer.pending_bytes > 0, len(messages)) == (5001, True, 1), messages
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert writer.pending_bytes == 0


def test_file_size_limit_of_the_system_itself(tmp_path: Path) -> None:
    process = multiprocessing.get_context("spawn").Process(target=write_beyond_a_limit, args=(tmp_path / "j",))
    process.start()
    process.join(60)
    assert process.exitcode == 0
    assert [record["iteration"] for record in read_journal(tmp_path / "j")] == list(range(1, 1001))
