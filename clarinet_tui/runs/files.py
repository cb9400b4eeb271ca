"""Read, replace and append to the files of a runs directory: regular files only, never through a symbolic link.

What is read is bounded in size, nesting and digits before it is parsed. What cannot be read raises an error that names
the file, the line if there is one, and the reason.
"""

import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from core.errors import InputError
from core.files import OWN_FILE

Content = TypeVar("Content")
USER_FILE = 0o666
"""The mode of exports before the umask, which alone decides who may write them."""
MAX_DEPTH = 64
"""Levels of nested tables, arrays and dotted keys: TOML's parser needs quadratic memory for long dotted keys."""
MAX_JSON_BYTES = 16 << 20
_JSON_STRING = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\Z)', re.DOTALL)
_JSON_BRACKET = re.compile(rb"[\[\]{}]")
_TOML_TEXT = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:[^"\\\n]|\\.)*(?:"|\n|\Z)'
    r"|'[^'\n]*(?:'|\n|\Z)"
    r"|#[^\n]*",
    re.DOTALL,
)
"""Strings and comments, also those without an end, in which brackets and dots have no meaning."""
_TOML_BRACKET = re.compile(r"[\[\]{}]")
_TOML_SEPARATOR = re.compile(r"[=,{}\[\]\n]")


class StorageError(InputError):
    """The system refuses to write a file; see `errno`."""

    def __init__(self, path: Path, error: OSError) -> None:
        super().__init__(f"{path}: cannot be written: {error.strerror or error}")
        self.errno = error.errno


def open_append(path: Path, mode: int = OWN_FILE) -> int:
    """Return a descriptor that appends, and can be read as well."""
    with as_input_error(path):
        return os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, mode)


def set_aside(path: Path) -> Path:
    """Rename a damaged file, or anything else, to a free name beside it; return that name."""
    stem, count = f"{path.name}.damaged-{int(time.time())}", 1
    while (target := path.with_name(stem if count == 1 else f"{stem}.{count}")).exists():
        count += 1
    path.rename(target)
    return target


@contextmanager
def as_input_error(path: Path) -> Iterator[None]:
    """Raise a StorageError that names `path` instead of an OSError."""
    try:
        yield
    except OSError as error:
        raise StorageError(path, error) from error


def ends_mid_line(file: int) -> bool:
    """Return whether the last line has no line end."""
    size = os.fstat(file).st_size
    return size > 0 and os.pread(file, 1, size - 1) != b"\n"


def file_size(path: Path | str) -> int:
    """Return the size in bytes; 0 if there is no file."""
    try:
        return os.stat(path).st_size  # noqa: PTH116 - Path.stat is too slow for a list of thousands of runs
    except OSError:
        return 0


def modified_time(path: Path) -> float:
    """Return the Unix time of the last change; 0 if there is no file."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def append_line(path: Path, fields: dict[str, Any]) -> None:
    """Append a JSON object as one complete line or not at all, under a lock: several processes write to the file."""
    with as_input_error(path), os.fdopen(open_append(path), "ab", buffering=0) as stream:
        file = stream.fileno()
        fcntl.flock(file, fcntl.LOCK_EX)
        size = os.fstat(file).st_size
        rest = memoryview((b"\n" if ends_mid_line(file) else b"") + msgspec.json.encode(fields) + b"\n")
        try:
            while rest:
                rest = rest[os.write(file, rest) :]
        except OSError:
            os.ftruncate(file, size)
            raise
        os.fsync(file)


class UnreadableFileError(InputError):
    """A file of a run that cannot be read: other files and other runs are not affected."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.reason = reason


class ContentError(ValueError):
    """Content that is damaged or exceeds a limit; the message is the reason."""


def open_file(path: Path | str) -> BinaryIO | None:
    """Open a regular file; None if there is none. Links, named pipes, devices and directories are unreadable."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)  # a named pipe must not block
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = "is a symbolic link" if Path(path).is_symlink() else error.strerror or str(error)
        raise UnreadableFileError(Path(path), reason) from None
    if stat.S_ISREG(os.fstat(file).st_mode):
        return os.fdopen(file, "rb")
    os.close(file)
    raise UnreadableFileError(Path(path), "is not a regular file")


def read_file(path: Path, limit: int = MAX_JSON_BYTES) -> bytes | None:
    """Return the content of at most `limit` bytes; None if there is no file."""
    file = open_file(path)
    if file is None:
        return None
    with file:
        try:
            content = file.read(limit + 1)
        except OSError as error:
            raise UnreadableFileError(path, error.strerror or str(error)) from None
    if len(content) > limit:
        size = f"{limit >> 20} MB" if limit >= 1 << 20 else f"{limit >> 10} KB"
        raise UnreadableFileError(path, f"expected at most {size}")
    return content


def read_end(path: Path, size: int) -> bytes:
    """Return the last `size` bytes of a file; empty if there is none or it cannot be read."""
    with suppress(OSError, UnreadableFileError):
        if file := open_file(path):
            with file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - size))
                return file.read(size)
    return b""


def find_json(path: Path, type_: type[Content], limit: int = MAX_JSON_BYTES) -> Content | None:
    """Return the content of a JSON file; None if there is no file, or one that cannot be read."""
    with suppress(UnreadableFileError):
        return read_json(path, type_, limit)
    return None


def read_json(path: Path, type_: type[Content], limit: int = MAX_JSON_BYTES) -> Content | None:
    """Return the content of a JSON file; None if there is no file."""
    content = read_file(path, limit)
    if content is None:
        return None
    try:
        parsed: Content = parse_json(content, type_)
    except ContentError as error:
        raise UnreadableFileError(path, str(error)) from None
    return parsed


def parse_json(content: bytes, type_: Any = Any) -> Any:
    """Decode JSON; raise ContentError if it is damaged, nested too deeply, or has too many digits."""
    if content.count(b"[") + content.count(b"{") > MAX_DEPTH:
        _check_depth(bytes.join(b"", _JSON_BRACKET.findall(_JSON_STRING.sub(b"", content))).decode())
    try:
        return msgspec.json.decode(content, type=type_)
    except UnicodeDecodeError:
        raise ContentError("is not UTF-8") from None
    except msgspec.DecodeError as error:
        raise ContentError(str(error)) from None


def parse_toml(content: bytes) -> dict[str, Any]:
    """Decode TOML; raise ContentError if it is damaged, nested too deeply, or has too many digits."""
    import tomli

    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ContentError(f"line {line} is not UTF-8") from None
    structure = _TOML_TEXT.sub("", text)
    _check_depth("".join(_TOML_BRACKET.findall(structure)))
    if any(piece.count(".") >= MAX_DEPTH for piece in _TOML_SEPARATOR.split(structure)):
        raise ContentError("too deeply nested")
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise ContentError(str(error)) from None
    except ValueError:  # Python's limit on digits
        raise ContentError("contains a number that is too large") from None


def _check_depth(brackets: str) -> None:
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in "[{" else -1
        if depth > MAX_DEPTH:
            raise ContentError("too deeply nested")
