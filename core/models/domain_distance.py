"""How well a linear classifier separates the domains in feature space."""

import numpy as np
from numpy.typing import NDArray

from core.errors import InputError

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
