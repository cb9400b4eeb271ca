"""What a run's model makes of its own data: features of both domains, and calibration on the target."""

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from clarinet_tui.models.run_models import kept_epochs, load_run_model
from clarinet_tui.runs.directory import RunDirectory
from core.data.load import load_task
from core.data.task_data import TaskData
from core.errors import InputError
from core.models.calibration import Calibration, measure_calibration
from core.models.domain_distance import proxy_a_distance
from core.models.initial_model import initial_model
from core.models.model import Model

Projection = Literal["pca", "tsne", "umap"]
MAX_IMAGES = 1000
"""Images of each domain: more points hide each other, and t-SNE takes minutes."""


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """The features of both domains at one moment of training, projected to a plane."""

    title: str
    source: NDArray[np.float64]
    target: NDArray[np.float64]
    source_y: NDArray[np.int64]
    target_y: NDArray[np.int64]
    distance: float
    """The proxy A-distance of all features, not of the projection."""


def feature_maps(run: RunDirectory, data_dir: Path, projection: Projection) -> tuple[list[FeatureMap], Model]:
    """Return maps of the start, of the end of the warm-up if its weights were kept, and of the end; and the model."""
    model = load_run_model(run)
    data = _load_data(model, data_dir)
    sets = (data.source_test or data.source_train, data.target_test)
    chosen = [_spread(len(images)) for images in sets]
    images = [images.x[rows] for images, rows in zip(sets, chosen, strict=True)]
    labels = [images.y[rows] for images, rows in zip(sets, chosen, strict=True)]
    maps = []
    for title, moment in _moments(run, model):
        source, target = (moment.features(x) for x in images)
        plane = project(np.concatenate((source, target)), projection)
        distance = proxy_a_distance(source, target)
        maps.append(FeatureMap(title, plane[: len(source)], plane[len(source) :], labels[0], labels[1], distance))
    return maps, model


def target_calibration(run: RunDirectory, data_dir: Path) -> tuple[Calibration, Model]:
    model = load_run_model(run)
    target = _load_data(model, data_dir).target_test
    if not (target.y >= 0).any():
        raise InputError(f"run {run.id}: its target has no labels, which calibration is measured with")
    return measure_calibration(model.probabilities(target.x), target.y), model


def project(features: NDArray[np.float32], projection: Projection) -> NDArray[np.float64]:
    """Return (N, 2): the first two principal components, or a t-SNE or UMAP map, the same each time."""
    plane = {"pca": _pca, "tsne": _tsne, "umap": _umap}[projection](features.astype(np.float64))
    centred: NDArray[np.float64] = plane - plane.mean(axis=0)
    return centred


def _pca(features: NDArray[np.float64]) -> Any:
    from sklearn.decomposition import PCA

    return PCA(2, random_state=0).fit_transform(features)


def _tsne(features: NDArray[np.float64]) -> Any:
    from sklearn.manifold import TSNE

    perplexity = min(30.0, max(1.0, (len(features) - 1) / 3))
    return TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(features)


def _umap(features: NDArray[np.float64]) -> Any:
    try:
        umap = importlib.import_module("umap")
    except ImportError:
        raise InputError("umap-learn is not installed: pip install 'clarinet-tui[features]'") from None
    return umap.UMAP(random_state=0, n_jobs=1).fit_transform(features)


def _moments(run: RunDirectory, model: Model) -> Iterator[tuple[str, Model]]:
    warmup = model.info.run_config.warmup_epochs
    yield "start", initial_model(model.info)
    if warmup in kept_epochs(run):
        yield f"warm-up, epoch {warmup}", load_run_model(run, warmup)
    yield f"end, epoch {model.info.epoch}", model


def _load_data(model: Model, data_dir: Path) -> TaskData:
    """Load the run's data as in training; images that differ from the recorded ones are refused."""
    config = msgspec.structs.replace(model.info.run_config, memory_limit_gb=64.0)
    data = load_task(config, data_dir)
    if data.classes != model.info.classes or data.shape != model.info.shape:
        raise InputError(f"task: the data of {config.task} has other classes or another size than in training")
    return data


def _spread(count: int) -> NDArray[np.int64]:
    """Return at most MAX_IMAGES rows, evenly spread."""
    return np.unique(np.linspace(0, count - 1, min(count, MAX_IMAGES)).astype(np.int64))
