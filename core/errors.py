"""Errors that a user can act on, and every other exception as one line of text."""

import errno

DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The errno values of a full disk, an exhausted quota and a file size limit."""


class ClarinetError(Exception):
    """The base class of Clarinet's own errors; the message is one sentence for the user.

    Line ends and other unprintable characters of quoted input are escaped, so that the message stays on one line.
    """

    def __init__(self, message: str) -> None:
        escaped = (char if char.isprintable() else char.encode("unicode_escape").decode() for char in message)
        super().__init__("".join(escaped))


class InputError(ClarinetError):
    """Wrong input: names the place and what to do; the command line ends with exit code 2."""


def describe_error(error: BaseException) -> str:
    """Return an exception as one line: our own message, or the class and message of any other."""
    if isinstance(error, ClarinetError):
        return str(error)
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
