"""Admission, before any model work: the tenant's quota, then a place among a bounded number of questions.

`Quotas` limit a tenant's requests, a minute and at once; a request beyond that gets 429. Gateways that share
a Redis share the minute; while Redis is away each takes its part. What is at once, each counts for itself.

`Admission` works on so many questions; others wait or are refused. A question that would have too little
time left when its turn comes is refused on arrival, with the seconds after which to retry. A question whose
time runs out while it waits is refused while there is still time to send the refusal. A `Gate` chooses the
next one by priority, tenant and time.
"""

import math
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from enum import StrEnum

import structlog
from limits.aio.storage import MemoryStorage, RedisStorage
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError

from chassis.errors import DeadlineExceeded, LoreglassError, Overloaded, QuotaExceeded
from chassis.resilience.deadlines import Clock, Deadline
from chassis.resilience.fair_queue import Claim
from chassis.resilience.gates import Gate
from chassis.telemetry.spans import span
from gateway.serving.tenants import Quota
from gateway.state import Priority

_SHORTEST_RETRY_S = 1
_LONGEST_RETRY_S = 30
_MEMORY = 16
"""Number of answers in the moving mean of the time of one."""

SHARES: Mapping[str, int] = {Priority.INTERACTIVE: 8, Priority.STANDARD: 3, Priority.BACKGROUND: 1}
"""Shares of the places that come free while all three priorities wait."""


class Refusal(StrEnum):
    """The reason of a rejection: the queue is full, the turn would come too late, or the deadline passed."""

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
        return self._gate.inside

    @property
    def waiting(self) -> int:
        return self._gate.waiting

    @property
    def busy(self) -> bool:
        """Return whether work on mere suspicion would be at the cost of others."""
        return self.waiting > 0 or 2 * self.in_flight >= self._at_once

    @property
    def oldest_wait_ms(self) -> float:
        """Return the age of the oldest waiting question, in milliseconds. May be read from any thread."""
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
            # The mean time for which a place is held; the latest answers count most.
            self._answers = min(_MEMORY, self._answers + 1)
            self._mean_s += (self._clock() - entered_at - self._mean_s) / self._answers
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
        """Return the seconds until the questions that wait now are admitted, rounded up."""
        drained_s = (self.waiting + 1) * self._mean_s / self._at_once
        return min(_LONGEST_RETRY_S, max(_SHORTEST_RETRY_S, math.ceil(drained_s)))


_WINDOW_S = 60
_FULL_RETRY_S = 1.0
_SOON_S = 0.001
"""The shortest wait of a refused request."""
_AWAY_FOR_S = 5.0
"""Seconds without calls to Redis after it failed, because each request would wait for it."""

log = structlog.get_logger()


class Exceeded(StrEnum):
    """The quota that a request exceeded."""

    RATE = "rate"
    IN_FLIGHT = "in_flight"


OnExceeded = Callable[[Exceeded], None]


class Rates:
    """Counts requests in a sliding minute (`limits`, sliding window counter): in `redis`, or in this process.

    Each gateway counts its part, one of `gateways`, while Redis is away. A count that is not ours is deleted.
    """

    def __init__(
        self,
        redis: Redis | None = None,
        gateways: int = 1,
        clock: Clock = time.monotonic,
        namespace: str = "loreglass",
    ) -> None:
        self._own = MemoryStorage()
        self._shared: RedisStorage | None = None
        if redis is not None:
            self._shared = RedisStorage(
                "async+redis://",
                implementation="redispy",
                key_prefix=f"{namespace}:rate:2",
                connection_pool=redis.connection_pool,  # type: ignore[arg-type]
            )
        self._gateways = gateways
        self._clock = clock
        self._away_until = -math.inf

    async def take(self, tenant: str, per_minute: float) -> float:
        """Count a request and return 0; if too many were counted, return the seconds to wait instead."""
        if self._shared is None:
            return await _take(self._own, tenant, int(per_minute))
        if self._clock() >= self._away_until:
            key = f"{tenant}/{Exceeded.RATE}"
            try:
                try:
                    return await _take(self._shared, key, int(per_minute))
                except (OutOfMemoryError, ReadOnlyError):  # of Redis, not of the count
                    raise
                except (ResponseError, ValueError) as error:  # of this tenant's count alone
                    log.warning("stored_value_unreadable", what="rate", reason=type(error).__name__)
                    await self._shared.clear_sliding_window(key, _WINDOW_S)
            except (RedisError, OSError) as error:
                self._away_until = self._clock() + _AWAY_FOR_S
                log.warning("rates_not_shared", reason=type(error).__name__)
        return await _take(self._own, tenant, max(1, int(per_minute / self._gateways)))


async def _take(storage: MemoryStorage | RedisStorage, key: str, most: int) -> float:
    if await storage.acquire_sliding_window_entry(key, most, _WINDOW_S):
        return 0.0
    return _wait_s(*await storage.get_sliding_window(key, _WINDOW_S))


def _wait_s(before: int, before_s: float, now: int, now_s: float) -> float:
    """Seconds until one request fewer counts. `before`: of the last minute, which counts for `before_s` more;
    `now`: of this one, which is kept for `now_s`, twice its length.

    Raises `ValueError` for a count that does not expire in time.
    """
    if (before and not before_s) or (now and not now_s) or max(before_s, now_s) > 2 * _WINDOW_S + 1:
        raise ValueError("a count that does not expire in time")
    waits = [before_s % (_WINDOW_S / before)] if before else []
    waits += [now_s - _WINDOW_S] if now else []
    return max(_SOON_S, min(waits, default=0.0))


class Quotas:
    """Lets requests in, for one event loop. `on_exceeded` is called for those that are refused."""

    def __init__(
        self,
        quota_of: Callable[[str], Quota],
        rates: Rates | None = None,
        on_exceeded: OnExceeded = lambda _: None,
    ) -> None:
        self._quota_of = quota_of
        self._rates = rates or Rates()
        self._on_exceeded = on_exceeded
        self._in_flight: Counter[str] = Counter()

    async def enter(self, tenant: str) -> Callable[[], None]:
        """Count a request in; what is returned counts it out. Raises `QuotaExceeded`, with when to retry."""
        quota = self._quota_of(tenant)
        if self._in_flight[tenant] >= quota.in_flight:
            raise self._exceeded(Exceeded.IN_FLIGHT, _FULL_RETRY_S)
        self._in_flight[tenant] += 1
        try:
            if quota.requests_per_minute < math.inf:
                wait_s = await self._rates.take(tenant, quota.requests_per_minute)
                if wait_s > 0:
                    raise self._exceeded(Exceeded.RATE, wait_s)
        except BaseException:
            self._leave(tenant)
            raise
        return lambda: self._leave(tenant)

    def _leave(self, tenant: str) -> None:
        self._in_flight[tenant] -= 1
        if not self._in_flight[tenant]:
            del self._in_flight[tenant]

    def _exceeded(self, exceeded: Exceeded, retry_after_s: float) -> QuotaExceeded:
        self._on_exceeded(exceeded)
        return QuotaExceeded(_DETAILS[exceeded], retry_after_s=retry_after_s)


_DETAILS = {
    Exceeded.RATE: "This key's tenant asks more a minute than it may.",
    Exceeded.IN_FLIGHT: "This key's tenant asks more at once than it may.",
}
