"""The content of a figure, before it is rendered by matplotlib or in a terminal, and the figures of a run's model."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clarinet_tui.chart.curve import Curve, Floats
from clarinet_tui.runs.inspection_file import CalibrationBins, FeatureMap

METHOD_ORDER = (
    *("clarinet", "gac+cdan-e", "gac+dann", "gac+dan", "basset", "fwd+basset", "fwd+basset-kept", "gac"),
    *("clarinet-no-t", "clarinet-ce", "cdan-e", "source-only"),
)
"""Methods with a fixed colour and marker in every figure; the first eight, often compared, differ in colour."""


@dataclass(frozen=True, eq=False)
class FigureCurve(Curve):
    """One method in a panel: its mean, the band around it if it is filled, and its single runs."""

    colour_index: int = 0
    members: tuple[Curve, ...] = ()
    published: float | None = None
    """The published mean."""


@dataclass(frozen=True, eq=False)
class Panel:
    title: str
    x_name: str
    y_name: str
    curves: tuple[FigureCurve, ...]
    has_error_bars: bool = False
    """Show points with error bars instead of curves with bands."""
    x_ticks: Mapping[float, str] | None = None
    """The labels of the x axis, by their x; round numbers if it is None."""


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


@dataclass(frozen=True)
class HeatMap:
    """A mean for each pair of values of two settings; None where there is none."""

    title: str
    x_name: str
    y_name: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    means: tuple[tuple[float | None, ...], ...]

    @property
    def shares(self) -> list[list[float]]:
        """Where each mean lies between the least and the greatest one; 0 where there is none."""
        known = [mean for row in self.means for mean in row if mean is not None]
        low, high = min(known, default=0.0), max(known, default=1.0)
        span = high - low or 1.0
        return [[0.0 if mean is None else 0.1 + 0.9 * (mean - low) / span for mean in row] for row in self.means]


@dataclass(frozen=True, eq=False)
class PointCloud:
    """Points of two domains in a plane, coloured by class (-1 where unknown)."""

    title: str
    classes: tuple[str, ...]
    source: Floats
    target: Floats
    source_y: NDArray[np.int64]
    target_y: NDArray[np.int64]

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """The lower left and the upper right corner of all points."""
        points = np.concatenate((self.source, self.target))
        return points.min(axis=0), points.max(axis=0)


AnyPanel = Panel | ConfusionMatrix | HeatMap | PointCloud


@dataclass(frozen=True, eq=False)
class Figure:
    name: str
    title: str
    panels: tuple[AnyPanel, ...]
    notes: tuple[str, ...] = ()
    columns: int = 3
    """Maximum number of panels in a row."""


def colour_indices(variants: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Assign colours to variants, given as method and name: the first of a known method has its fixed colour."""
    first: dict[str, str] = {}
    names = {name: first.setdefault(method, name) == name and method for method, name in variants}
    known = {name: METHOD_ORDER.index(method) for name, method in names.items() if method in METHOD_ORDER}
    free = (index for index in count() if index not in known.values())
    return {name: known[name] if name in known else next(free) for name in names}


def class_curves(rows: Sequence[Mapping[str, Any]], names: Sequence[str]) -> tuple[FigureCurve, ...]:
    """Return the accuracy of each class in percent at these evaluations; a gap for a class without images."""
    epochs = np.array([row["epoch"] for row in rows], dtype=np.float64)
    matrices = np.array([row["confusion"] for row in rows], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        shares = 100 * np.diagonal(matrices, axis1=1, axis2=2) / matrices.sum(axis=2)
    return tuple(
        FigureCurve.through(epochs, shares[:, index], name=name, colour_index=index) for index, name in enumerate(names)
    )


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
        FigureCurve.through(
            100 * np.array(bins.confidence), 100 * np.array(bins.accuracy), name="target test images", colour_index=0
        ),
        FigureCurve.through(diagonal, diagonal, name="calibrated", colour_index=7),
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
    panels: list[dict[str, Any]] = []
    for panel in figure.panels:
        if isinstance(panel, PointCloud):
            arrays = {name: getattr(panel, name).tolist() for name in ("source", "target", "source_y", "target_y")}
            panels.append({"title": panel.title, "classes": panel.classes, **arrays})
        elif isinstance(panel, ConfusionMatrix | HeatMap):
            panels.append(vars(panel))
        else:
            curves = [
                {
                    "label": curve.name,
                    "x": _numbers(curve.x),
                    "y": _numbers(curve.mean),
                    "low": _numbers(curve.low) if curve.filled else None,
                    "high": _numbers(curve.high) if curve.filled else None,
                    "runs": [{"x": _numbers(member.x), "y": _numbers(member.mean)} for member in curve.members],
                    "published": curve.published,
                }
                for curve in panel.curves
            ]
            panels.append({"title": panel.title, "x": panel.x_name, "y": panel.y_name, "lines": curves})
    return {"figure": figure.name, "title": figure.title, "notes": list(figure.notes), "panels": panels}


def _numbers(values: Floats) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]
