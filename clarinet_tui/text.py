"""Numbers, times and foreign text as a person wants to read them on one line. Nothing here is slow to import."""

import itertools
import math
import unicodedata
from collections.abc import Sequence

SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def printable(text: str) -> str:
    """The text on one line, without the control and format characters that could steer a terminal."""
    if text.isprintable():
        return text
    signs = (" " if sign.isspace() else sign for sign in text)
    return "".join(sign for sign in signs if not unicodedata.category(sign).startswith("C"))


def fit_width(text: str, width: int) -> str:
    """Exactly that wide: filled with blanks, or cut with an ellipsis."""
    return f"{text if len(text) <= width else text[: width - 1] + '…':<{width}}"


def format_number(value: float, digits: int = 4) -> str:
    """A value as short as it can be read: 0.6931, 81.25, 12.5k, 3.1e-7."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e15:
        return format_exponent(value, digits - 2)
    if size < 10_000:
        return trim_zeros(f"{value:.{max(0, digits - 1 - math.floor(math.log10(size)))}f}")
    unit, suffix = next((unit, suffix) for unit, suffix in SUFFIXES if size >= unit)
    return trim_zeros(f"{value / unit:.{max(0, digits - 1 - math.floor(math.log10(size / unit)))}f}") + suffix


def format_exponent(value: float, decimals: int) -> str:
    """1.00e-05 as 1e-5."""
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{trim_zeros(mantissa)}e{int(exponent)}"


def trim_zeros(text: str) -> str:
    """A decimal number without the zeros that say nothing."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_duration(seconds: float) -> str:
    """Seconds as people say them: 45s, 1m30, 2h05, 3d04."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}"
    if whole < 86400:
        return f"{whole // 3600}h{whole % 3600 // 60:02d}"
    return f"{whole // 86400}d{whole % 86400 // 3600:02d}"


def format_age(seconds: float) -> str:
    """How long ago, in one unit."""
    for size, unit in ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} ago"
    return "now"


def format_count(number: int, of: str) -> str:
    """1 run, 2 runs."""
    return f"{number} {of}" if number == 1 else f"{number} {of}s"


def format_percent(value: float | None) -> str:
    """An accuracy with one decimal; a dash where it is not known."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.1f}"


def progress_bar(share: float, width: int) -> tuple[str, str]:
    """A progress bar in two parts: what is done, and what is left."""
    share = min(max(share, 0.0), 1.0) if math.isfinite(share) else 0.0
    halves = round(share * width * 2)
    done = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return done, "─" * (width - len(done))


def format_task(task: str | None) -> str:
    """M→U; of folders and files of one's own the last part, which is their name."""
    if not task:
        return "?"
    return "→".join(side.rstrip("/").rpartition("/")[2] or side for side in task.split("->"))


BARS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float], width: int) -> str:
    """The values from their least to their greatest; a dot where none is known."""
    if not len(values) or width < 1:
        return " " * width
    count = len(values)
    cuts = [place * count // width for place in range(width + 1)]
    means = [finite_mean(values[start : max(stop, start + 1)]) for start, stop in itertools.pairwise(cuts)]
    known = [value for value in means if math.isfinite(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    flat = high - low <= 1e-12 * max(abs(high), 1e-300)
    return "".join(
        "·" if math.isnan(value) else BARS[3 if flat else round((value - low) / (high - low) * 7)] for value in means
    )


def finite_mean(values: Sequence[float]) -> float:
    """Of what is known; NaN if nothing is."""
    known = [value for value in values if math.isfinite(value)]
    return sum(known) / len(known) if known else math.nan
