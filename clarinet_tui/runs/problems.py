"""What cannot be read in a run's directory."""

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from clarinet_tui.runs.directory import ANNOTATIONS, CONFIG, RUN_FILES, RunDirectory
from clarinet_tui.runs.files import ContentError, open_file, parse_json, read_file, read_json
from clarinet_tui.runs.journal import parse_line, read_lines
from clarinet_tui.runs.lock import LockOwner
from core.errors import InputError

MAX_REASON = 200


def find_problems(run: RunDirectory) -> Iterator[tuple[str, str]]:
    """Yield each file that cannot be read, and why; the history has the lines of the journal."""
    present = {CONFIG}
    with suppress(OSError):
        present.update(entry.name for entry in os.scandir(run.path))
    for name in RUN_FILES:
        if name not in present:
            continue
        try:
            _check_file(run, name)
        except (InputError, ContentError) as error:
            yield name, str(error).removeprefix(f"{run.path / name}: ")[:MAX_REASON]


def _check_file(run: RunDirectory, name: str) -> None:
    """Parse settings and JSON, and the annotations up to their first unreadable line; other files are only opened."""
    path = run.path / name
    match name:
        case "config.toml":
            run.read_config()
        case "environment.json" | "stage1.json":
            read_json(path, dict[str, Any])
        case "lock":
            if content := read_file(path, 1 << 16):  # an older, longer line may follow while the file is written
                parse_json(content.partition(b"\n")[0], LockOwner)
        case _ if file := open_file(path):
            with file:
                for number, (_, _, line) in enumerate(read_lines(file) if name == ANNOTATIONS else (), 1):
                    try:
                        parse_line(line, None)
                    except ContentError as error:
                        raise ContentError(f"line {number}: {error}") from None
