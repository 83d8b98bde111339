"""Limit the requests of a tenant: a minute, and at once.

A request beyond that gets 429 with the seconds after which to retry. Gateways that share a Redis share the
minute; while Redis is away each takes its part. What is at once, each gateway counts for itself.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum

import structlog
from limits.aio.storage import MemoryStorage, RedisStorage
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, ReadOnlyError, RedisError, ResponseError

from chassis.errors import QuotaExceeded
from chassis.resilience.deadlines import Clock
from gateway.serving.tenants import Quota

_WINDOW_S = 60
_FULL_RETRY_S = 1.0
_SOON_S = 0.001
"""The shortest wait of a refused request."""
_AWAY_FOR_S = 5.0
"""How long Redis is not asked after it failed to answer; each request would wait for it."""

log = structlog.get_logger()


class Exceeded(StrEnum):
    """Which quota a request exceeded."""

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
