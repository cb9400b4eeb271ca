"""Whose files these are: work runs only as the user who submitted it, and files of other users are data.

In a runs directory that several users can write, each has a queue, a supervisor, locks and a trash. The directory's
owner has the plain names, and other users have their uid in the name: `queue.json` and `queue.1001.json`.
"""

import os
import pwd
import re
from pathlib import Path

from core.errors import InputError

SAFE_VARIABLE = "CLARINET_SAFE_DIRECTORY"
"""Runs directories, separated by colons, whose files all count as one's own: for file systems without owners."""
READ_ONLY_VARIABLE = "CLARINET_READ_ONLY"
"""Set for an app that only watches: `clarinet serve --read-only`."""


def is_read_only() -> bool:
    return bool(os.environ.get(READ_ONLY_VARIABLE))


def find_owner(path: Path) -> int | None:
    """Return the uid that owns a file, and not what a symbolic link refers to; None if there is no such file."""
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def is_own(uid: int, runs_dir: Path) -> bool:
    """Return whether files of this uid in the runs directory are this user's."""
    safe = [Path(path).resolve() for path in os.environ.get(SAFE_VARIABLE, "").split(":") if path]
    return uid == os.geteuid() or runs_dir.resolve() in safe


def own_path(runs_dir: Path, name: str) -> Path:
    """Return the path of this user's file of a kind, such as `queue.json`.

    Raise InputError if another user has put one there: it could name processes to kill, or hold a lock for ever.
    """
    plain, named = runs_dir / name, runs_dir / f"{Path(name).stem}.{os.geteuid()}{Path(name).suffix}"
    # Looked at once: another process of this user may make the file meanwhile, and two processes need the same lock.
    plain_owner, named_owner = find_owner(plain), find_owner(named)
    for path, owner in ((plain, plain_owner), (named, named_owner)):
        if owner is not None and is_own(owner, runs_dir):
            return path
    directory_owner = find_owner(plain.parent.resolve())
    is_owner = directory_owner is None or is_own(directory_owner, runs_dir)
    if is_owner and plain_owner is None:
        return plain
    check_own_file(named, named_owner)
    return named


def directory_id(runs_dir: Path) -> int:
    """Return the inode of the runs directory, which a copy does not have."""
    return Path(runs_dir).stat().st_ino


def check_own_file(path: Path, uid: int | None) -> None:
    """Raise InputError if a file of a runs directory that has the name of this user's belongs to another one."""
    if uid is not None and not is_own(uid, path.parent):
        raise InputError(f"{path}: belongs to {user_name(uid)}, but has the name of your own file: remove it")


def list_paths(runs_dir: Path, name: str) -> list[Path]:
    """Return the files of this kind of all users."""
    stem, suffix = Path(name).stem, Path(name).suffix
    pattern = re.compile(rf"{re.escape(stem)}(\.\d{{1,10}})?{re.escape(suffix)}", re.ASCII)
    try:
        return sorted(path for path in runs_dir.iterdir() if pattern.fullmatch(path.name))
    except FileNotFoundError:
        return []


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"user {uid}"
