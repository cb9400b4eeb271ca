"""What people say about a run: tags and a note, appended to annotations.jsonl by whoever says it."""

import fcntl
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from clarinet_tui.runs.atomic_files import ends_torn, open_append, told, write_all
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

LONGEST_TAG = 64
LONGEST_NOTE = 10_000


def add_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    _append(run.annotations, {"event": "tagged", "tag": checked_tag(tag), "time": now()})


def remove_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    _append(run.annotations, {"event": "untagged", "tag": checked_tag(tag), "time": now()})


def set_note(run: "RunDirectory", note: str, now: Callable[[], float] = time.time) -> None:
    """An empty note takes the note away."""
    if len(note) > LONGEST_NOTE:
        raise InputError(f"note: expected at most {LONGEST_NOTE} characters, got {len(note)}")
    _append(run.annotations, {"event": "noted", "note": _encodable(note), "time": now()})


def write_created(path: Path, when: float) -> None:
    """The first line: when the run was made, which neither a copy nor a requeue changes."""
    _append(path, {"event": "created", "time": when})


def checked_tag(tag: str) -> str:
    tag = _encodable(tag.strip())
    if not tag or len(tag) > LONGEST_TAG or not tag.isprintable() or any(sign.isspace() for sign in tag):
        raise InputError(f"tag: expected 1 to {LONGEST_TAG} printable characters without spaces, got {tag[:80]!a}")
    return tag


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()


def _append(path: Path, said: dict[str, Any]) -> None:
    """One whole line, under a lock: several processes write here."""
    file = open_append(path)
    try:
        with told(path):
            fcntl.flock(file, fcntl.LOCK_EX)
            write_all(file, (b"\n" if ends_torn(file) else b"") + msgspec.json.encode(said) + b"\n")
            os.fsync(file)
    finally:
        os.close(file)
