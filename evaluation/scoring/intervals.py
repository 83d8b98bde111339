"""Intervals and paired tests over conversations.

The turns of a conversation share a photo and its history, so whole conversations are drawn, never turns (a
cluster bootstrap: Field & Welsh 2007). The draws are seeded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.scoring.measures import Floats, Measure, Sampled, ratio, session_sums, without_unknown
from evaluation.scoring.protocols import Scored

RESAMPLES = 2000
_CHUNK = 4_000_000  # drawn numbers held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; NaN where there is nothing to measure."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval, and of how many turns it is; NaN where there is nothing to measure."""

    value: float
    low: float
    high: float
    turns: int


@dataclass(frozen=True, slots=True)
class Paired:
    """Two runs on the questions that both have. `difference`: the first's figure less the second's.

    `p_value`: how often so large a difference, either way, comes of exchanging the two at random,
    conversation by conversation.
    """

    difference: float
    interval: Interval
    p_value: float
    sessions: int
    turns: int


def estimate(scored: Sequence[Scored], measure: Measure) -> Estimate:
    """Return a measure with its 95 % interval."""
    sampled = measure.sampled(scored)
    interval = _interval(sampled) if sampled.turns else UNKNOWN
    return Estimate(sampled.value, interval.low, interval.high, sampled.turns)


def mean_interval(sums: Floats, counts: Floats) -> Interval:
    """Return the 95 % interval of a mean over turns, from each conversation's sum and number of turns."""
    return _interval(Sampled((sums, counts), ratio, len(sums)))


def _interval(sampled: Sampled) -> Interval:
    """Return the percentile interval (Efron 1979); a single conversation has no spread."""
    from scipy import stats

    if len(sampled.samples[0]) == 1:
        return Interval(sampled.value, sampled.value)
    interval = stats.bootstrap(
        sampled.samples,
        sampled.statistic,
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=max(1, _CHUNK // sampled.turns),
        method="percentile",
        rng=0,
    ).confidence_interval
    return Interval(float(interval.low), float(interval.high))


def compare_pairs(a: Sequence[Scored], b: Sequence[Scored], measure: Measure) -> Paired:
    """Compare `a` with `b` over the turns that both have; the measure is a mean of points over turns."""
    ours, theirs = without_unknown(measure.values(a)), without_unknown(measure.values(b))
    differences = {unit: ours[unit] - theirs[unit] for unit in ours if unit in theirs}
    if not differences:
        return Paired(math.nan, UNKNOWN, math.nan, 0, 0)
    sums, counts = session_sums(differences)
    return Paired(
        difference=float(sums.sum() / counts.sum()),
        interval=mean_interval(sums, counts),
        p_value=sign_flip_p(sums),
        sessions=len(sums),
        turns=len(differences),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for multiple tests (Holm 1979), in order; NaN stays."""
    order = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    corrected = list(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[index] = highest
    return corrected


def sign_flip_p(differences: Floats) -> float:
    """Return the exact two-sided p-value of the sum, each difference's sign being as likely as the other.

    Differences are whole or half points, so the distribution of the signed sum is counted (Fisher 1935).
    """
    halves = np.abs(np.round(differences * 2)).astype(np.int64)
    reach = int(halves.sum())
    chances = np.zeros(2 * reach + 1)
    chances[reach] = 1.0
    for step in halves[halves > 0]:
        chances = (np.roll(chances, step) + np.roll(chances, -step)) / 2  # nothing lies near the ends yet
    sums = np.abs(np.arange(-reach, reach + 1))
    return min(1.0, math.fsum(chances[sums >= abs(float(differences.sum())) * 2]))
