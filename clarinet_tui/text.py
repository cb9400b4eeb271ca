"""Numbers, times and foreign text as a person wants to read them on one line. Nothing here is slow to import."""

import math
import unicodedata

SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def printable(text: str) -> str:
    """The text on one line, without the control and format characters that could steer a terminal."""
    if text.isprintable():
        return text
    signs = (" " if sign.isspace() else sign for sign in text)
    return "".join(sign for sign in signs if not unicodedata.category(sign).startswith("C"))


def fitted(text: str, width: int) -> str:
    """Exactly that wide: filled with blanks, or cut with an ellipsis."""
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def number(value: float, digits: int = 4) -> str:
    """A value as short as it can be read: 0.6931, 81.25, 12.5k, 3.1e-7."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e15:
        return exponential(value, digits - 2)
    if size < 10_000:
        return trimmed(f"{value:.{max(0, digits - 1 - math.floor(math.log10(size)))}f}")
    unit, suffix = next((unit, suffix) for unit, suffix in SUFFIXES if size >= unit)
    return trimmed(f"{value / unit:.{max(0, digits - 1 - math.floor(math.log10(size / unit)))}f}") + suffix


def exponential(value: float, decimals: int) -> str:
    """1.00e-05 as 1e-5."""
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{trimmed(mantissa)}e{int(exponent)}"


def trimmed(text: str) -> str:
    """A decimal number without the zeros that say nothing."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def duration(seconds: float) -> str:
    """Seconds as people say them: 45s, 1m30, 2h05, 3d04."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 0:
        return f"-{duration(-seconds)}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}"


def ago(seconds: float) -> str:
    """How long ago, in one unit."""
    for size, unit in ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "now"


def counted(number: int, of: str) -> str:
    """1 run, 2 runs."""
    return f"{number} {of}" if number == 1 else f"{number} {of}s"


def percent(value: float | None) -> str:
    """An accuracy with one decimal; a dash where it is not known."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.1f}"


def bar(share: float, width: int) -> tuple[str, str]:
    """A progress bar in two parts: what is done, and what is left."""
    share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    halves = round(share * width * 2)
    done = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return done, "─" * (width - len(done))
