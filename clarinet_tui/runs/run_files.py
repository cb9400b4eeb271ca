"""The one reader of a run's files: regular files only, bounded in size, nesting and digits before they are parsed.

What cannot be read raises an error that names the file, the line if there is one, and the reason.
"""

import os
import re
import stat
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from core.errors import InputError

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


class UnreadableFileError(InputError):
    """A file of a run that cannot be read: other files and other runs are not affected."""

    def __init__(self, path: Path, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}: {'' if line is None else f'line {line}: '}{reason}")
        self.path, self.reason, self.line = path, reason, line


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


def file_version(path: Path) -> tuple[int, ...] | None:
    """Return numbers that change when a file is changed or replaced; None if there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


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
        raise UnreadableFileError(path, f"expected at most {_format_size(limit)}")
    return content


def read_json(path: Path, type_: Any = Any, limit: int = MAX_JSON_BYTES) -> Any:
    """Return the content of a JSON file; None if there is no file."""
    content = read_file(path, limit)
    if content is None:
        return None
    try:
        return parse_json(content, type_)
    except ContentError as error:
        raise UnreadableFileError(path, str(error)) from None


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


def _format_size(count: int) -> str:
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} KB"
