"""A run's tags and note, appended to annotations.jsonl."""

import time
from collections.abc import Callable

from clarinet_tui.runs.atomic_files import append_line
from clarinet_tui.runs.directory import RunDirectory
from core.errors import InputError

MAX_TAG_LENGTH = 64
MAX_NOTE_LENGTH = 10_000


def add_tag(run: RunDirectory, tag: str, now: Callable[[], float] = time.time) -> None:
    append_line(run.annotations, {"event": "tagged", "tag": validate_tag(tag), "time": now()})


def remove_tag(run: RunDirectory, tag: str, now: Callable[[], float] = time.time) -> None:
    append_line(run.annotations, {"event": "untagged", "tag": validate_tag(tag), "time": now()})


def set_note(run: RunDirectory, note: str, now: Callable[[], float] = time.time) -> None:
    """Set the note; an empty one removes it."""
    if len(note) > MAX_NOTE_LENGTH:
        raise InputError(f"note: expected at most {MAX_NOTE_LENGTH} characters, got {len(note)}")
    append_line(run.annotations, {"event": "noted", "note": _encodable(note), "time": now()})


def validate_tag(tag: str) -> str:
    tag = _encodable(tag.strip())
    if not tag or len(tag) > MAX_TAG_LENGTH or not tag.isprintable() or any(character.isspace() for character in tag):
        raise InputError(f"tag: expected 1 to {MAX_TAG_LENGTH} printable characters without spaces, got {tag[:80]!a}")
    return tag


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
