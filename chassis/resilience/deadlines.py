"""One absolute deadline a request, carried between processes as remaining milliseconds; `Retry-After`."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from chassis.errors import DeadlineExceeded

_LONGEST_WAIT_S = 3_600.0

Clock = Callable[[], float]
"""Seconds on a monotonic clock."""


@dataclass(frozen=True, slots=True)
class Deadline:
    """`at`: seconds on `clock` when the caller stops waiting."""

    at: float
    clock: Clock = time.monotonic

    @classmethod
    def after_ms(cls, milliseconds: float, clock: Clock = time.monotonic) -> "Deadline":
        """Return the deadline that is `milliseconds` from now."""
        return cls(at=clock() + milliseconds / 1000, clock=clock)

    def remaining_ms(self) -> float:
        """Milliseconds left, never negative."""
        return max(0.0, (self.at - self.clock()) * 1000)

    def remaining_s(self) -> float:
        """Seconds left, never negative."""
        return self.remaining_ms() / 1000

    def within(self, cap_ms: float, reserve_ms: float = 0.0) -> "Deadline":
        """The deadline of a stage: its cap, or what is left once `reserve_ms` is kept for what follows."""
        allowed = min(cap_ms, max(0.0, self.remaining_ms() - reserve_ms))
        return Deadline.after_ms(allowed, self.clock)

    def require(self, needed_ms: float = 0.0) -> None:
        """Refuse work that cannot finish. Raises `DeadlineExceeded`."""
        if self.remaining_ms() <= needed_ms:
            raise DeadlineExceeded("There is not enough time left to do this.")


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
