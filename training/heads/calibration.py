"""Calibration of probabilities: expected calibration error beside the area under risk and coverage."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from evaluation.scoring.measures import aurc

Matrix = NDArray[np.float64]

BINS = 10


def calibration_error(right: Matrix, probability: Matrix) -> float:
    """Return the expected calibration error (Naeini et al. 2015) of ten bins of equal width.

    `right` (n,) of 0 and 1, `probability` (n,).
    """
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    return float(np.abs(np.bincount(bins, probability - right)).sum() / len(right))


def figures_of(named: Mapping[str, tuple[Matrix, Matrix]]) -> dict[str, dict[str, float]]:
    """Figures by name, of whether it was right (n,) and of the probability that was said (n,)."""
    return {
        name: {"aurc": round(aurc(*each), 4), "calibration_error": round(calibration_error(*each), 4)}
        for name, each in named.items()
    }
