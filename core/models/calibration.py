"""How well the probabilities of predictions match how often they are right."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BINS = 10


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


def measure_calibration(probabilities: NDArray[np.float32], y: NDArray[np.int64], bins: int = BINS) -> Calibration:
    """Bin the images whose class is known, of which there is at least one."""
    known = y >= 0
    confidence = probabilities[known].max(axis=1).astype(np.float64)
    is_right = probabilities[known].argmax(axis=1) == y[known]
    bin_of = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    counts = np.bincount(bin_of, minlength=bins)
    with np.errstate(invalid="ignore"):
        means = [np.bincount(bin_of, values, bins) / counts for values in (confidence, is_right)]
    return Calibration(means[0], means[1], counts)
