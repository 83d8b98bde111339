"""Intervals and paired tests over conversations.

The turns of a conversation share a photo and its history, so whole conversations are drawn, never turns (a
cluster bootstrap: Field & Welsh 2007). All is a function of its seed.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.scoring.measures import Floats, Measure, Valued, known, session_sums
from evaluation.scoring.scored import Scored

_CHUNK = 4_000_000  # drawn numbers held at once


@dataclass(frozen=True, slots=True)
class Interval:
    """From `low` to `high`; NaN where there is nothing to measure."""

    low: float
    high: float


UNKNOWN = Interval(math.nan, math.nan)


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


def bootstrap(
    scored: Sequence[Scored],
    statistic: Measure,
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """Percentile interval of the statistic over conversations drawn with replacement (Efron 1979)."""
    valued = known(statistic.values(scored))
    if not valued:
        return UNKNOWN
    rng = np.random.default_rng(seed)
    if statistic.quantile is not None:
        return _interval(_quantiles(valued, statistic.quantile, resamples, rng), level)
    sums, counts = session_sums(valued)
    return _interval(_means(sums, counts, statistic.by_session, resamples, rng), level)


def paired(
    a: Sequence[Scored],
    b: Sequence[Scored],
    statistic: Measure,
    *,
    resamples: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Paired:
    """`a` less `b` over the turns that both have, with interval and p-value; the statistic must be a mean.

    Raises `ValueError` for a percentile: what is exchanged by conversation must add up.
    """
    if statistic.quantile is not None:
        raise ValueError(f"{statistic.name} is no mean, so runs cannot be compared by it in pairs")
    ours, theirs = known(statistic.values(a)), known(statistic.values(b))
    differences = {unit: ours[unit] - theirs[unit] for unit in ours if unit in theirs}
    if not differences:
        return Paired(math.nan, UNKNOWN, math.nan, 0, 0)
    sums, counts = session_sums(differences)
    if statistic.by_session:
        sums, counts = sums / counts, np.ones_like(counts)
    rng = np.random.default_rng(seed)
    interval = _interval(_means(sums, counts, False, resamples, rng), level)
    return Paired(
        difference=float(sums.sum() / counts.sum()),
        interval=interval,
        p_value=sign_flip_p(sums, rng),
        sessions=len(sums),
        turns=len(differences),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for being several (Holm 1979), in their order; NaN stays."""
    order = sorted((p, index) for index, p in enumerate(p_values) if not math.isnan(p))
    corrected = list(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(order):
        highest = max(highest, min(1.0, p * (len(order) - rank)))
        corrected[index] = highest
    return corrected


def _means(
    sums: Floats, counts: Floats, by_session: bool, resamples: int, rng: np.random.Generator
) -> Floats:
    """The mean of each resample: over turns, or over conversations' means."""
    sessions = len(sums)
    if by_session:
        sums, counts = sums / counts, np.ones_like(counts)
    at_once = max(1, _CHUNK // sessions)
    drawn = []
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        chosen = rng.integers(0, sessions, size=(rows, sessions))
        drawn.append(sums[chosen].sum(axis=1) / counts[chosen].sum(axis=1))
    return np.concatenate(drawn)


def _quantiles(valued: Valued, share: float, resamples: int, rng: np.random.Generator) -> Floats:
    """The quantile of each resample: values are sorted once and count as often as their conversation came."""
    names = {session: index for index, session in enumerate(sorted({unit[:2] for unit in valued}))}
    ordered = sorted((value, names[unit[:2]]) for unit, value in valued.items())
    values = np.array([value for value, _ in ordered])
    owners = np.array([owner for _, owner in ordered])
    at_once = max(1, _CHUNK // len(values))
    drawn = []
    for start in range(0, resamples, at_once):
        rows = min(at_once, resamples - start)
        chosen = rng.integers(0, len(names), size=(rows, len(names)))
        times = np.stack([np.bincount(row, minlength=len(names)) for row in chosen])
        reached = times[:, owners].cumsum(axis=1)
        wanted = np.maximum(1, np.ceil(share * reached[:, -1:] - 1e-9))
        drawn.append(values[(reached < wanted).sum(axis=1)])
    return np.concatenate(drawn)


def _interval(drawn: Floats, level: float) -> Interval:
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


_MOST_STEPS = 200_000
_FEW = 16
_FLIPS = 20_000
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
