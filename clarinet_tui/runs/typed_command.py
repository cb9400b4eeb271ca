"""The command line by which a user created a run, recorded in its annotations."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from clarinet_tui.runs.run_files import ContentError, UnreadableFileError, open_file, parse_json

SECRET_OPTIONS = ("--on-alarm", "--on-end", "--notify")
"""Options whose value may contain a password or a secret address."""
HIDDEN = "..."
MAX_LINE = 1 << 16


class _Created(msgspec.Struct):
    command: str = ""


def typed_command(arguments: Sequence[str] | None = None) -> str:
    """Return the command line of this process without secrets; empty if it is not `clarinet`."""
    program, *words = arguments or sys.argv or [""]
    name = Path(program).name
    return shlex.join([name, *hide_secrets(words)]) if name == "clarinet" else ""


def hide_secrets(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with placeholders for the values of secret options."""
    shown: list[str] = []
    for word in words:
        option, equals, _ = word.partition("=")
        if shown and shown[-1] in SECRET_OPTIONS:
            shown.append(HIDDEN)
        else:
            shown.append(f"{option}={HIDDEN}" if equals and option in SECRET_OPTIONS else word)
    return shown


def read_typed_command(annotations: Path) -> str:
    """Return the command line in a run's annotations; empty if there is none or it cannot be read."""
    try:
        file = open_file(annotations)
        if file is None:
            return ""
        with file:
            created: _Created = parse_json(file.readline(MAX_LINE), _Created)
    except (UnreadableFileError, ContentError, OSError):
        return ""
    return created.command
