"""Choose thresholds on a replayed run: the best truthfulness, or the loosest under a ceiling on mistakes.

Conformal risk control (Angelopoulos et al., ICLR 2024, theorem 1) bounds the mean risk over all calibrations.
It assumes that conversations to come are like those that were calibrated with. The loss of a conversation is
the share of its questions that is answered wrongly; what is bounded is the mean over conversations, which is
not the share of all questions where long ones are worse.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import differential_evolution

from evaluation.calibration.replay import (
    ANSWER,
    REPLAYED,
    ROUTER,
    Bools,
    CalibrationError,
    Cutoffs,
    Floats,
    Signals,
    by_conversation,
    replay,
    signal_under,
)

_DECIMALS = 4
_SAME = 1e-12
_STEPS = 100
_MOST_DISTANCE = len(REPLAYED)


def best_cutoffs(signals: Signals, present: Cutoffs) -> Cutoffs:
    """Return the thresholds of the best truthfulness.

    Ties go to the fewest wrong answers, then to the nearest to the present thresholds. The router's stay as
    they are if any draft was given at once. The search is seeded: the same run gives the same thresholds.
    """
    names = [name for name in REPLAYED if name not in ROUTER or not signals.went_direct.any()]
    grid = {name: values for name in names if len(values := candidates(signals, name, present, present)) > 1}
    best = present
    if len(grid) > 1:  # of one alone every value is tried below

        def at(places: Sequence[float]) -> Cutoffs:
            values = zip(grid.items(), places, strict=True)
            return replace(present, **{name: every[int(place)] for (name, every), place in values})

        result = differential_evolution(
            lambda places: _cost(signals, at(places), present),
            [(0, len(values) - 1) for values in grid.values()],
            x0=[int(np.searchsorted(values, getattr(present, name))) for name, values in grid.items()],
            integrality=[True] * len(grid),
            rng=0,
            polish=False,
            popsize=20,
            maxiter=120,
            tol=1e-8,
        )
        best = at(result.x)
    return _one_by_one(signals, best, present, names)


def _one_by_one(signals: Signals, start: Cutoffs, present: Cutoffs, names: Sequence[str]) -> Cutoffs:
    """Try every value of each threshold by itself until nothing gets better."""
    best, cost = start, _cost(signals, start, present)
    better = True
    while better:
        better = False
        for name in names:
            for value in candidates(signals, name, best, present):
                moved = replace(best, **{name: value})
                if (lower := _cost(signals, moved, present)) < cost:
                    best, cost, better = moved, lower, True
    return best


def _cost(signals: Signals, cutoffs: Cutoffs, present: Cutoffs) -> float:
    """Return the points lost. A wrong answer adds less than half a point, the distance less than that."""
    points = replay(signals, cutoffs)
    wrong = np.count_nonzero(points < 0.0)
    ties = wrong + 0.9 * cutoffs.distance(present) / _MOST_DISTANCE
    return float(-points.sum() + 0.4 * ties / (len(points) + 1))


def candidates(signals: Signals, name: str, cutoffs: Cutoffs, present: Cutoffs) -> list[float]:
    """Return the values worth trying: the present one, and one just above each answer better withheld.

    Between two such answers no value is better than the lowest: it gives all that is right and no more that
    is wrong.
    """
    signal = signal_under(signals, name, cutoffs)
    worse = signals.draft < np.nan_to_num(signals.proposed) if name in ROUTER else signals.proposed < 0.0
    return sorted({*_above(signal, worse), getattr(present, name)})


def _above(signal: Floats, worse: Bools) -> list[float]:
    """Return a cutoff in the middle of the gap above each value to be refused, and one below all values."""
    seen = np.unique(signal[~np.isnan(signal)])
    if len(seen) == 0:
        return []
    refusable = np.isin(seen, signal[worse])
    upper = np.append(seen[1:], 1.0)
    gaps = [(low, high) for low, high in zip(seen[refusable], upper[refusable], strict=True) if low < high]
    lowest = _between(0.0, float(seen[0])) if seen[0] > 0.0 else 0.0
    return [lowest, *(_between(float(low), float(high)) for low, high in gaps)]


def _between(low: float, high: float) -> float:
    """Return a short number in (low, high], near the middle."""
    middle = 0.5 * (low + high)
    rounded = round(middle, _DECIMALS)
    if low < rounded <= high:
        return rounded
    return middle if low < middle else high


def through(present: Cutoffs) -> list[Cutoffs]:
    """Return settings from all thresholds of the answer at 0, through the present ones, to all at 1.

    Along the way nothing is given that was withheld before. The router's thresholds stay: a draft that is not
    given at once is not withheld, it goes the whole way.
    """
    now = {name: getattr(present, name) for name in ANSWER}
    shares = np.linspace(0.0, 1.0, _STEPS + 1)
    loose = [{name: value * share for name, value in now.items()} for share in shares]
    strict = [{name: value + (1.0 - value) * share for name, value in now.items()} for share in shares[1:]]
    steps = ({name: round(value, 4) for name, value in step.items()} for step in (*loose, *strict))
    return [replace(present, **step) for step in steps]


def loosest_below(ceiling: float, signals: Signals, path: Sequence[Cutoffs]) -> Cutoffs:
    """Return the loosest thresholds of a path, from loose to strict, that keep the `ceiling` (0..1).

    Raises `CalibrationError`: too few conversations, or too many wrong answers even at the strict end.
    """
    fewest = math.ceil(1.0 / ceiling - 1.0 - _SAME)
    about = f"A ceiling of {100 * ceiling:g} %"
    if signals.sessions < fewest:
        raise CalibrationError(
            f"{about} takes at least {fewest} conversations to calibrate with; there are {signals.sessions}."
        )
    chosen = None
    for cutoffs in reversed(path):
        lost = losses(signals, cutoffs)
        if float(lost.sum() + 1.0) / (len(lost) + 1.0) > ceiling + _SAME:
            break
        chosen = cutoffs
    if chosen is None:
        left = float(losses(signals, path[-1]).mean())
        raise CalibrationError(
            f"{about} cannot be promised from these answers: "
            f"even the strictest thresholds break it ({100 * left:.1f} % wrong)."
        )
    return chosen


def losses(signals: Signals, cutoffs: Cutoffs) -> Floats:
    sums, counts = by_conversation(signals, replay(signals, cutoffs) < 0.0)
    return sums / counts
