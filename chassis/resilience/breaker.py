"""A circuit breaker for calls that keep failing, and a budget for retries."""

import random
import time
from dataclasses import dataclass
from enum import StrEnum

from chassis.resilience.deadlines import Clock


class BreakerState(StrEnum):
    """The state of a breaker, as the next call meets it."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


@dataclass(frozen=True, slots=True)
class Permit:
    """Leave to make one call. `period`: between two changes of state; `probe`: its number, 0 for none."""

    period: int
    probe: int = 0


class Breaker:
    """`failures` in a row open it; after `open_s` one probe at a time finds out whether to close it.

    Nygard, "Release It!" (2nd ed., ch. 5, Circuit Breaker). Waits do not grow with each failed probe, so
    that a dependency that comes back is used again within `open_s` and a probe. A probe that has not
    ended after `probe_s` no longer keeps the next one from being sent: its socket may hang for good.
    """

    def __init__(
        self,
        failures: int = 5,
        open_s: float = 1.0,
        clock: Clock = time.monotonic,
        probe_s: float = 2.0,
    ) -> None:
        self._failures = failures
        self._open_s = open_s
        self._probe_s = probe_s
        self._clock = clock
        self._in_a_row = 0
        self._period = 0
        self._probes = 0
        self._is_closed = True
        self._next_probe_at = 0.0
        self._probing = False

    @property
    def state(self) -> BreakerState:
        """Open: no call is let through; half-open: the next call, or one under way, is the probe."""
        if self._is_closed:
            return BreakerState.CLOSED
        waits = not self._probing and self._clock() < self._next_probe_at
        return BreakerState.OPEN if waits else BreakerState.HALF_OPEN

    def admit(self) -> Permit | None:
        """Leave to call, or None. Each permit must be handed to exactly one of the methods below."""
        if self._is_closed:
            return Permit(self._period)
        now = self._clock()
        if now < self._next_probe_at:
            return None
        self._probing = True
        self._probes += 1
        self._next_probe_at = now + self._probe_s
        return Permit(self._period, self._probes)

    def retry_after_s(self) -> float:
        """Seconds until a call may be let through; 0 when it may be now."""
        return 0.0 if self._is_closed else max(0.0, self._next_probe_at - self._clock())

    def succeeded(self, permit: Permit) -> None:
        """The dependency did what it was asked, or rightly refused to."""
        if permit.period != self._period:
            return  # a call from before the change says nothing of the time after it
        self._in_a_row = 0
        if not self._is_closed:
            self._is_closed = True
            self._probing = False
            self._period += 1

    def failed(self, permit: Permit) -> None:
        """The dependency did not do its part."""
        if permit.period != self._period:
            return
        if self._is_closed:
            self._in_a_row += 1
            if self._in_a_row >= self._failures:
                self._open()
        elif permit.probe == self._probes:
            self._open()

    def abandoned(self, permit: Permit) -> None:
        """The call was cancelled, or never made: nothing was learnt, and another may probe at once."""
        if permit.period == self._period and permit.probe and permit.probe == self._probes:
            self._probing = False
            self._next_probe_at = self._clock()

    def _open(self) -> None:
        self._is_closed = False
        self._probing = False
        self._in_a_row = 0
        self._period += 1
        self._next_probe_at = self._clock() + self._open_s


class RetryBudget:
    """At most `share` of the calls are repeated, over any stretch but for `burst`; for one thread.

    A dependency in trouble must not be asked more than it was: Google, "Site Reliability Engineering",
    ch. 21 ("Handling Overload": a retry budget of 10 % per client).
    """

    def __init__(self, share: float = 0.1, burst: float = 5.0) -> None:
        self._share = share
        self._burst = burst
        self._left = burst

    def called(self) -> None:
        """A call was made for the first time."""
        self._left = min(self._burst, self._left + self._share)

    def spend(self) -> bool:
        """Return whether one call may be repeated now; if so, it is paid for."""
        if self._left < 1 - 1e-9:
            return False
        self._left -= 1
        return True

    def pause_s(self) -> float:
        """Seconds to wait before repeating: 10 to 50 ms, so that those who failed together part ways."""
        return random.uniform(0.010, 0.050)
