"""A run's tags and note, appended to annotations.jsonl."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.runs.atomic_files import as_input_error, ends_mid_line, open_append, write_all
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

MAX_TAG_LENGTH = 64
MAX_NOTE_LENGTH = 10_000


def add_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    _append(run.annotations, {"event": "tagged", "tag": validate_tag(tag), "time": now()})


def remove_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    _append(run.annotations, {"event": "untagged", "tag": validate_tag(tag), "time": now()})


def set_note(run: "RunDirectory", note: str, now: Callable[[], float] = time.time) -> None:
    """Set the note; an empty one removes it."""
    if len(note) > MAX_NOTE_LENGTH:
        raise InputError(f"note: expected at most {MAX_NOTE_LENGTH} characters, got {len(note)}")
    _append(run.annotations, {"event": "noted", "note": _encodable(note), "time": now()})


def write_created(path: Path, when: float) -> None:
    """Write the first line: the time of creation, which neither a copy nor a requeue changes."""
    _append(path, {"event": "created", "time": when})


def validate_tag(tag: str) -> str:
    tag = _encodable(tag.strip())
    if not tag or len(tag) > MAX_TAG_LENGTH or not tag.isprintable() or any(character.isspace() for character in tag):
        raise InputError(f"tag: expected 1 to {MAX_TAG_LENGTH} printable characters without spaces, got {tag[:80]!a}")
    return tag


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _append(path: Path, fields: dict[str, Any]) -> None:
    """Append one complete line under a lock, because several processes write here."""
    file = open_append(path)
    try:
        with as_input_error(path):
            fcntl.flock(file, fcntl.LOCK_EX)
            write_all(file, (b"\n" if ends_mid_line(file) else b"") + msgspec.json.encode(fields) + b"\n")
            os.fsync(file)
    finally:
        os.close(file)
