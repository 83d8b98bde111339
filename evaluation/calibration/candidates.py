"""At which values of a threshold anything can change for the better."""

from dataclasses import dataclass

import numpy as np

from evaluation.calibration.replay import Bools, Floats, Ints

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Axis:
    """The m values to try of one threshold, ascending; `met` says how many of them each question reaches.

    `met` is m where nothing was measured: that refuses nothing.
    """

    name: str
    values: Floats
    met: Ints


def axis(name: str, signal: Floats, worse: Bools, present: float, most: int | None = None) -> Axis:
    """The values worth trying: the present one, and one just above each question that is better refused.

    Between two such questions no value is better than the lowest: it gives all that is right and no more
    that is wrong. So nothing is lost against trying every value, unless there are more than `most`; then
    those are kept that stand evenly among them.
    """
    values = np.unique(np.append(_above(signal, worse), present))
    if most is not None and len(values) > most:
        kept = np.unique(np.linspace(0, len(values) - 1, max(1, most - 1)).round().astype(np.int64))
        values = np.unique(np.append(values[kept], present))
    return fixed(name, signal, values)


def fixed(name: str, signal: Floats, values: Floats) -> Axis:
    """An axis of given values, ascending."""
    met = np.searchsorted(values, signal, side="right")
    return Axis(name, values, np.where(np.isnan(signal), len(values), met))


def _above(signal: Floats, worse: Bools) -> Floats:
    """In the middle of the gap above each value to be refused, and one below everything."""
    seen = np.unique(signal[~np.isnan(signal)])
    if len(seen) == 0:
        return np.empty(0)
    refusable = np.isin(seen, signal[worse])
    upper = np.append(seen[1:], 1.0)
    gaps = [(low, high) for low, high in zip(seen[refusable], upper[refusable], strict=True) if low < high]
    middles = [_between(float(low), float(high)) for low, high in gaps]
    return np.array([_between(0.0, float(seen[0])) if seen[0] > 0.0 else 0.0, *middles])


def _between(low: float, high: float) -> float:
    """A short number in (low, high], near the middle."""
    middle = 0.5 * (low + high)
    rounded = round(middle, _DECIMALS)
    if low < rounded <= high:
        return rounded
    return middle if low < middle else high
