"""Tags and notes: one complete line each, written by any number of processes; hostile ones are refused or escaped."""

import errno
import multiprocessing
import os
import time
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.resolve import resolve


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, resolve(preset="smoke"))


def lines(run: RunDirectory) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in run.annotations.read_bytes().splitlines()]


def test_lines_record_each_change(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 5.0)
    add_tag(run, " icml ")
    remove_tag(run, "icml")
    set_note(run, "a note\nof two lines \x1b[31m")
    assert [line["event"] for line in lines(run)] == ["created", "tagged", "untagged", "noted"]
    assert lines(run)[1:] == [
        {"event": "tagged", "tag": "icml", "time": 5.0},
        {"event": "untagged", "tag": "icml", "time": 5.0},
        {"event": "noted", "note": "a note\nof two lines \x1b[31m", "time": 5.0},
    ]


@pytest.mark.parametrize(
    "tag", ["", "  ", "two words", "a\tb", "a\nb", "\x1b[31mred", "x" * 65, "a\u200fb", "\ud800 b"]
)
def test_hostile_tags_are_refused(run: RunDirectory, tag: str) -> None:
    with pytest.raises(InputError, match="tag: expected"):
        add_tag(run, tag)
    with pytest.raises(InputError, match="at most 10000"):
        set_note(run, "x" * 10_001)
    assert len(lines(run)) == 1


def add_tags(run: RunDirectory, prefix: str) -> None:
    for number in range(50):
        add_tag(run, f"{prefix}-{number}")


def test_several_processes_at_once(run: RunDirectory) -> None:
    processes = [multiprocessing.get_context("spawn").Process(target=add_tags, args=(run, name)) for name in "abc"]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    tags = {line["tag"] for line in lines(run) if line["event"] == "tagged"}
    assert tags == {f"{name}-{number}" for name in "abc" for number in range(50)}


def test_full_disk_leaves_no_half_line(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    before = run.annotations.read_bytes()
    real = os.write

    def write(file: int, content: memoryview) -> int:
        if len(content) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(file, content[:10])

    monkeypatch.setattr(os, "write", write)
    with pytest.raises(InputError, match="No space"):
        add_tag(run, "tag")
    assert run.annotations.read_bytes() == before


def test_incomplete_line_is_ended_first(run: RunDirectory) -> None:
    with run.annotations.open("ab") as file:
        file.write(b'{"event":"tag')
    add_tag(run, "x")
    _, cut, complete = run.annotations.read_bytes().splitlines()
    assert (cut, msgspec.json.decode(complete)["tag"]) == (b'{"event":"tag', "x")
