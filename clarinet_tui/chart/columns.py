"""Bins points into dot columns, smooths them, and computes the range that a line covers in each column."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.scales import Scale
from clarinet_tui.chart.series import Flags, Floats, Line

Places = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Columns:
    """One value for each dot column; NaN where the line has none.

    `before` and `after` are the nearest points outside the x range (position in columns, value), so that a line
    without a point inside it is still drawn.
    """

    low: Floats
    high: Floats
    mean: Floats
    missing: Flags
    above: Flags
    below: Flags
    before: tuple[float, float] | None = None
    after: tuple[float, float] | None = None


def bin_line(line: Line, window: tuple[float, float], count: int) -> Columns:
    """Bin the line's points within the window into `count` columns."""
    start, stop = window
    width = (stop - start) / max(count - 1, 1)
    edges = start + (np.arange(count + 1) - 0.5) * width
    cuts = np.searchsorted(line.x, edges)
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])
    first, last = int(cuts[0]), int(cuts[-1])
    starts = cuts[:-1][filled] - first
    low, high, mean = (values[first:last] for values in (line.low, line.high, line.mean))
    above = below = np.zeros(count, dtype=np.bool_)
    if line.infinite:
        above, below = (_any(filled, starts, flags, count) for flags in (high == np.inf, low == -np.inf))
        low, high, mean = (np.where(np.isinf(values), np.nan, values) for values in (low, high, mean))
    known = ~np.isnan(mean)
    total, number = (
        _reduce(filled, starts, np.add, values, count) for values in (np.where(known, mean, 0.0), known * 1.0)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = np.where(number > 0, total / number, np.nan)
    return Columns(
        low=_reduce(filled, starts, np.fmin, low, count),
        high=_reduce(filled, starts, np.fmax, high, count),
        mean=middle,
        missing=_any(filled, starts, line.missing[first:last] > 0, count),
        above=above,
        below=below,
        before=_point(line, first - 1, start, width),
        after=_point(line, last, start, width),
    )


def bin_band(x: Floats, low: Floats, high: Floats, window: tuple[float, float], count: int) -> tuple[Floats, Floats]:
    """Bin the edges of a band into `count` columns, with linear interpolation between points."""
    start, stop = window
    width = (stop - start) / max(count - 1, 1)
    grid = start + np.arange(count) * width
    if not x.size:
        return np.full(count, np.nan), np.full(count, np.nan)
    cuts = np.searchsorted(x, start + (np.arange(count + 1) - 0.5) * width)
    filled = np.flatnonzero(cuts[1:] > cuts[:-1])
    part, starts = slice(int(cuts[0]), int(cuts[-1])), cuts[:-1][filled] - cuts[0]
    lower, upper = (np.interp(grid, x, edge, np.nan, np.nan) for edge in (low, high))
    return (
        np.fmin(lower, _reduce(filled, starts, np.fmin, low[part], count)),
        np.fmax(upper, _reduce(filled, starts, np.fmax, high[part], count)),
    )


def _reduce(filled: Places, starts: Places, reduce: np.ufunc, values: Floats, count: int) -> Floats:
    """Reduce the values of each filled column; NaN for the others."""
    result = np.full(count, np.nan)
    if filled.size:
        result[filled] = reduce.reduceat(values, starts)
    return result


def _any(filled: Places, starts: Places, flags: Flags, count: int) -> Flags:
    result = np.zeros(count, dtype=np.bool_)
    if filled.size:
        result[filled] = np.logical_or.reduceat(flags, starts)
    return result


def _point(line: Line, index: int, start: float, width: float) -> tuple[float, float] | None:
    """Return a point outside the window, or None if it has no value."""
    if not 0 <= index < line.x.size or not np.isfinite(line.mean[index]):
        return None
    return float((line.x[index] - start) / width), float(line.mean[index])


def smooth(columns: Columns, length: float) -> Columns:
    """Replace the mean by an exponential moving average with a time constant of `length` columns; gaps stay gaps.

    Weights depend on the distance along x, not on the number of points, so dense and sparse lines are smoothed alike.
    """
    known = ~np.isnan(columns.mean)
    if length <= 0 or not known.any():
        return columns
    size = columns.mean.size
    kernel = np.exp(-np.arange(min(int(np.ceil(6 * length)) + 1, size)) / length)
    weighted = np.convolve(np.where(known, columns.mean, 0.0), kernel)[:size]
    weights = np.convolve(known * 1.0, kernel)[:size]
    mean = np.full(size, np.nan)
    mean[known] = weighted[known] / weights[known]
    return replace(columns, low=mean, high=mean, mean=mean, before=None, after=None)


def drop_columns(columns: Columns, count: int) -> Columns:
    """Remove the first `count` columns, which only served the smoothing."""
    if not count:
        return columns
    cut = {name: getattr(columns, name)[count:] for name in ("low", "high", "mean", "missing", "above", "below")}
    before, after = (point and (point[0] - count, point[1]) for point in (columns.before, columns.after))
    earlier = np.flatnonzero(~np.isnan(columns.mean[:count]))
    if earlier.size:
        before = float(earlier[-1] - count), float(columns.mean[earlier[-1]])
    return replace(columns, **cut, before=before, after=after)


def to_heights(columns: Columns, scale: Scale) -> Columns:
    """Transform the columns to heights of the scale; values that it cannot show are flagged as below."""
    if scale.name == "linear":
        return columns
    low, high, mean = (scale.heights(values) for values in (columns.low, columns.high, columns.mean))
    below = columns.below | np.isneginf(low)
    low, high, mean = (np.where(np.isneginf(values), np.nan, values) for values in (low, high, mean))
    anchors = [point and (point[0], scale.height(point[1])) for point in (columns.before, columns.after)]
    before, after = (point if point and np.isfinite(point[1]) else None for point in anchors)
    # Where the scale can show the highest value but not the mean, draw the line at the highest value.
    low, mean = (np.where(np.isnan(values), high, values) for values in (low, mean))
    return replace(columns, low=low, high=high, mean=mean, below=below, before=before, after=after)


def ink_spans(columns: Columns) -> tuple[Floats, Floats]:
    """Return the lowest and highest height that the line covers in each column.

    A column covers its own range and half of the segment to each neighbour, so that a steep line has no holes. No
    segment is drawn across a column whose values are all missing.
    """
    count = columns.mean.size
    known = np.flatnonzero(~np.isnan(columns.mean))
    positions, values = known.astype(np.float64), columns.mean[known]
    if columns.before:
        positions, values = np.r_[columns.before[0], positions], np.r_[columns.before[1], values]
    if columns.after:
        positions, values = np.r_[positions, columns.after[0]], np.r_[values, columns.after[1]]
    if not positions.size:
        return columns.low, columns.high
    empty = np.isnan(columns.mean) & (columns.missing | columns.above | columns.below)
    breaks = np.r_[0, np.cumsum(empty)]
    low, high = columns.low, columns.high
    grid = np.arange(count, dtype=np.float64)
    for shift in (-0.5, 0.0, 0.5):
        at = grid + shift
        right = np.clip(np.searchsorted(positions, at), 1, max(positions.size - 1, 1))
        left = right - 1
        ends = np.clip(positions[[left, np.minimum(right, positions.size - 1)]] + 1, 0, count).astype(np.intp)
        connected = (breaks[ends[0]] == breaks[ends[1]]) & (at >= positions[0]) & (at <= positions[-1])
        segment = np.where(connected, np.interp(at, positions, values), np.nan)
        low, high = np.fmin(low, segment), np.fmax(high, segment)
    return low, high
