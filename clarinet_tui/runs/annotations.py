"""annotations.jsonl: the command line that created the run, its tags and its note."""

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from clarinet_tui.runs.files import ContentError, UnreadableFileError, append_line, open_file, parse_json
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.runs.directory import RunDirectory

SECRET_OPTIONS = ("--on-alarm", "--on-end", "--notify")
"""Options whose value may contain a password or a secret address."""
HIDDEN = "..."
MAX_LINE = 1 << 16
MAX_TAG_LENGTH = 64
MAX_NOTE_LENGTH = 10_000


class _Created(msgspec.Struct):
    command: str = ""


def creating_command() -> str:
    """Return the command line of this process with placeholders for secrets; empty if it is not `clarinet`."""
    program, *words = sys.argv or [""]
    shown = [Path(program).name]
    for word in words:
        option, equals, _ = word.partition("=")
        if shown[-1] in SECRET_OPTIONS:
            shown.append(HIDDEN)
        else:
            shown.append(f"{option}={HIDDEN}" if equals and option in SECRET_OPTIONS else word)
    return shlex.join(shown) if shown[0] == "clarinet" else ""


def read_creating_command(run: "RunDirectory") -> str:
    """Return the command line in a run's annotations; empty if there is none or it cannot be read."""
    try:
        file = open_file(run.annotations)
        if file is None:
            return ""
        with file:
            created: _Created = parse_json(file.readline(MAX_LINE), _Created)
    except (UnreadableFileError, ContentError, OSError):
        return ""
    return created.command


def add_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    append_line(run.annotations, {"event": "tagged", "tag": validate_tag(tag), "time": now()})


def remove_tag(run: "RunDirectory", tag: str, now: Callable[[], float] = time.time) -> None:
    append_line(run.annotations, {"event": "untagged", "tag": validate_tag(tag), "time": now()})


def set_note(run: "RunDirectory", note: str, now: Callable[[], float] = time.time) -> None:
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
