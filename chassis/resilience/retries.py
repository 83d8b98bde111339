"""How often a call may be made a second time, and when."""

import random
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_LONGEST_WAIT_S = 3_600.0


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


def seconds_of(retry_after: str | None, otherwise: float | None = None) -> float | None:
    """Return `Retry-After` (RFC 9110, 10.2.3: seconds or a date) in seconds, an hour at most.

    `otherwise`: where there is none to read.
    """
    text = (retry_after or "").strip()
    if text.isdecimal():
        return min(float(text[:6]), _LONGEST_WAIT_S)
    try:
        wait = parsedate_to_datetime(text).astimezone(UTC) - datetime.now(UTC)
    except (ValueError, OverflowError):
        return otherwise
    return min(max(0.0, wait.total_seconds()), _LONGEST_WAIT_S)
