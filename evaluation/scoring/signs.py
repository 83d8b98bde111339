"""The sign-flip test: whether differences are larger than exchanging the two sides at random makes them."""

import math

import numpy as np

from evaluation.scoring.measures import Floats

_MOST_STEPS = 200_000
_FEW = 16
_FLIPS = 20_000
_CHUNK = 4_000_000
_SLACK = 1e-9


def sign_flip_p(differences: Floats, rng: np.random.Generator) -> float:
    """Two-sided p-value of the sum, each difference's sign being as likely as the other (Fisher 1935).

    Exact where differences are whole or half points, as verdicts' are, or few; else by 20,000 random flips.
    """
    moved = np.abs(differences[differences != 0])
    if moved.size == 0:
        return 1.0
    observed = abs(float(differences.sum()))
    halves = moved * 2
    if np.all(halves == np.round(halves)) and halves.sum() <= _MOST_STEPS:
        return _by_counting(halves.astype(np.int64), observed * 2)
    if moved.size <= _FEW:
        signs = 1 - 2 * ((np.arange(2**moved.size)[:, None] >> np.arange(moved.size)) & 1)
        return float((np.abs(signs @ moved) >= observed * (1 - _SLACK)).mean())
    return _by_chance(moved, observed, rng)


def _by_counting(steps: "np.ndarray[tuple[int], np.dtype[np.int64]]", observed: float) -> float:
    """The whole distribution of the signed sum, one difference after the other."""
    reach = int(steps.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in steps:
        moved = np.zeros_like(chances)
        moved[step:] += chances[:-step] / 2
        moved[:-step] += chances[step:] / 2
        chances = moved
    sums = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, math.fsum(chances[sums >= observed]))


def _by_chance(moved: Floats, observed: float, rng: np.random.Generator) -> float:
    at_once = max(1, _CHUNK // moved.size)
    hits = 0
    for start in range(0, _FLIPS, at_once):
        rows = min(at_once, _FLIPS - start)
        signs = rng.integers(0, 2, size=(rows, moved.size)) * 2 - 1
        hits += int((np.abs(signs @ moved) >= observed * (1 - _SLACK)).sum())
    return (hits + 1) / (_FLIPS + 1)
