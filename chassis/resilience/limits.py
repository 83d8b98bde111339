"""Limits of a dependency's concurrent calls, adapted to their durations."""

import math
import time

from chassis.resilience.deadlines import Clock

_FLOOR, _CEILING = 1.0, 64.0
_HEADROOM, _TOLERANCE, _SMOOTHING = 1.0, 2.0, 0.2
_LEAST_GRADIENT = 0.5
_SHORT = 0.2
"""Weight of the newest time in the short-term average: it remembers about ten."""
_LONG = 0.1
"""Weight of the newest time in the long-term one, of those few that count for it."""
_PROBING = 0.3
"""The same, while the limit is lowered in order to measure it."""
_PROBE_CALLS = 4
_STALE_AFTER = 25.0
_CALM = 0.25
_DROP = 0.7
_INFLATED = 2.0
_FORGET = 0.95
"""Gradient2's own: a long-term time of more than twice the short-term one loses 5 % with each call."""


class GradientLimit:
    """A concurrency limit that shrinks when calls take longer than they do on an idle dependency.

    Gradient2 of Netflix's concurrency-limits: `g = clamp(tolerance * long / short, 0.5, 1)`,
    `limit = 0.8 * limit + 0.2 * (g * limit + headroom)`, no change while less than half of it is used.
    Two things differ, because a GPU stage serves one to eight calls at once, not hundreds:

    - The headroom is 1, not 4: with g of 0.5 or more, the limit's lowest rest point is twice the headroom.
    - The long-term time is not an average of everything, which drifts up with a queue that lasts until there
      is no limit left. It is that of calls that were few, a quarter of the limit at most. When there were
      none for 25 short-term times, the limit falls to that quarter for four calls to measure it again (as
      BBR does for its round-trip time: Cardwell et al., ACM Queue 14(5), 2016). Were even they queued, the
      limit would come to rest lower than before, and the next measurement would be of fewer.

    Under load the limit rests near twice (`_TOLERANCE`) what the dependency works on at once.
    """

    def __init__(self, initial: float = 4.0, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._limit = initial
        self._short_s = 0.0
        self._long_s = 0.0
        self._measured_at = clock()
        self._probes_left = 0
        self._dropped_at = -math.inf

    @property
    def value(self) -> float:
        """Calls that may be under way at once."""
        return self._calm if self._probes_left else self._limit

    @property
    def _calm(self) -> float:
        """The number of calls at which none waits at the dependency."""
        return max(_FLOOR, self._limit * _CALM)

    def observe(self, seconds: float, in_flight: float) -> None:
        """A call took `seconds`, waits on our side left out; `in_flight` when it began, itself included."""
        if not (seconds >= 0 and math.isfinite(seconds)):
            return
        seconds = max(seconds, 1e-6)
        self._short_s = self._short_s + _SHORT * (seconds - self._short_s) if self._short_s else seconds
        now = self._clock()
        if not self._long_s:
            self._long_s = seconds
            self._measured_at = now
        elif in_flight <= self._calm:
            weight = _PROBING if self._probes_left else _LONG
            self._long_s += weight * (seconds - self._long_s)
            self._measured_at = now
            self._probes_left = max(0, self._probes_left - 1)
        elif self._long_s > _INFLATED * self._short_s:
            self._long_s *= _FORGET
        if now - self._measured_at >= _STALE_AFTER * self._short_s and not self._probes_left:
            self._probes_left = _PROBE_CALLS
        if in_flight < self._limit / 2:
            return
        gradient = min(1.0, max(_LEAST_GRADIENT, _TOLERANCE * self._long_s / self._short_s))
        aim = gradient * self._limit + _HEADROOM
        self._set(self._limit + _SMOOTHING * (aim - self._limit))

    def drop(self) -> None:
        """The dependency said that it has too much to do, or let a call's time run out.

        Those that were under way together say so together: it counts once in a usual call's time.
        """
        now = self._clock()
        if now - self._dropped_at >= max(self._short_s, self._long_s):
            self._dropped_at = now
            self._set(self._limit * _DROP)

    def _set(self, limit: float) -> None:
        self._limit = min(max(limit, _FLOOR), _CEILING)
