"""What cannot be read in a run's directory."""

from collections.abc import Iterator
from typing import Any

import msgspec

from clarinet_tui.runs.directory import CONFIG, RunDirectory
from clarinet_tui.runs.files import ContentError, UnreadableFileError, open_file, parse_json, read_file, read_json
from clarinet_tui.runs.journal import parse_line, read_lines
from clarinet_tui.runs.lock import LockOwner
from core.errors import InputError

MAX_LOCK_BYTES = 1 << 16
MAX_REASON = 200


class Problem(msgspec.Struct, frozen=True):
    """A file of a run, or one of its lines, that cannot be read."""

    file: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}: {'' if self.line is None else f'line {self.line}: '}{self.reason}"


def find_problems(run: RunDirectory) -> list[Problem]:
    """Return the problems of all files but the lines of the journal, which the history has."""
    return [problem for check in (_check_config, _check_json, _check_lines, _check_kinds) for problem in check(run)]


def _check_config(run: RunDirectory) -> Iterator[Problem]:
    try:
        run.read_config()
    except InputError as error:
        yield Problem(CONFIG, str(error).removeprefix(f"{run.config}: ")[:MAX_REASON])


def _check_json(run: RunDirectory) -> Iterator[Problem]:
    types: dict[str, Any] = {"environment.json": dict[str, Any], "stage1.json": dict[str, Any]}
    for name, type_ in types.items():
        try:
            read_json(run.path / name, type_)
        except UnreadableFileError as error:
            yield Problem(name, error.reason[:MAX_REASON])
    try:
        content = read_file(run.lock, MAX_LOCK_BYTES)
        if content:  # an older, longer line may follow the first while the file is written
            parse_json(content.partition(b"\n")[0], LockOwner)
    except UnreadableFileError as error:
        yield Problem(run.lock.name, error.reason)
    except ContentError as error:
        yield Problem(run.lock.name, str(error)[:MAX_REASON])


def _check_lines(run: RunDirectory) -> Iterator[Problem]:
    """Check the annotations; only the first unreadable line is named."""
    try:
        file = open_file(run.annotations)
    except UnreadableFileError as error:
        yield Problem(run.annotations.name, error.reason)
        return
    if file is None:
        return
    with file:
        for number, (_, _, line) in enumerate(read_lines(file), 1):
            try:
                parse_line(line, None)
            except ContentError as error:
                yield Problem(run.annotations.name, str(error)[:MAX_REASON], number)
                return


def _check_kinds(run: RunDirectory) -> Iterator[Problem]:
    """Name links, pipes, devices and directories in place of the other files."""
    for path in (run.journal, run.log, run.pseudo_labels, run.checkpoint, run.checkpoint_previous, run.model):
        try:
            file = open_file(path)
        except UnreadableFileError as error:
            yield Problem(path.name, error.reason)
            continue
        if file is not None:
            file.close()
