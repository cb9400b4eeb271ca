"""Measures of a trained model: its calibration, and how far the domains are apart in its features."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError


@dataclass(frozen=True, eq=False)
class Calibration:
    """Means over bins of equal width in the probability of the predicted class; NaN where a bin is empty."""

    confidence: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    counts: NDArray[np.int64]

    @property
    def error(self) -> float:
        """The expected calibration error (Guo et al. 2017): the mean distance, weighted by the bins' sizes."""
        filled = self.counts > 0
        distances = np.abs(self.confidence[filled] - self.accuracy[filled])
        return float(np.average(distances, weights=self.counts[filled]))


def measure_calibration(probabilities: NDArray[np.float32], y: NDArray[np.int64], bins: int = 10) -> Calibration:
    """Bin the images whose class is known, of which there is at least one."""
    known = y >= 0
    confidence = probabilities[known].max(axis=1).astype(np.float64)
    is_right = probabilities[known].argmax(axis=1) == y[known]
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(bin_of, values, bins) / counts for values in (confidence, is_right)]
    return Calibration(means[0], means[1], counts)


Features = NDArray[np.float32]


def proxy_a_distance(source: Features, target: Features, seed: int = 0) -> float:
    """Return 2(1 - 2ε) of Ben-David et al. 2007, where ε is the error on held-out images: 0 alike, 2 apart.

    Of the larger domain, rows are taken evenly: images of folders are sorted by class.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    count = min(len(source), len(target))
    if count < 2:
        raise InputError("proxy A-distance: needs two images or more of each domain")
    x = np.concatenate([features[np.arange(count) * len(features) // count] for features in (source, target)])
    domain = np.repeat((0, 1), count)
    halves = train_test_split(x, domain, test_size=0.5, random_state=seed, stratify=domain)
    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
    error = 1 - classifier.fit(halves[0], halves[2]).score(halves[1], halves[3])
    return float(2 * (1 - 2 * min(error, 0.5)))
