"""Figures of `clarinet plot` for which a run's model is evaluated on its data."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.evidence.figures.figure import Figure

Projection = Literal["pca", "tsne", "umap"]
TITLES: dict[Projection, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}


def features_figure(prefix: str, projection: Projection, runs_dir: Path, data_dir: Path) -> "Figure":
    """Both domains in feature space at the start, after the warm-up if its weights were kept, and at the end."""
    from clarinet_tui.evidence.figures.figure import Figure, PointCloud
    from clarinet_tui.models.inspection import feature_maps
    from clarinet_tui.runs.directory import find_run

    run = find_run(runs_dir, _required(prefix, "features"))
    maps, model = feature_maps(run, data_dir, projection)
    panels = tuple(
        PointCloud(f"{m.title}: A {m.distance:.2f}", model.classes, m.source, m.target, m.source_y, m.target_y)
        for m in maps
    )
    notes = [
        f"{TITLES[projection]} of the features of G: run {run.id}, test images.",
        "A: proxy A-distance of all features, 0 if the domains cannot be told apart, 2 if always.",
    ]
    if len(maps) == 2 and model.info.run_config.warmup_epochs:
        notes.append('Train with checkpoints = "all" to see the features after the warm-up.')
    return Figure("features", "Feature space", panels, tuple(notes))


def calibration_figure(prefix: str, runs_dir: Path, data_dir: Path) -> "Figure":
    """A reliability diagram: accuracy against probability of the predicted class."""
    import numpy as np

    from clarinet_tui.evidence.figures.figure import Curve, Figure, Panel
    from clarinet_tui.models.inspection import target_calibration
    from clarinet_tui.runs.directory import find_run

    run = find_run(runs_dir, _required(prefix, "calibration"))
    calibration, model = target_calibration(run, data_dir)
    filled = calibration.counts > 0
    diagonal = np.array([0.0, 100.0])
    curves = (
        Curve("target test images", 0, 100 * calibration.confidence[filled], 100 * calibration.accuracy[filled]),
        Curve("calibrated", 7, diagonal, diagonal),
    )
    title = f"{model.info.run_config.method} {run.id}: ECE {100 * calibration.error:.1f} %"
    notes = (
        f"{int(calibration.counts.sum())} images in bins of 10 %; ECE is the expected calibration error.",
        "Below the diagonal, the model is surer than it is right.",
    )
    panel = Panel(title, "probability of the predicted class, %", "accuracy, %", curves)
    return Figure("calibration", "Calibration", (panel,), notes)


def _required(prefix: str, kind: str) -> str:
    if not prefix:
        raise InputError(f"plot {kind}: expected a run id: clarinet plot {kind} ID")
    return prefix
