"""What a run's model makes of its own data: features of both domains, calibration, and pictures that it gets wrong."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from clarinet_tui.models.picture_choice import choose_pictures, spread
from clarinet_tui.models.run_models import kept_epochs, load_run_model, read_started
from clarinet_tui.runs.directory import RunDirectory
from clarinet_tui.runs.inspection_file import CalibrationBins, FeatureMap, Inspection
from core.data.images import ProgressCallback
from core.data.labels import label_hash
from core.data.load import load_task
from core.errors import InputError
from core.models.measures import measure_calibration, proxy_a_distance
from core.models.model import initial_model

Projection = Literal["pca", "tsne", "umap"]
MAX_IMAGES = 1000
"""Images of each domain: more points hide each other, and t-SNE takes minutes."""
IMAGES_AT_ONCE = 256


class Inspector:
    """A run's model and the data that it was trained on."""

    def __init__(self, run: RunDirectory, data_dir: Path, progress: ProgressCallback) -> None:
        self.run, self.model, self.progress = run, load_run_model(run), progress
        info = self.model.info
        config = msgspec.structs.replace(info.run_config, memory_limit_gb=64.0)  # whatever memory it takes
        self.data = data = load_task(config, data_dir, progress)
        # Figures of changed data would show other images. Older runs have recorded less about theirs.
        mask = data.source_train.ybar
        assert mask is not None, "load_task gives every source complementary labels"
        test_size = read_started(run).get("test_size")
        if data.classes != info.classes or data.shape != info.shape:
            raise InputError(f"task: the data of {config.task} has other classes or another size than in training")
        if info.label_hash not in ("", label_hash(mask)) or test_size not in (None, len(data.target_test)):
            raise InputError(f"task: images or labels of {config.task} have changed since training")

    def inspect(self) -> Inspection:
        """Return everything that the app and reports show."""
        target = self.data.target_test
        probabilities = self._probabilities(target.x)
        is_labelled = bool((target.y >= 0).any())
        return Inspection(
            epoch=self.model.info.epoch,
            classes=self.model.classes,
            pictures=tuple(choose_pictures(self.data, probabilities)),
            calibration=_bins(probabilities, target.y) if is_labelled else None,
            maps=tuple(self.feature_maps("pca")),
        )

    def feature_maps(self, projection: Projection) -> Iterator[FeatureMap]:
        """Yield maps of the start, of the end of the warm-up if its weights were kept, and of the end."""
        sets = (self.data.source_test or self.data.source_train, self.data.target_test)
        chosen = [spread(len(images), MAX_IMAGES) for images in sets]
        images = [images.x[rows] for images, rows in zip(sets, chosen, strict=True)]
        labels = [tuple(images.y[rows].tolist()) for images, rows in zip(sets, chosen, strict=True)]
        warmup, last = self.model.info.run_config.warmup_epochs, self.model.info.epoch
        moments = {"start": initial_model(self.model.info)}
        if warmup in kept_epochs(self.run):
            moments[f"warm-up, epoch {warmup}"] = load_run_model(self.run, warmup)
        moments[f"end, epoch {last}"] = self.model
        for title, moment in moments.items():
            self.progress(f"Features at the {title}", 0, 1)
            source, target = (moment.features(x) for x in images)
            plane = project(np.concatenate((source, target)), projection)
            points = tuple((float(x), float(y)) for x, y in plane)
            distance = proxy_a_distance(source, target)
            halves = points[: len(source)], points[len(source) :]
            yield FeatureMap(title, *halves, labels[0], labels[1], distance)

    def calibration(self) -> CalibrationBins:
        target = self.data.target_test
        if not (target.y >= 0).any():
            raise InputError(f"run {self.run.id}: its target has no labels, which calibration is measured with")
        return _bins(self._probabilities(target.x), target.y)

    def _probabilities(self, x: NDArray[np.uint8]) -> NDArray[np.float32]:
        parts = []
        for start in range(0, len(x), IMAGES_AT_ONCE):
            parts.append(self.model.probabilities(x[start : start + IMAGES_AT_ONCE]))
            self.progress("Evaluating target images", min(start + IMAGES_AT_ONCE, len(x)), len(x))
        return np.concatenate(parts)


def _bins(probabilities: NDArray[np.float32], y: NDArray[np.int64]) -> CalibrationBins:
    measured = measure_calibration(probabilities, y)
    filled = measured.counts > 0
    confidence, accuracy = (tuple(values[filled].tolist()) for values in (measured.confidence, measured.accuracy))
    return CalibrationBins(confidence, accuracy, int(measured.counts.sum()), measured.error)


def project(features: NDArray[np.float32], projection: Projection) -> NDArray[np.float64]:
    """Return (N, 2): the first two principal components, or a t-SNE or UMAP map, the same each time."""
    points = features.astype(np.float64)
    if projection == "pca":
        from sklearn.decomposition import PCA

        plane = PCA(2, random_state=0).fit_transform(points)
    elif projection == "tsne":
        from sklearn.manifold import TSNE

        perplexity = min(30.0, max(1.0, (len(points) - 1) / 3))
        plane = TSNE(perplexity=perplexity, init="pca", random_state=0).fit_transform(points)
    else:
        try:
            umap = importlib.import_module("umap")
        except ImportError:
            raise InputError("umap-learn is not installed: pip install 'clarinet-tui[features]'") from None
        plane = umap.UMAP(random_state=0, n_jobs=1).fit_transform(points)
    centred: NDArray[np.float64] = plane - plane.mean(axis=0)
    return centred
