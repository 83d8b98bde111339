"""A histogram of recent values, of bounded size and bounded relative error.

Logarithmic buckets (DDSketch: Masson, Rim and Lee, VLDB 2019) that forget by forward decay (Cormode et al.,
ICDE 2009): newer values weigh more, so no older one has to be touched.
"""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate

LEAST, MOST = 1e-5, 1e4
"""Values outside count as the nearest of the two."""

_ERROR = 0.025
_GAMMA = (1 + _ERROR) / (1 - _ERROR)
_LOG_GAMMA = math.log(_GAMMA)
_LARGEST_WEIGHT = 2.0**40


class DecayedHistogram:
    """A value that was added `half_life` ago counts half. `now` is any clock: seconds, or values so far.

    Quantiles are within 2.5 % of a value that was added. Not safe between threads.
    """

    __slots__ = ("_buckets", "_half_life", "_origin", "_total")

    def __init__(self, half_life: float) -> None:
        self._half_life = half_life
        self._buckets: dict[int, float] = {}
        self._total = 0.0
        self._origin = 0.0

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was added yet, or all of it was cleared."""
        return not self._total

    def add(self, value: float, now: float) -> None:
        """Count one more."""
        if self.is_empty:
            self._origin = now
        weight = self._growth(now)
        if weight > _LARGEST_WEIGHT:
            self._start_again_from(now, weight)
            weight = 1.0
        bucket = bucket_of(value)
        self._buckets[bucket] = self._buckets.get(bucket, 0.0) + weight
        self._total += weight

    def weight(self, now: float) -> float:
        """Return the sum of the decayed weights."""
        return self._total / self._growth(now) if self._total else 0.0

    def clear(self) -> None:
        """Forget everything."""
        self._buckets, self._total = {}, 0.0

    def quantiles(
        self, shares: Sequence[float], prior: Mapping[int, float] | None = None, prior_share: float = 0.0
    ) -> list[float]:
        """The values below which these shares lie; infinite where nothing is known.

        `prior`: masses of buckets (see `bucket_of`), 1 in all, that count for `prior_share` of everything.
        """
        masses = self._buckets.copy()
        if prior is not None:
            mass = self._total * prior_share / (1 - prior_share) if self._total else 1.0
            for bucket, part in prior.items():
                masses[bucket] = masses.get(bucket, 0.0) + part * mass
        if not masses:
            return [math.inf] * len(shares)
        buckets = sorted(masses)
        reached = list(accumulate(map(masses.__getitem__, buckets)))
        return [value_of(buckets[bisect_left(reached, share * reached[-1])]) for share in shares]

    def _growth(self, now: float) -> float:
        """The weight of a value added at `now`, where one added at the origin weighs 1."""
        return math.pow(2.0, min((now - self._origin) / self._half_life, 1_000.0))

    def _start_again_from(self, now: float, weight: float) -> None:
        """Move the origin to `now`; what has become negligible is dropped."""
        self._buckets = {at: held / weight for at, held in self._buckets.items() if held > weight * 1e-6}
        self._total, self._origin = sum(self._buckets.values()), now


def bucket_of(value: float) -> int:
    """The number of the value's bucket."""
    return math.ceil(math.log(min(max(value, LEAST), MOST)) / _LOG_GAMMA)


def value_of(bucket: int) -> float:
    """The value that is within the relative error of all in the bucket."""
    return 2 * float(_GAMMA**bucket) / (_GAMMA + 1)
