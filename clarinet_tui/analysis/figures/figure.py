"""The content of a figure, before it is rendered by matplotlib or in a terminal, and the figures of a run's model."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from clarinet_tui.runs.inspection_file import CalibrationBins, FeatureMap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from clarinet_tui.analysis.bands import Floats, Points

METHOD_ORDER = (
    *("clarinet", "gac+cdan-e", "gac+dann", "gac+dan", "basset", "fwd+basset", "fwd+basset-kept", "gac"),
    *("clarinet-no-t", "clarinet-ce", "cdan-e", "source-only"),
)
"""Methods with a fixed colour and marker in every figure; the first eight, often compared, differ in colour."""


@dataclass(frozen=True, eq=False)
class Curve:
    """One method in a panel: its mean, the band around it, and its single runs."""

    label: str
    colour_index: int
    """Index of colour and marker in the palette."""
    x: "Floats"
    y: "Floats"
    low: "Floats | None" = None
    high: "Floats | None" = None
    members: "tuple[Points, ...]" = ()
    published: float | None = None
    """The published mean."""


@dataclass(frozen=True, eq=False)
class Panel:
    title: str
    x_name: str
    y_name: str
    curves: tuple[Curve, ...]
    has_error_bars: bool = False
    """Show points with error bars instead of curves with bands."""


@dataclass(frozen=True)
class ConfusionMatrix:
    """A row for each true class, a column for each predicted one."""

    title: str
    classes: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def shares(self) -> list[list[float]]:
        """Shares of each true class."""
        return [[count / max(sum(row), 1) for count in row] for row in self.counts]


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points of two domains in a plane, coloured by class (-1 where unknown)."""

    title: str
    classes: tuple[str, ...]
    source: "NDArray[np.float64]"
    target: "NDArray[np.float64]"
    source_y: "NDArray[np.int64]"
    target_y: "NDArray[np.int64]"

    @property
    def limits(self) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
        """The lower left and the upper right corner of all points."""
        points = np.concatenate((self.source, self.target))
        return points.min(axis=0), points.max(axis=0)


AnyPanel = Panel | ConfusionMatrix | PointCloud


@dataclass(frozen=True, eq=False)
class Figure:
    name: str
    title: str
    panels: tuple[AnyPanel, ...]
    notes: tuple[str, ...] = ()
    columns: int = 3
    """Maximum number of panels in a row."""


def colour_indices(methods: Iterable[str]) -> dict[str, int]:
    """Assign colours: fixed ones to known methods, and to others, in order, those that no method here has."""
    names = dict.fromkeys(methods)
    known = {method: METHOD_ORDER.index(method) for method in names if method in METHOD_ORDER}
    free = (index for index in count() if index not in known.values())
    return {method: known[method] if method in known else next(free) for method in names}


def features_figure(run: str, classes: tuple[str, ...], maps: tuple[FeatureMap, ...], projection: str) -> Figure:
    """Both domains in feature space at the start, after the warm-up if its weights were kept, and at the end."""
    panels = tuple(
        PointCloud(
            f"{one.title}: A {one.distance:.2f}",
            classes,
            np.array(one.source),
            np.array(one.target),
            np.array(one.source_y),
            np.array(one.target_y),
        )
        for one in maps
    )
    notes = (
        f"{projection} of the features of G: run {run}, test images.",
        "A: proxy A-distance of all features, 0 if the domains cannot be separated, 2 if always.",
    )
    return Figure("features", "Feature space", panels, notes)


def calibration_figure(title: str, bins: CalibrationBins) -> Figure:
    """A reliability diagram: accuracy against probability of the predicted class."""
    diagonal = np.array([0.0, 100.0])
    curves = (
        Curve("target test images", 0, 100 * np.array(bins.confidence), 100 * np.array(bins.accuracy)),
        Curve("calibrated", 7, diagonal, diagonal),
    )
    notes = (
        f"{bins.count} images in bins of 10 %; ECE is the expected calibration error.",
        "Below the diagonal, the model is surer than it is right.",
    )
    panel = Panel(
        f"{title}ECE {100 * bins.error:.1f} %", "probability of the predicted class, %", "accuracy, %", curves
    )
    return Figure("calibration", "Calibration", (panel,), notes)


def figure_object(figure: Figure) -> dict[str, Any]:
    """Return all numbers of a figure as JSON types; None is a gap."""
    panels = [_panel_object(panel) for panel in figure.panels]
    return {"figure": figure.name, "title": figure.title, "notes": list(figure.notes), "panels": panels}


def _panel_object(panel: AnyPanel) -> dict[str, Any]:
    if isinstance(panel, PointCloud):
        arrays = {name: getattr(panel, name).tolist() for name in ("source", "target", "source_y", "target_y")}
        return {"title": panel.title, "classes": panel.classes, **arrays}
    return _panel(panel) if isinstance(panel, Panel) else vars(panel)


def _panel(panel: Panel) -> dict[str, Any]:
    return {"title": panel.title, "x": panel.x_name, "y": panel.y_name, "lines": list(map(_curve, panel.curves))}


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "label": curve.label,
        "x": _numbers(curve.x),
        "y": _numbers(curve.y),
        "low": None if curve.low is None else _numbers(curve.low),
        "high": None if curve.high is None else _numbers(curve.high),
        "runs": [{"x": _numbers(x), "y": _numbers(y)} for x, y in curve.members],
        "published": curve.published,
    }


def _numbers(values: "Floats") -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
