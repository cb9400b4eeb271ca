"""A temporary database for a runs directory that cannot be written, such as one on a read-only mount."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from clarinet_tui.history.database import DATABASE_NAME, database_path


def temporary_database(runs_dir: Path) -> Path | None:
    """Return the path of a temporary database, removed at exit; None if the usual one can be written."""
    path = database_path(runs_dir)
    if not path.parent.is_dir() or os.access(path.parent, os.W_OK):
        return None
    folder = tempfile.mkdtemp(prefix="clarinet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder) / DATABASE_NAME
