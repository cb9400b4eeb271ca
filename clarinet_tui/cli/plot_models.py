"""Figures of `clarinet plot` for which a run's model is evaluated on its data."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from clarinet_tui.cli.output import show_progress
from core.errors import InputError

if TYPE_CHECKING:
    from clarinet_tui.analysis.figures.figure import Figure
    from clarinet_tui.models.inspection import Inspector

Projection = Literal["pca", "tsne", "umap"]
TITLES: dict[Projection, str] = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP"}


def features_figure(prefix: str, projection: Projection, runs_dir: Path, data_dir: Path) -> "Figure":
    """Both domains in feature space, projected as the user asks."""
    from clarinet_tui.analysis.figures import inspection as figures

    with _open(prefix, "features", runs_dir, data_dir) as inspector:
        maps = tuple(inspector.feature_maps(projection))
    figure = figures.features_figure(inspector.run.id, inspector.model.classes, maps, TITLES[projection])
    if len(maps) == 2 and inspector.model.info.run_config.warmup_epochs:
        missing = 'Train with checkpoints = "all" to see the features after the warm-up.'
        figure = replace(figure, notes=(*figure.notes, missing))
    return figure


def calibration_figure(prefix: str, runs_dir: Path, data_dir: Path) -> "Figure":
    """A reliability diagram on the target's test images."""
    from clarinet_tui.analysis.figures import inspection as figures

    with _open(prefix, "calibration", runs_dir, data_dir) as inspector:
        bins = inspector.calibration()
    return figures.calibration_figure(f"{inspector.model.info.run_config.method} {inspector.run.id}: ", bins)


@contextmanager
def _open(prefix: str, kind: str, runs_dir: Path, data_dir: Path) -> "Iterator[Inspector]":
    from clarinet_tui.models.inspection import Inspector
    from clarinet_tui.runs.directory import find_run

    if not prefix:
        raise InputError(f"plot {kind}: expected a run id: clarinet plot {kind} ID")
    with show_progress() as progress:
        yield Inspector.open(find_run(runs_dir, prefix), data_dir, progress)
