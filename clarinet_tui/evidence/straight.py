"""Iterations as places on another axis: straight lines between what is known, and on in both directions."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clarinet_tui.evidence.bands import Floats


def straight(iterations: "Floats", at: "Floats", places: "Floats") -> "Floats":
    """Known are `places` of the iterations `at`, in order. Nothing is known of more than one step before the first."""
    import numpy as np

    if at.size < 2:
        return np.full(iterations.shape, np.nan)
    steps = np.diff(places) / np.maximum(np.diff(at), 1.0)
    result = np.interp(iterations, at, places)
    result = np.where(iterations > at[-1], places[-1] + (iterations - at[-1]) * steps[-1], result)
    result = np.where(iterations < at[0], places[0] + (iterations - at[0]) * steps[0], result)
    return np.where(iterations < at[0] - (at[1] - at[0]), np.nan, result)
