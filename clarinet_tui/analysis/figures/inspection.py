"""Figures of a run's model on its data: both domains in feature space, and calibration."""

import numpy as np

from clarinet_tui.analysis.figures.figure import Curve, Figure, Panel, PointCloud
from clarinet_tui.runs.inspection_file import CalibrationBins, FeatureMap


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
