"""What cannot be read in a run's directory."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clarinet_tui.runs.directory import RUN_FILES, RunDirectory
from clarinet_tui.runs.files import ContentError, UnreadableFileError, open_file, parse_json, read_file, read_json
from clarinet_tui.runs.journal import parse_line, read_lines
from clarinet_tui.runs.lock import LockOwner
from core.errors import InputError

MAX_REASON = 200


class Problem(msgspec.Struct, frozen=True):
    """A file of a run, or one of its lines, that cannot be read."""

    file: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}: {'' if self.line is None else f'line {self.line}: '}{self.reason}"


def find_problems(run: RunDirectory) -> Iterator[Problem]:
    """Yield the problems of all files but the lines of the journal, which the history has."""
    for name in RUN_FILES:
        try:
            _check_file(run, name)
        except UnreadableFileError as error:
            yield Problem(name, error.reason[:MAX_REASON], error.line)
        except ContentError as error:
            yield Problem(name, str(error)[:MAX_REASON])
        except InputError as error:
            yield Problem(name, str(error).removeprefix(f"{run.path / name}: ")[:MAX_REASON])


def _check_file(run: RunDirectory, name: str) -> None:
    """Parse settings and JSON, and the annotations up to their first unreadable line; other files are only opened."""
    path = run.path / name
    if path == run.config:
        run.read_config()
    elif path in (run.environment, run.stage1):
        read_json(path, dict[str, Any])
    elif path == run.lock:
        if content := read_file(path, 1 << 16):  # an older, longer line may follow while the file is written
            parse_json(content.partition(b"\n")[0], LockOwner)
    elif file := open_file(path):
        with file:
            if path == run.annotations:
                for number, (_, _, line) in enumerate(read_lines(file), 1):
                    try:
                        parse_line(line, None)
                    except ContentError as error:
                        raise UnreadableFileError(path, str(error), number) from None
