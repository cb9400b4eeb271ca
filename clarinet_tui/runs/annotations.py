"""annotations.jsonl: the command line that created the run, its tags and its note."""

import time
from typing import Any

from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.files import UnreadableFileError, append_line
from clarinet_tui.runs.journal import read_first_event
from core.errors import InputError

MAX_TAG_LENGTH = 64
MAX_NOTE_LENGTH = 10_000


def read_creating_command(run: RunDirectory) -> str:
    """Return the command line in a run's annotations; empty if there is none or it cannot be read."""
    try:
        command = (read_first_event(run.annotations) or {}).get("command")
    except (UnreadableFileError, OSError):
        return ""
    return command if isinstance(command, str) else ""


def add_tag(run: RunDirectory, tag: str) -> None:
    _append(run, event="tagged", tag=validate_tag(tag))


def remove_tag(run: RunDirectory, tag: str) -> None:
    _append(run, event="untagged", tag=validate_tag(tag))


def set_note(run: RunDirectory, note: str) -> None:
    """Set the note; an empty one removes it."""
    if len(note) > MAX_NOTE_LENGTH:
        raise InputError(f"note: expected at most {MAX_NOTE_LENGTH} characters, got {len(note)}")
    _append(run, event="noted", note=_encodable(note))


def _append(run: RunDirectory, **fields: Any) -> None:
    append_line(run.annotations, {**fields, "time": time.time()})


def validate_tag(tag: str) -> str:
    tag = _encodable(tag.strip())
    if not tag or len(tag) > MAX_TAG_LENGTH or not tag.isprintable() or any(character.isspace() for character in tag):
        raise InputError(f"tag: expected 1 to {MAX_TAG_LENGTH} printable characters without spaces, got {tag[:80]!a}")
    return tag


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
