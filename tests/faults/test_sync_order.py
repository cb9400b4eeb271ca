"""What a power failure leaves: content is on the disk before its name is, and the name before a program continues."""

import os
from pathlib import Path

import pytest

from clarinet_tui.runs.journal_writer import JournalWriter
from core.files import replace_file
from core.models import checkpoint
from core.resolve import resolve
from tests.support.events import started

Synced = list[tuple[Path, bytes, dict[str, bytes]]]
"""For each fsync: the path, its content if it is a file, and all files of its directory."""


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> Synced:
    calls: Synced = []

    def fsync(file: int) -> None:
        path = Path(f"/proc/self/fd/{file}").readlink()
        folder = path if path.is_dir() else path.parent
        files = {inside.name: inside.read_bytes() for inside in folder.iterdir()}
        calls.append((path, files.get(path.name, b""), files))

    monkeypatch.setattr(os, "fsync", fsync)
    return calls


def test_content_is_synced_before_it_is_renamed_and_its_directory_afterwards(tmp_path: Path, synced: Synced) -> None:
    (tmp_path / "file").write_bytes(b"old")
    replace_file(tmp_path / "file", b"new")
    (_, content, before), (directory, _, after) = synced
    assert (content, before["file"]) == (b"new", b"old")
    assert (directory, after) == (tmp_path, {"file": b"new"})


def test_a_checkpoint_is_synced_before_it_replaces_the_one_before(tmp_path: Path, synced: Synced) -> None:
    for number in (1, 2):
        checkpoint.save(tmp_path, resolve(preset="smoke"), {"number": number})
    _, (_, _, first), (_, content, before), (directory, _, after) = synced
    assert before[checkpoint.NAME] == first[checkpoint.NAME]
    assert directory == tmp_path
    assert after == {checkpoint.NAME: content, checkpoint.PREVIOUS: first[checkpoint.NAME]}


def test_the_name_of_a_new_journal_is_synced_with_its_content(tmp_path: Path, synced: Synced) -> None:
    path = tmp_path / "journal.jsonl"
    for _ in range(2):
        with JournalWriter(path, interval=60, fsync=os.fsync) as writer:
            writer.append(started())
            writer.sync()
    assert [synced_path for synced_path, _, _ in synced][:3] == [path, tmp_path, path]
    assert tmp_path not in [synced_path for synced_path, _, _ in synced][2:], "its name is there already"
    assert synced[0][1].count(b"\n") == 1
