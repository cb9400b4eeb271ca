"""What is decided among the candidates of a pool: without torch, from recorded numbers and predictions."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Probabilities = NDArray[np.float32] | NDArray[np.float64]

LEAST_SHARE = 0.5
"""Of the greatest possible information, log K, that the predictions of a model have if it has not collapsed."""


def is_informative(information: float, classes: int, least_share: float = LEAST_SHARE) -> bool:
    """Return whether IM is at least `least_share` of log K; False for NaN.

    It tells collapsed models and guesses from others, and nothing more: a model can be certain, balanced and wrong.
    """
    return information >= least_share * math.log(classes)


def behind_gate(criterion: float, information: float, classes: int) -> float:
    """Return a criterion that is maximised, such as SND, or -inf if the model is not informative."""
    return criterion if is_informative(information, classes) else -math.inf


def ensemble_agreement(
    predictions: Sequence[Probabilities], eligible: Sequence[bool] | None = None
) -> NDArray[np.float64]:
    """EnsV of each candidate, higher is better: the share of images where argmax p_m = argmax p̄.

    p̄ is the mean of p over the eligible candidates; the others have -inf. Most of a pool can fail alike and elect their
    own failure: let only those be eligible that are informative.

    Hu, Luo, Liang and Foo 2024, Towards Reliable Model Selection for Unsupervised Domain Adaptation: An Empirical Study
    and A Certified Baseline.

    Args:
        predictions: (N, K) of each candidate, on the same images; read twice, so that they can be memmaps.
        eligible: Whether each candidate may be chosen; by default all may.

    Returns:
        A number for each candidate. All eligible ones have NaN if a probability of one of them is not finite.
    """
    chosen = [True] * len(predictions) if eligible is None else list(eligible)
    if len(chosen) != len(predictions):
        raise ValueError(f"expected {len(predictions)} values in eligible, got {len(chosen)}")
    scores = np.full(len(chosen), -math.inf)
    members = [index for index, is_chosen in enumerate(chosen) if is_chosen]
    if not members:
        return scores
    total = np.zeros(predictions[members[0]].shape)
    for index in members:
        if predictions[index].shape != total.shape:
            raise ValueError(f"candidate {index}: expected predictions of shape {total.shape}")
        total += predictions[index]
    if not np.isfinite(total).all():
        scores[members] = math.nan
        return scores
    elected = total.argmax(axis=1)
    for index in members:
        scores[index] = np.mean(predictions[index].argmax(axis=1) == elected)
    return scores
