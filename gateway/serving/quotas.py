"""What a tenant may ask: so many requests, tokens and GPU milliseconds a minute, so many requests at once.

Beyond that it is told when to return. Gateways that share a Redis share the minute (a sliding window, by
`limits`), and those of one budget what is at once (`leases`); while Redis is away each takes its part.
"""

import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Protocol, TypeVar

import anyio
import structlog
from redis.asyncio import Redis
from redis.exceptions import OutOfMemoryError, RedisError, ResponseError

from chassis.errors import QuotaExceeded
from chassis.resilience.deadlines import Clock
from chassis.resilience.gates import OWN, Lease
from gateway.serving.leases import MOST_PLACES, Leases
from gateway.serving.tenants import Quota

T = TypeVar("T")

_WINDOW_S = 60.0
_FULL_RETRY_S = 1.0
_LONGEST_ROUND_S = 0.25
"""That a request waits for a lease before its tenant is told that it asks too much at once."""
_SOON_S = 0.001
"""What was refused an instant ago may fit by now; it was refused all the same."""
_AWAY_FOR_S = 5.0
"""How long a Redis that did not answer is not asked: each request would wait for it."""

log = structlog.get_logger()


class Exceeded(StrEnum):
    """Of what a tenant had no more."""

    RATE = "rate"
    TOKENS = "tokens"
    GPU_MS = "gpu_ms"
    IN_FLIGHT = "in_flight"


OnExceeded = Callable[[Exceeded], None]


class Rates(Protocol):
    """Counts what tenants use in a minute."""

    async def take(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> float:
        """0 where something was left, of which `cost` is taken; else the seconds until something is."""
        ...

    async def charge(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> None:
        """Take `cost` that was spent already."""
        ...


class MemoryRates:
    """Of this process: buckets that hold a minute's (as a virtual time, ITU-T I.371).

    `_next`: when each will be full again.
    """

    def __init__(self, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._next: dict[tuple[str, Exceeded], float] = {}

    async def take(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> float:
        """See `Rates`."""
        now = self._clock()
        then = max(now, self._next.get((tenant, of), now)) + _WINDOW_S * max(1, cost) / per_minute
        wait_s = then - now - _WINDOW_S
        if wait_s > 1e-9:  # a sum of floats
            return wait_s
        if cost:
            self._next[tenant, of] = then
        return 0.0

    async def charge(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> None:
        """See `Rates`. What is beyond this minute is taken of the next one, and of no more."""
        now = self._clock()
        then = max(now, self._next.get((tenant, of), now)) + _WINDOW_S * cost / per_minute
        self._next[tenant, of] = min(then, now + 2 * _WINDOW_S)


class SharedRates:
    """Of the gateways that share `client`'s Redis, which this owns; while it is away each counts its part.

    One round trip a request. A value that is none of ours, or has no end, passes for none and is deleted.
    """

    def __init__(
        self, client: Redis, gateways: int = 1, clock: Clock = time.monotonic, namespace: str = "loreglass"
    ) -> None:
        from limits.aio.storage import RedisStorage

        self._client = client
        self._storage = RedisStorage(
            "async+redis://",
            implementation="redispy",
            key_prefix=f"{namespace}:rate:2",
            connection_pool=client.connection_pool,  # type: ignore[arg-type]
        )
        self._gateways = gateways
        self._clock = clock
        self._own = MemoryRates(clock)
        self._away_until = -math.inf

    async def take(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> float:
        """See `Rates`."""
        window = partial(self._take, f"{tenant}/{of}", int(per_minute), cost)
        own = partial(self._own.take, tenant, of, self._part(per_minute), cost)
        return await self._shared(f"{tenant}/{of}", window, own)

    async def charge(self, tenant: str, of: Exceeded, per_minute: float, cost: int) -> None:
        """See `Rates`. What is spent beyond the minute is forgiven."""
        window = partial(self._charge, f"{tenant}/{of}", int(per_minute), cost)
        own = partial(self._own.charge, tenant, of, self._part(per_minute), cost)
        await self._shared(f"{tenant}/{of}", window, own)

    async def aclose(self) -> None:
        """Close the client."""
        await self._client.aclose()

    def _part(self, per_minute: float) -> float:
        return max(1.0, per_minute / self._gateways)

    async def _shared(
        self, key: str, window: Callable[[], Awaitable[T]], own: Callable[[], Awaitable[T]]
    ) -> T:
        if self._clock() >= self._away_until:
            try:
                try:
                    return await window()
                except OutOfMemoryError:
                    raise
                except (ResponseError, ValueError):
                    log.warning("stored_value_unreadable", what="rate")
                    await self._storage.clear_sliding_window(key, int(_WINDOW_S))
                    return await window()
            except (RedisError, OSError, ValueError) as error:
                self._away_until = self._clock() + _AWAY_FOR_S
                log.warning("rates_not_shared", reason=type(error).__name__)
        return await own()

    async def _take(self, key: str, most: int, cost: int) -> float:
        seconds = int(_WINDOW_S)
        if cost and await self._storage.acquire_sliding_window_entry(key, most, seconds, cost):
            return 0.0
        wait_s = _Window(*await self._storage.get_sliding_window(key, seconds)).wait_s(most - max(1, cost))
        return max(_SOON_S, wait_s) if cost else wait_s

    async def _charge(self, key: str, most: int, cost: int) -> None:
        seconds = int(_WINDOW_S)
        if not await self._storage.acquire_sliding_window_entry(key, most, seconds, cost):
            left = most - math.floor(_Window(*await self._storage.get_sliding_window(key, seconds)).used)
            await self._storage.acquire_sliding_window_entry(key, most, seconds, max(0, left))


@dataclass(frozen=True, slots=True)
class _Window:
    """The minute before this one, of which a part still counts, and this one; seconds until each is over.

    Raises `ValueError` for one that will never be.
    """

    before: int
    before_ends_s: float
    now: int
    now_ends_s: float

    def __post_init__(self) -> None:
        if (self.before and not self.before_ends_s) or (self.now and not self.now_ends_s):
            raise ValueError("a count without an end")
        if max(self.before_ends_s, self.now_ends_s) > 2 * _WINDOW_S + 1:
            raise ValueError("an end that is too far away: the server's clock was set back")

    @property
    def used(self) -> float:
        return self.before * self.before_ends_s / _WINDOW_S + self.now

    def wait_s(self, most: int) -> float:
        """Seconds until no more than `most` count as used."""
        if math.floor(self.used) <= most:
            return 0.0
        if self.now <= most:
            return max(_SOON_S, self.before_ends_s - _WINDOW_S * (most + 1 - self.now) / self.before)
        return max(_SOON_S, self.now_ends_s - _WINDOW_S * (most + 1) / self.now)


class _Seats:
    """One tenant's requests at once. `asking`: those that wait for a lease of one more."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.lease: Lease = OWN
        self.in_use = 0.0
        self.asking = 0

    @property
    def wanted(self) -> float:
        return self.in_use + self.asking

    @property
    def full(self) -> bool:
        return self.in_use >= self.capacity or self.lease.lapsed


class Quotas:
    """Lets requests in, for one event loop. `on_exceeded` is told of those that are not."""

    def __init__(
        self,
        quota_of: Callable[[str], Quota],
        rates: Rates | None = None,
        on_exceeded: OnExceeded = lambda _: None,
        leases: Leases | None = None,
    ) -> None:
        """`leases`: shares what is at once with other gateways; it must be running."""
        self._quota_of = quota_of
        self._rates = rates or MemoryRates()
        self._on_exceeded = on_exceeded
        self._leases = leases
        self._seats: dict[str, _Seats] = {}

    async def enter(self, tenant: str) -> Callable[[], None]:
        """Count a request in; what is returned counts it out. Raises `QuotaExceeded`, with when to retry."""
        quota = self._quota_of(tenant)
        seats = await self._seat(tenant, quota.in_flight)
        try:
            for of, per_minute, cost in _by_the_minute(quota, 1, 0, 0):
                wait_s = await self._rates.take(tenant, of, per_minute, cost)
                if wait_s > 0:
                    raise self._exceeded(of, wait_s)
        except BaseException:
            self._leave(tenant, seats)
            raise
        return lambda: self._leave(tenant, seats)

    def limits(self, tenant: str) -> bool:
        """Whether `charge` has anything to count for it."""
        quota = self._quota_of(tenant)
        return min(quota.tokens_per_minute, quota.gpu_ms_per_minute) < math.inf

    async def charge(self, tenant: str, tokens: int, gpu_ms: float) -> None:
        """Count what a question has spent, once it is over."""
        for of, per_minute, cost in _by_the_minute(self._quota_of(tenant), 0, tokens, math.ceil(gpu_ms)):
            if cost:
                await self._rates.charge(tenant, of, per_minute, cost)

    async def _seat(self, tenant: str, in_flight: float) -> _Seats:
        seats = self._seats.get(tenant)
        if seats is None:
            seats = self._seats[tenant] = _Seats(in_flight)
        if self._leases is None or in_flight == math.inf:
            seats.capacity = in_flight
        else:
            await self._leased(self._leases, tenant, seats, int(min(in_flight, MOST_PLACES)))
        if seats.full:
            self._forget(tenant, seats)
            raise self._exceeded(Exceeded.IN_FLIGHT, _FULL_RETRY_S)
        seats.in_use += 1
        return seats

    async def _leased(self, leases: Leases, tenant: str, seats: _Seats, whole: int) -> None:
        """A lease for one more, where there is one. Redis is asked for a block at a time only."""
        name = f"tenant:{tenant}"
        pool = leases.pools.get(name)
        if pool is None:
            pool = leases.share(name, seats, whole, each=False)
            pool.passing = True
        pool.whole, pool.retiring = whole, False
        if seats.full and not leases.alone:
            seats.asking += 1
            try:
                with anyio.move_on_after(_LONGEST_ROUND_S):
                    await leases.next_round()
            finally:
                seats.asking -= 1

    def _leave(self, tenant: str, seats: _Seats) -> None:
        seats.in_use -= 1
        self._forget(tenant, seats)

    def _forget(self, tenant: str, seats: _Seats) -> None:
        """Its lease, where there is one, keeps the seats until it has been idle for a while."""
        leased = self._leases is not None and f"tenant:{tenant}" in self._leases.pools
        if not seats.wanted and not leased and self._seats.get(tenant) is seats:
            del self._seats[tenant]

    def _exceeded(self, exceeded: Exceeded, retry_after_s: float) -> QuotaExceeded:
        self._on_exceeded(exceeded)
        return QuotaExceeded(_SAID[exceeded], retry_after_s=retry_after_s)


_SAID = {
    Exceeded.RATE: "This key's tenant asks more a minute than it may.",
    Exceeded.TOKENS: "This key's tenant has a model read and write more a minute than it may.",
    Exceeded.GPU_MS: "This key's tenant keeps GPUs busy for more of a minute than it may.",
    Exceeded.IN_FLIGHT: "This key's tenant asks more at once than it may.",
}


def _by_the_minute(
    quota: Quota, requests: int, tokens: int, gpu_ms: int
) -> list[tuple[Exceeded, float, int]]:
    """What has a limit, with what is to be counted of it."""
    counted = (
        (Exceeded.RATE, quota.requests_per_minute, requests),
        (Exceeded.TOKENS, quota.tokens_per_minute, tokens),
        (Exceeded.GPU_MS, quota.gpu_ms_per_minute, gpu_ms),
    )
    return [each for each in counted if each[1] < math.inf]
