"""Temporary files and directories that killed processes have left behind."""

import os
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from clarinet_tui.runs.directory import STAGED

LEFTOVER_AGE = 3600.0
"""Seconds after which a temporary file is a leftover: it is renamed or removed within moments."""
TEMPORARY = re.compile(rf"{re.escape(STAGED)}\d+-[0-9a-f]+|\.(queue|slurm)(\.\d+)?\.json\.\d+", re.ASCII)


def remove_leftovers(runs_dir: Path, now: Callable[[], float] = time.time) -> list[str]:
    """Remove this user's leftovers from a runs directory; return their names."""
    removed = []
    for path in [path for path in runs_dir.iterdir() if TEMPORARY.fullmatch(path.name)]:
        with suppress(OSError):  # it may have been renamed meanwhile
            status = path.lstat()
            if status.st_uid != os.geteuid() or now() - status.st_mtime < LEFTOVER_AGE:
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            removed.append(path.name)
    return removed
