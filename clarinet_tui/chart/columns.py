"""Bins points into dot columns, smooths them, and computes the range that a line covers in each column."""

from dataclasses import dataclass, replace

import numpy as np

from clarinet_tui.chart.curve import Curve, Flags, Floats
from clarinet_tui.chart.scales import Scale


@dataclass(frozen=True, eq=False)
class Columns:
    """One value for each dot column; NaN where the line has none."""

    low: Floats
    high: Floats
    mean: Floats
    missing: Flags
    above: Flags
    below: Flags
    before: tuple[float, float] | None = None
    after: tuple[float, float] | None = None
    """The nearest points outside the x range (column, value): a line without a point inside it is still drawn."""


class _Bins:
    """Assigns the points x within a window to columns of equal width."""

    def __init__(self, x: Floats, window: tuple[float, float], count: int) -> None:
        self.start, self.count = window[0], count
        self.width = (window[1] - window[0]) / max(count - 1, 1)
        cuts = np.searchsorted(x, self.start + (np.arange(count + 1) - 0.5) * self.width)
        self.points = slice(int(cuts[0]), int(cuts[-1]))
        self.filled = np.flatnonzero(cuts[1:] > cuts[:-1])
        self.firsts = cuts[:-1][self.filled] - cuts[0]

    def reduce(self, function: np.ufunc, values: Floats | Flags) -> Floats:
        """Reduce the values of each column; NaN for columns without points."""
        result = np.full(self.count, np.nan)
        if self.filled.size:
            result[self.filled] = function.reduceat(values, self.firsts)
        return result

    def any(self, flags: Flags) -> Flags:
        return np.equal(self.reduce(np.logical_or, flags), 1)


def bin_curve(curve: Curve, window: tuple[float, float], count: int) -> Columns:
    """Bin the curve's points within the window into `count` columns."""
    bins = _Bins(curve.x, window, count)
    low, high, mean = (values[bins.points] for values in (curve.low, curve.high, curve.mean))
    above = below = np.zeros(count, dtype=np.bool_)
    if curve.infinite:
        above, below = bins.any(high == np.inf), bins.any(low == -np.inf)
        low, high, mean = (np.where(np.isinf(values), np.nan, values) for values in (low, high, mean))
    known = ~np.isnan(mean)
    total, number = bins.reduce(np.add, np.where(known, mean, 0.0)), bins.reduce(np.add, known * 1.0)
    return Columns(
        low=bins.reduce(np.fmin, low),
        high=bins.reduce(np.fmax, high),
        mean=np.where(number > 0, total / np.fmax(number, 1.0), np.nan),
        missing=bins.any(curve.missing[bins.points] > 0),
        above=above,
        below=below,
        before=_point(curve, bins.points.start - 1, bins),
        after=_point(curve, bins.points.stop, bins),
    )


def bin_band(band: Curve, window: tuple[float, float], count: int) -> tuple[Floats, Floats]:
    """Bin the edges of a band into `count` columns, with linear interpolation between points."""
    if not band.x.size:
        return np.full(count, np.nan), np.full(count, np.nan)
    bins = _Bins(band.x, window, count)
    grid = bins.start + np.arange(count) * bins.width
    low, high = (np.interp(grid, band.x, edge, np.nan, np.nan) for edge in (band.low, band.high))
    return (
        np.fmin(low, bins.reduce(np.fmin, band.low[bins.points])),
        np.fmax(high, bins.reduce(np.fmax, band.high[bins.points])),
    )


def _point(curve: Curve, index: int, bins: _Bins) -> tuple[float, float] | None:
    """Return the column and value of a point outside the window, or None if it has no value."""
    if not 0 <= index < curve.x.size or not np.isfinite(curve.mean[index]):
        return None
    return float((curve.x[index] - bins.start) / bins.width), float(curve.mean[index])


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


def covered_spans(columns: Columns) -> tuple[Floats, Floats]:
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
