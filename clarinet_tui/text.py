"""Format numbers, times, tasks and untrusted text for one line of output. Imports nothing slow."""

import itertools
import math
import os
import shlex
import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

SUFFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
GIB = 1 << 30
JOULES_PER_KWH = 3.6e6


def printable(text: str) -> str:
    """Return the text on one line, without control and format characters that could steer a terminal."""
    if text.isprintable():
        return text
    characters = (" " if character.isspace() else character for character in text)
    return "".join(character for character in characters if not unicodedata.category(character).startswith("C"))


def shell_command(*arguments: str, runs_dir: Path | str | None) -> str:
    """Return a command that can be pasted into a shell, with --runs-dir if it would not use this directory."""
    return shlex.join([*arguments, *directory_options(runs_dir)])


def directory_options(runs_dir: Path | str | None, data_dir: Path | str | None = None) -> list[str]:
    """Return --runs-dir and --data-dir with the directories that differ from the defaults; None is the default."""
    options: list[str] = []
    for name, path in (("runs", runs_dir), ("data", data_dir)):
        if path is not None and str(path) != (os.environ.get(f"CLARINET_{name.upper()}") or name):
            options += [f"--{name}-dir", str(path)]
    return options


def fit_width(text: str, width: int) -> str:
    """Pad the text with blanks, or cut it with an ellipsis, to exactly `width` characters."""
    return f"{shorten(text, width):<{width}}"


def fit_name(name: str, width: int) -> str:
    """Pad a variant's name, or cut it behind its first word: its end tells it apart from others."""
    if len(name) <= width:
        return f"{name:<{width}}"
    method = name.partition(" ")[0]
    end = width - len(method) - 2
    return f"{method} …{name[-end:]}" if end > 0 else shorten(name, width)


def shorten(text: str, width: int) -> str:
    """Cut the text to at most `width` characters, with an ellipsis where it was cut."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits: 0.6931, 81.25, 12.5k, 3.1e-7."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e15:
        return format_exponent(value, digits - 2)
    unit, suffix = (1.0, "") if size < 10_000 else next(pair for pair in SUFFIXES if size >= pair[0])
    return trim_zeros(f"{value / unit:.{max(0, digits - 1 - math.floor(math.log10(size / unit)))}f}") + suffix


def format_exponent(value: float, decimals: int) -> str:
    """Format a number in scientific notation: 1e-5 instead of 1.00e-05."""
    mantissa, _, exponent = f"{value:.{decimals}e}".partition("e")
    return f"{trim_zeros(mantissa)}e{int(exponent)}"


def trim_zeros(text: str) -> str:
    """Remove trailing zeros after a decimal point."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_count(count: int, noun: str) -> str:
    """Format a count with its noun: 1 run, 2 runs."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def format_seed(seed: int | None) -> str:
    """Return a run's seed; a question mark if its settings cannot be read."""
    return "?" if seed is None else str(seed)


def format_percent(value: float | None) -> str:
    """Format an accuracy with one decimal; a dash if it is unknown."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.1f}"


def format_mean(mean: float | None, std: float | None = None, decimals: int = 2, plus_minus: str = " ± ") -> str:
    """Format a mean and its standard deviation: 83.62 ± 0.91; a dash if there is no mean."""
    if mean is None:
        return "–"
    return f"{mean:.{decimals}f}" + ("" if std is None else f"{plus_minus}{std:.{decimals}f}")


def format_setting(value: object) -> str:
    """Format a setting as in TOML, but text without quotes; a dash if it is not set."""
    if value is None:
        return "–"
    if isinstance(value, float) and float(short := f"{value:g}") == value:
        return short
    return str(value).lower() if isinstance(value, bool) else '""' if value == "" else str(value)


def format_bytes(count: float) -> str:
    """Format a size in memory: 850 MiB, 1.2 GiB."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / (1 << 20):.0f} MiB"


def format_energy(joules: float) -> str:
    """Format an energy: 35 Wh, 1.25 kWh."""
    hours = joules / 3600
    return f"{hours / 1000:.2f} kWh" if hours >= 1000 else f"{hours:.0f} Wh" if hours >= 10 else f"{hours:.1f} Wh"


def format_memory(used: float | None, total: float | None) -> str:
    """Format used and total memory: 1.2/24.0 GiB; a question mark if either is unknown."""
    return "?" if used is None or total is None else f"{used / GIB:.1f}/{total / GIB:.1f} GiB"


def format_duration(seconds: float) -> str:
    """Format seconds in two units: 45s, 1m30, 2h05, 3d04."""
    if not math.isfinite(seconds):
        return "?"
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    whole = round(seconds)
    for size, unit, part in ((86400, "d", 3600), (3600, "h", 60), (60, "m", 1)):
        if whole >= size:
            return f"{whole // size}{unit}{whole % size // part:02d}"
    return f"{whole}s"


def format_age_of(timestamp: float, now: float) -> str:
    """Format how long ago a Unix time was, in one unit: 3m ago; a time of another clock may be in the future."""
    if not is_valid_time(timestamp):
        return "invalid"
    for size, unit in ((86400 * 365, "y"), (86400, "d"), (3600, "h"), (60, "m")):
        if now - timestamp >= size:
            return f"{int((now - timestamp) // size)}{unit} ago"
    return "now"


def is_valid_time(timestamp: float) -> bool:
    """Return whether a Unix time is between 1970 and 9999: that of a damaged file may be any number."""
    return 0 <= timestamp < 253402128000  # the last but one day that a date can have, in every time zone


def format_time(timestamp: float) -> str:
    """Format a Unix time as local date and time."""
    if not is_valid_time(timestamp):
        return "invalid time"
    return datetime.fromtimestamp(timestamp).strftime("%Y-%m-%d %H:%M")


def format_task(task: str | None) -> str:
    """Format a task as M→U; the user's own directories and files are named by their last component."""
    if not task:
        return "?"
    return "→".join(side.rstrip("/").rpartition("/")[2] or side for side in task.split("->"))


def progress_bar(fraction: float, width: int) -> tuple[str, str]:
    """Return the completed and the remaining part of a progress bar."""
    fraction = min(max(fraction, 0.0), 1.0) if math.isfinite(fraction) else 0.0
    halves = round(fraction * width * 2)
    done = "━" * (halves // 2) + ("╸" if halves % 2 else "")
    return done, "─" * (width - len(done))


def sparkline(values: Sequence[float], width: int, limits: tuple[float, float] | None = None) -> str:
    """Draw the values as a row of bars between limits, by default their own, with a dot where none is finite."""
    if not len(values) or width < 1:
        return " " * width
    edges = [cell * len(values) // width for cell in range(width + 1)]
    means = [finite_mean(values[start : max(stop, start + 1)]) for start, stop in itertools.pairwise(edges)]
    finite = [value for value in means if math.isfinite(value)]
    low, high = limits or (min(finite, default=0.0), max(finite, default=0.0))
    return "".join(_bar(value, low, high) for value in means)


def percent_bars(values: Sequence[float], size: int, width: int) -> str:
    """Draw means of `size` percentages as bars from 0 to 100, the last at the right; a dot where none is finite."""
    starts = range(len(values) - size, len(values) - size * (width + 1), -size)
    means = [finite_mean(values[max(start, 0) : start + size]) for start in starts if start + size > 0]
    return "".join(_bar(mean, 0.0, 100.0) for mean in means)[::-1].rjust(width)


def _bar(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return "·"
    is_flat = high - low <= 1e-12 * max(abs(high), 1e-300)
    return "▁▂▃▄▅▆▇█"[3 if is_flat else round(min(max((value - low) / (high - low), 0.0), 1.0) * 7)]


def finite_mean(values: Sequence[float]) -> float:
    """Return the mean of the finite values; NaN if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return sum(finite) / len(finite) if finite else math.nan
