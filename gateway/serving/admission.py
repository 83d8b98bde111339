"""Admission, before any model work: a bounded number of questions is worked on, others wait or are refused.

A question that would have too little time left when its turn comes is refused on arrival, with the seconds
after which to retry. A question whose time runs out while it waits is refused while there is still time to
send the refusal. A `Gate` chooses the next one by priority, tenant and time.
"""

import math
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.fair_queue import Claim
from chassis.resilience.gates import Gate
from chassis.telemetry.spans import span
from gateway.state import Priority

_SHORTEST_RETRY_S = 1
_LONGEST_RETRY_S = 30
_MEMORY = 16
"""Number of answers in the moving mean of the time of one."""

SHARES: Mapping[str, int] = {Priority.INTERACTIVE: 8, Priority.STANDARD: 3, Priority.BACKGROUND: 1}
"""Shares of the places that come free while all three priorities wait."""


class Refusal(StrEnum):
    """Why a question was not admitted: the queue is full, its turn would come too late, its time ran out."""

    FULL = "full"
    TOO_LATE = "too_late"
    EXPIRED = "expired"


OnRefusal = Callable[[Priority, Refusal], None]


class Admission:
    """Lets `at_once` questions in while `waiting` more may wait, for one event loop.

    Times in seconds on `clock`, which deadlines may differ from.
    """

    def __init__(
        self,
        at_once: int,
        waiting: int,
        clock: Clock = time.monotonic,
        on_refusal: OnRefusal = lambda _priority, _refusal: None,
    ) -> None:
        self._at_once = at_once
        self._clock = clock
        self._on_refusal = on_refusal
        self._gate = Gate("questions", at_once, waiting, SHARES)
        self._waiting_since: dict[object, float] = {}
        self._mean_s = 0.0
        self._answers = 0

    @property
    def full(self) -> bool:
        """Return whether the next one has to wait."""
        return self.in_flight >= self._at_once

    @property
    def in_flight(self) -> int:
        """Return how many are worked on."""
        return self._gate.inside

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return self._gate.waiting

    @property
    def busy(self) -> bool:
        """Return whether work on mere suspicion would be at the cost of others."""
        return self.waiting > 0 or 2 * self.in_flight >= self._at_once

    @property
    def oldest_wait_ms(self) -> float:
        """Milliseconds that the one who has waited longest has waited. May be read from any thread."""
        arrivals, now = list(self._waiting_since.values()), self._clock()
        return max(0.0, now - min(arrivals, default=now)) * 1000

    @asynccontextmanager
    async def admit(
        self, tenant: str, priority: Priority, deadline: Deadline, needed_ms: float = 0.0
    ) -> AsyncIterator[None]:
        """Hold a place for as long as the body runs.

        `needed_ms`: the time that the body needs. Give its ninetieth percentile: under overload many bodies
        begin with no more time than this, and nine of ten then end before their deadline.

        Raises `Overloaded` (with `retry_after_s`) when shed, and `DeadlineExceeded`, `needed_ms` before the
        deadline at the latest, when no place came free in time.
        """
        leave = await self._enter(tenant, priority, deadline, needed_ms)
        entered_at = self._clock()
        try:
            yield
        finally:
            self._observe(self._clock() - entered_at)
            leave()

    async def _enter(
        self, tenant: str, priority: Priority, deadline: Deadline, needed_ms: float
    ) -> Callable[[], None]:
        """Return the function that leaves."""
        now, spare_s = self._clock(), deadline.remaining_s() - needed_ms / 1000
        if spare_s <= 0:
            raise self._refusal(priority, Refusal.EXPIRED)
        claim, latest_start = (priority, tenant), Deadline(now + spare_s, self._clock)
        if self.full and self._expected_wait_s(latest_start.at, claim, needed_ms) > spare_s:
            raise self._refusal(priority, Refusal.TOO_LATE)
        enter = self._wait if self.full else self._gate.enter  # if it is not full, nobody waits
        try:
            return await enter(latest_start, claim=claim)
        except Overloaded as error:
            raise self._refusal(priority, Refusal.FULL) from error
        except DeadlineExceeded as error:
            raise self._refusal(priority, Refusal.EXPIRED) from error

    async def _wait(self, latest_start: Deadline, claim: Claim) -> Callable[[], None]:
        arrival, (priority, _) = object(), claim
        self._waiting_since[arrival] = self._clock()
        try:
            with span("admission", {"loreglass.priority": priority, "loreglass.waiting": self.waiting + 1}):
                return await self._gate.enter(latest_start, claim=claim)
        finally:
            del self._waiting_since[arrival]

    def _refusal(self, priority: Priority, refusal: Refusal) -> LoreglassError:
        self._on_refusal(priority, refusal)
        if refusal is Refusal.EXPIRED:
            return DeadlineExceeded("The time was over before it was this question's turn.")
        return Overloaded(
            "Too many questions are being answered just now.", retry_after_s=self._retry_after_s()
        )

    def _expected_wait_s(self, due_at: float, claim: Claim, needed_ms: float) -> float:
        """Return the time until a new caller gets a place. By Little's law, places / mean time become free.

        The next place to become free has half of its time behind it, on average.
        """
        each_s = self._mean_s or needed_ms / 1000
        return (self._gate.places_until(due_at, claim) - 0.5) * each_s / self._at_once

    def _retry_after_s(self) -> int:
        """Until those who wait now will have got in, in whole seconds."""
        drained_s = (self.waiting + 1) * self._mean_s / self._at_once
        return min(_LONGEST_RETRY_S, max(_SHORTEST_RETRY_S, math.ceil(drained_s)))

    def _observe(self, seconds: float) -> None:
        """Update the mean time for which a place is held; the latest answers count most."""
        self._answers = min(_MEMORY, self._answers + 1)
        self._mean_s += (seconds - self._mean_s) / self._answers
