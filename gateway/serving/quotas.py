"""What a tenant may ask: so many requests a minute, so many at once. Beyond that it is told when to return.

The rate is a token bucket that holds a minute's requests (as a virtual time: the generic cell rate algorithm,
ITU-T I.371), so that people who ask in bursts meet no limit. Gateways that share a Redis share it.
"""

import math
import time
from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from typing import Protocol

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.errors import QuotaExceeded
from chassis.resilience.deadlines import Clock
from gateway.serving.tenants import Quota

_WINDOW_S = 60.0
_FULL_RETRY_S = 1.0
_AWAY_FOR_S = 5.0
"""How long a Redis that did not answer is not asked: each request would wait for it."""

log = structlog.get_logger()


class Exceeded(StrEnum):
    """Of what a tenant had no more."""

    RATE = "rate"
    IN_FLIGHT = "in_flight"


OnExceeded = Callable[[Exceeded], None]


class Rates(Protocol):
    """Counts requests by tenant."""

    async def take(self, tenant: str, per_minute: float) -> float:
        """0 where there was one left, which is taken; else the seconds until there is."""
        ...


class MemoryRates:
    """Of this process. `_next`: when each tenant's bucket will be full again."""

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[str, float] = {}

    async def take(self, tenant: str, per_minute: float) -> float:
        """See `Rates`."""
        now = self._clock()
        then = max(now, self._next.get(tenant, now)) + _WINDOW_S / per_minute
        wait_s = then - now - _WINDOW_S
        if wait_s > 1e-9:  # a sum of floats
            return wait_s
        self._next[tenant] = then
        return 0.0


_TAKE = """
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local known = redis.pcall('GET', KEYS[1])
local most = tonumber(ARGV[2])
local full = type(known) == 'string' and tonumber(known) or now
if not (full >= now and full <= now + most + 1) then full = now end
local after = full + tonumber(ARGV[1])
local wait = after - now - most
if wait > 0.001 then return math.ceil(wait) end
redis.call('SET', KEYS[1], string.format('%.3f', after), 'PX', math.ceil(after - now))
return 0
"""
"""One step for all gateways. Arguments: milliseconds that a request costs, and that the bucket holds.

No bucket is full later than it would be if it were empty now, but for rounding: a number beyond that (NaN
too) is none of ours, or the clock was set back.
"""


class RedisRates:
    """Of the gateways that share `client`'s Redis, which this owns; while it is away each counts alone."""

    def __init__(self, client: Redis, clock: Clock = time.monotonic, namespace: str = "loreglass") -> None:
        self._client = client
        self._namespace = namespace
        self._take = client.register_script(_TAKE)
        self._clock = clock
        self._own = MemoryRates(clock)
        self._away_until = -math.inf

    async def take(self, tenant: str, per_minute: float) -> float:
        """See `Rates`."""
        if self._clock() >= self._away_until:
            try:
                key = f"{self._namespace}:rate:1:{tenant}"
                cost_ms = _WINDOW_S * 1000 / per_minute
                return float(await self._take(keys=[key], args=[cost_ms, _WINDOW_S * 1000])) / 1000
            except (RedisError, OSError) as error:
                self._away_until = self._clock() + _AWAY_FOR_S
                log.warning("rates_not_shared", reason=type(error).__name__)
        return await self._own.take(tenant, per_minute)

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()


class Quotas:
    """Lets requests in, for one event loop. `on_exceeded` is told of those that are not."""

    def __init__(
        self,
        quota_of: Callable[[str], Quota],
        rates: Rates | None = None,
        on_exceeded: OnExceeded = lambda _: None,
    ) -> None:
        self._quota_of = quota_of
        self._rates = rates or MemoryRates()
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
        many = "at once" if exceeded is Exceeded.IN_FLIGHT else "a minute"
        return QuotaExceeded(f"This key's tenant asks more {many} than it may.", retry_after_s=retry_after_s)
