"""Standard output that never ends a program: encodings without a character, dead terminals, closed pipes."""

import codecs
import io
import sys
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

FALLBACK = "clarinet"
"""The name of the codec error handler."""
ASCII = (
    {"→": "->", "←": "<-", "↑": "^", "↓": "v", "–": "-", "—": "-", "−": "-", "…": "...", "×": "x", "·": "."}
    | {"•": "*", "●": "*", "±": "+-", "≥": ">=", "≤": "<=", "≠": "!=", "≈": "~", "∞": "inf", "✓": "ok", "✗": "x"}
    | {"°": "", "λ": "lambda", "σ": "sigma", "τ": "tau", "µ": "u", "“": '"', "”": '"', "‘": "'", "’": "'"}
    | {"\u2800": " ", **{chr(code): "*" for code in range(0x2801, 0x2900)}}  # Braille, which draws curves
    | dict(zip("▁▂▃▄▅▆▇█░▒▓", "_.,-=+*##%#", strict=True))
    | dict(zip("─━╸╺┈┄│┃┤├┼╎┬┴┌┐└┘╭╮╰╯", "-=--..||||+|++++++++++", strict=True))
)
"""What stands for a character where the encoding does not have it; others become a question mark."""


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(ASCII.get(character, "?") for character in error.object[error.start : error.end]), error.end


codecs.register_error(FALLBACK, _replace)


class _DroppingFile(io.FileIO):
    """Drops what cannot be written."""

    def write(self, data: "ReadableBuffer") -> int:
        try:
            return super().write(data)
        except OSError:
            return memoryview(data).nbytes


def replace_unencodable() -> None:
    """Make stdout and stderr write similar ASCII for characters that their encoding does not have."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=FALLBACK)


def drop_failed_writes() -> None:
    """Make stdout and stderr drop what cannot be written, so that a lost terminal does not end a training."""
    for name in ("stdout", "stderr"):
        stream: TextIO = getattr(sys, name)
        stream.flush()
        binary = io.BufferedWriter(_DroppingFile(stream.fileno(), "w", closefd=False))
        setattr(sys, name, io.TextIOWrapper(binary, stream.encoding, FALLBACK, line_buffering=True))


def replace_dead_streams() -> None:
    """Replace stdout and stderr if their terminal is gone: Python would end with code 120, as it cannot flush them."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except OSError:
            setattr(sys, name, io.StringIO())
