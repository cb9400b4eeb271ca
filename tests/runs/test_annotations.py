"""Tags and notes: one complete line each, written by any number of processes; hostile ones are refused or escaped."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from clarinet_tui.runs.annotations import add_tag, remove_tag, set_note
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError
from core.resolve import resolve

TAG = """
import sys
from pathlib import Path
from clarinet_tui.runs.annotations import add_tag
from clarinet_tui.runs.directory import RunDirectory
for number in range(50):
    add_tag(RunDirectory(Path(sys.argv[1]), sys.argv[2]), f"{sys.argv[3]}-{number}")
"""


@pytest.fixture
def run(tmp_path: Path) -> RunDirectory:
    return RunDirectory.create(tmp_path, resolve(preset="smoke"))


def lines(run: RunDirectory) -> list[dict[str, object]]:
    return [msgspec.json.decode(line) for line in run.annotations.read_bytes().splitlines()]


def test_lines_record_each_change(run: RunDirectory) -> None:
    add_tag(run, " icml ", now=lambda: 5.0)
    remove_tag(run, "icml", now=lambda: 6.0)
    set_note(run, "a note\nof two lines \x1b[31m", now=lambda: 7.0)
    assert [line["event"] for line in lines(run)] == ["created", "tagged", "untagged", "noted"]
    assert lines(run)[1:] == [
        {"event": "tagged", "tag": "icml", "time": 5.0},
        {"event": "untagged", "tag": "icml", "time": 6.0},
        {"event": "noted", "note": "a note\nof two lines \x1b[31m", "time": 7.0},
    ]


@pytest.mark.parametrize(
    "tag", ["", "  ", "two words", "a\tb", "a\nb", "\x1b[31mred", "x" * 65, "a\u200fb", "\ud800 b"]
)
def test_hostile_tags_are_refused(run: RunDirectory, tag: str) -> None:
    with pytest.raises(InputError, match="tag: expected"):
        add_tag(run, tag)
    assert len(lines(run)) == 1


def test_note_has_a_limit(run: RunDirectory) -> None:
    with pytest.raises(InputError, match="at most 10000"):
        set_note(run, "x" * 10_001)


def test_several_processes_at_once(run: RunDirectory) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", TAG, str(run.runs_dir), run.id, name]) for name in ("a", "b", "c")
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
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
    assert run.annotations.read_bytes().splitlines()[1:3:1][0] == b'{"event":"tag'
    assert msgspec.json.decode(run.annotations.read_bytes().splitlines()[2])["tag"] == "x"
