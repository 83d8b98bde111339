"""Bounded stores: `ExpiringStore` in this process or in Redis, and the bounds that all stores share.

A tenant that exceeds its own allowance loses its oldest entries. When the store is full, the oldest entry of
all goes. Redis bounds the total itself.
"""

import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Clock, Deadline

log = structlog.get_logger()


Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How much there may be, of one tenant or of all."""

    count: float = inf
    size: float = inf


AllowanceOf = Callable[[str], Allowance]


def unlimited(_tenant: str) -> Allowance:
    """For stores whose tenants have all that there is."""
    return Allowance()


class Holdings(Generic[Key]):
    """Keys with their tenants and sizes, the longest unused first. For one thread."""

    def __init__(self, in_all: Allowance, allowance_of: AllowanceOf = unlimited) -> None:
        self._in_all = in_all
        self._allowance_of = allowance_of
        self._held: OrderedDict[Key, tuple[str, int]] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()

    @property
    def size(self) -> int:
        """Of all."""
        return self._sizes.total()

    def add(self, tenant: str, key: Key, size: int) -> list[Key]:
        """Hold `key` for `tenant`, as the newest. Return the evicted keys, which are forgotten."""
        self.remove(key)
        if size > self._in_all.size:
            return [key]
        self._held[key] = tenant, size
        self._counts[tenant] += 1
        self._sizes[tenant] += size
        evicted: list[Key] = []
        allowed = self._allowance_of(tenant)
        while self._counts[tenant] > 1 and (
            self._counts[tenant] > allowed.count or self._sizes[tenant] > allowed.size
        ):
            evicted.append(self._evict(tenant))
        while len(self._held) > self._in_all.count or self.size > self._in_all.size:
            evicted.append(self._evict())
        return evicted

    def use(self, key: Key) -> None:
        """Make `key`, which is held, the newest again."""
        self._held.move_to_end(key)

    def remove(self, key: Key) -> None:
        """Forget `key`, if it is held."""
        if key in self._held:
            tenant, size = self._held.pop(key)
            self._counts[tenant] -= 1
            self._sizes[tenant] -= size
            if not self._counts[tenant]:
                del self._counts[tenant], self._sizes[tenant]

    def clear(self) -> None:
        """Forget all keys."""
        self._held.clear()
        self._counts.clear()
        self._sizes.clear()

    def _evict(self, tenant: str | None = None) -> Key:
        """Forget and return the oldest key, of `tenant` if given."""
        key = next(key for key, (owner, _) in self._held.items() if tenant in (None, owner))
        self.remove(key)
        return key


_ADD = """
for i, kind in ipairs({'zset', 'hash'}) do
  if redis.call('TYPE', KEYS[i]).ok ~= kind then redis.call('DEL', KEYS[i]) end
end
if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[2]) end
local function forget(name)
  redis.call('HINCRBY', KEYS[2], '', 0 - tonumber(redis.call('HGET', KEYS[2], name) or 0))
  redis.call('HDEL', KEYS[2], name)
  redis.call('ZREM', KEYS[1], name)
end
local name, size, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local count, most = tonumber(ARGV[4]), tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
for _, over in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ttl * 1000)) do forget(over) end
forget(name)
local held, gone = 0, {}
if size ~= '' then
  local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]) or 0
  redis.call('ZADD', KEYS[1], math.max(now, last + 1), name)
  redis.call('HSET', KEYS[2], name, size)
  held = redis.call('HINCRBY', KEYS[2], '', size)
end
while redis.call('ZCARD', KEYS[1]) > count or held > most do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if oldest == name then break end
  forget(oldest)
  gone[#gone + 1] = oldest
  held = tonumber(redis.call('HGET', KEYS[2], ''))
end
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('PEXPIRE', KEYS[2], ttl)
return gone
"""
"""One step for all clients. Keys: names by the time of their last write, their sizes and, under no name, the
sum. Arguments: name, size (empty: it is gone), milliseconds to live, how many names and what size may be.

Redis may evict either key alone. Sizes without names would count for ever, and go; names without sizes
count nothing, and give way in their turn. Times are in microseconds; what comes is always the newest, though
the clock was set back.
"""
_NO_LIMIT = 2**53


class RedisHoldings:
    """Entries of one kind in Redis. Only their total is bounded; the oldest are evicted.

    So that it never comes to that, each tenant's own oldest goes beyond its allowance; Redis' `maxmemory` is
    to hold the allowances of all tenants that may be busy at once.
    """

    def __init__(
        self,
        client: Redis,
        namespace: str,
        ttl_s: float,
        allowance_of: AllowanceOf,
        keys_of: Callable[[str, str], Iterable[str]],
    ) -> None:
        """`keys_of`: where that lies which a tenant holds under a name."""
        self._keys_of = keys_of
        self._namespace = namespace
        self._ttl_ms = max(1, round(ttl_s * 1000))
        self._allowance_of = allowance_of
        self._client = client
        self._add = client.register_script(_ADD)

    async def add(self, tenant: str, name: str, size: int) -> None:
        """`tenant` holds `name` from now on, or again; what goes for it is deleted.

        It lies in Redis already: where it cannot be counted, that is no failure of who wrote it.
        """
        allowed = self._allowance_of(tenant)
        if allowed != Allowance():
            await self._count(tenant, name, size, allowed)

    async def remove(self, tenant: str, name: str) -> None:
        """`name` is held no longer."""
        if self._allowance_of(tenant) != Allowance():
            await self._count(tenant, name, "", Allowance())

    async def _count(self, tenant: str, name: str, size: int | str, allowed: Allowance) -> None:
        bounds = [int(min(_NO_LIMIT, each)) for each in (allowed.count, allowed.size)]
        try:
            for gone in await self._add(keys=self._keys(tenant), args=[name, size, self._ttl_ms, *bounds]):
                await self._client.delete(*self._keys_of(tenant, gone.decode()))
        except (RedisError, OSError) as error:
            log.warning("holdings_not_counted", reason=type(error).__name__)

    def _keys(self, tenant: str) -> tuple[str, str]:
        """The braces put both on one node of a Redis cluster."""
        key = f"{self._namespace}:held:1:{{{tenant}}}"
        return key, f"{key}:sizes"


_WRONG_TYPE = "WRONGTYPE"


class Unreadable(Exception):
    """Another type than ours, or another shape. It passes for nothing, and is deleted by whoever finds it."""


@contextmanager
def redis_errors(unanswered: str) -> Iterator[None]:
    """Raises `Unreadable` for a key of another type, `DependencyUnavailable` for everything else."""
    try:
        yield
    except (RedisError, OSError) as error:
        if isinstance(error, ResponseError) and _WRONG_TYPE in str(error):
            raise Unreadable from error
        raise DependencyUnavailable(unanswered) from error


@contextmanager
def reading() -> Iterator[None]:
    """Turns what decoding raises into `Unreadable`."""
    try:
        yield
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise Unreadable from error


async def delete_unreadable(client: Redis, what: str, *keys: str) -> None:
    """So that it is met once. The log says `what`, and neither the key, which may be a secret, nor the value.

    Raises `DependencyUnavailable`.
    """
    log.warning("stored_value_unreadable", what=what)
    with redis_errors("What was stored cannot be deleted now."):
        await client.delete(*keys)


async def answers(client: Redis, deadline: Deadline) -> bool:
    """Whether Redis does; its client's own limits of time are shorter than any deadline of readiness."""
    deadline.require()
    try:
        await client.ping()
    except (RedisError, OSError):
        return False
    return True


_UNANSWERED = "The store of kept answers does not answer."


class MemoryStore:
    """For one event loop: no method suspends. Beyond `max_bytes` see `Holdings`."""

    def __init__(
        self,
        max_bytes: int = 16 * 2**20,
        clock: Clock = time.monotonic,
        allowance_of: AllowanceOf = unlimited,
    ) -> None:
        self._clock = clock
        self._holdings = Holdings[str](Allowance(size=max_bytes), allowance_of)
        self._values: dict[str, tuple[bytes, float]] = {}

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        """See `ExpiringStore`."""
        self._drop(key)
        self._values[key] = value, self._clock() + ttl_s
        for gone in self._holdings.add(tenant, key, len(key) + len(value)):
            del self._values[gone]

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        """See `ExpiringStore`."""
        kept = await self.get(key)
        if kept is None:
            await self.put(key, value, ttl_s, tenant)
        return kept

    async def get(self, key: str) -> bytes | None:
        """See `ExpiringStore`."""
        value, until = self._values.get(key, (None, 0.0))
        if value is not None and until <= self._clock():
            self._drop(key)
            return None
        return value

    async def drop(self, key: str, tenant: str) -> None:
        """See `ExpiringStore`."""
        self._drop(key)

    async def close(self) -> None:
        """See `ExpiringStore`."""
        self._values.clear()
        self._holdings.clear()

    def _drop(self, key: str) -> None:
        if key in self._values:
            del self._values[key]
            self._holdings.remove(key)


class RedisStore:
    """Owns `client`. Redis bounds it, as it bounds the sessions."""

    def __init__(
        self,
        client: Redis,
        namespace: str = "loreglass:store:1",
        ttl_s: float = 3600.0,
        allowance_of: AllowanceOf = unlimited,
    ) -> None:
        """`ttl_s`: how long a value is kept at most."""
        self._client = client
        self._namespace = namespace
        self._holdings = RedisHoldings(
            client, namespace, ttl_s, allowance_of, lambda _, key: (self._key(key),)
        )

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        """See `ExpiringStore`."""
        with redis_errors(_UNANSWERED):
            await self._client.set(self._key(key), value, px=_milliseconds(ttl_s))
        await self._holdings.add(tenant, key, len(key) + len(value))

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        """See `ExpiringStore`."""
        try:
            return await self._claimed(key, value, ttl_s, tenant)
        except Unreadable:
            await delete_unreadable(self._client, "store", self._key(key))
        return await self._claimed(key, value, ttl_s, tenant)

    async def _claimed(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        name, ms = self._key(key), _milliseconds(ttl_s)
        with redis_errors(_UNANSWERED):
            found = _bytes(await self._client.set(name, value, px=ms, nx=True, get=True))
        if found is None:
            await self._holdings.add(tenant, key, len(key) + len(value))
        return found

    async def get(self, key: str) -> bytes | None:
        """See `ExpiringStore`."""
        try:
            with redis_errors(_UNANSWERED):
                return _bytes(await self._client.get(self._key(key)))
        except Unreadable:
            await delete_unreadable(self._client, "store", self._key(key))
        return None

    async def drop(self, key: str, tenant: str) -> None:
        """See `ExpiringStore`."""
        with redis_errors(_UNANSWERED):
            await self._client.delete(self._key(key))
        await self._holdings.remove(tenant, key)

    async def close(self) -> None:
        """See `ExpiringStore`."""
        await self._client.aclose()

    def _key(self, key: str) -> str:
        return f"{self._namespace}:{key}"


def _bytes(kept: object) -> bytes | None:
    """As it came: the client decodes nothing."""
    return kept if isinstance(kept, bytes) else None


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


def connect(url: str, *, timeout_s: float = 1.0, max_connections: int = 32) -> Redis:
    """A client that waits `timeout_s` at most for a connection, and as long again for its reply.

    It never repeats a command: a turn whose reply was lost would be remembered twice.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=max_connections,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)
