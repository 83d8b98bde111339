"""A store in Redis, which several gateways share.

Redis bounds the whole: give it `maxmemory` and `maxmemory-policy volatile-ttl` or `volatile-lru`. So that it
never comes to that, `maxmemory` should hold the allowances of all tenants that are busy at once.
"""

from collections.abc import Awaitable, Callable, Sequence
from secrets import token_bytes
from typing import TypeVar, cast

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError, ResponseError

from chassis.errors import DependencyUnavailable
from chassis.http.health import Note
from chassis.resilience.deadlines import Deadline
from contracts.errors import ErrorKind
from gateway.store import Allowance, AllowanceOf, ListChange, unlimited

_FORMAT = "4"
"""Part of every key: a gateway that writes in another way does not find these."""
_SECRET, _SECRET_BYTES = "loreglass:signing-secret", 32
_NO_LIMIT = 2**53

_APPEND = """
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[4] == '' then return 0 end
  redis.call('RPUSH', KEYS[1], '')
end
local length, most = redis.call('RPUSH', KEYS[1], ARGV[1]), tonumber(ARGV[2])
if ARGV[5] then redis.call('LSET', KEYS[1], 0, ARGV[5]) end
if length > most + 1 then
  local head = redis.call('LINDEX', KEYS[1], 0)
  redis.call('LTRIM', KEYS[1], -most - 1, -1)
  redis.call('LSET', KEYS[1], 0, head)
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)
"""
"""Returns the list's bytes. Arguments: item, items to keep, milliseconds to live, whether to create the list
(empty: no), and the head if there is a new one.
"""

_COUNT = """
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
local total, evicted = 0, {}
if size ~= '' then
  local last = tonumber(redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]) or 0
  redis.call('ZADD', KEYS[1], math.max(now, last + 1), name)
  redis.call('HSET', KEYS[2], name, size)
  total = redis.call('HINCRBY', KEYS[2], '', size)
end
while redis.call('ZCARD', KEYS[1]) > count or total > most do
  local oldest = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if oldest == name then break end
  forget(oldest)
  evicted[#evicted + 1] = oldest
  total = tonumber(redis.call('HGET', KEYS[2], ''))
end
redis.call('PEXPIRE', KEYS[1], ttl)
redis.call('PEXPIRE', KEYS[2], ttl)
return evicted
"""
"""Counts an entry of a tenant, and returns the names that must go for it. Keys: names by the time of their
last write; their sizes and, under no name, the sum. Arguments: name, size (empty: the entry is deleted), the
longest life of an entry in milliseconds, and the most names and bytes.

Redis may evict either key alone. Sizes without names are deleted, because they would count for ever; names
without sizes count nothing and are evicted in their turn. Times are in microseconds; a new name is always the
newest, even if the clock was set back.
"""

T = TypeVar("T")

log = structlog.get_logger()


class RedisStore:
    """A `Store` of `name` in Redis. `ttl_s`: the longest life of an entry.

    `namespace` keeps platforms apart that share a Redis. Keys of another type are not ours, and are deleted.
    """

    def __init__(
        self,
        client: Redis,
        name: str,
        ttl_s: float,
        allowance_of: AllowanceOf = unlimited,
        namespace: str = "loreglass",
    ) -> None:
        self._client = client
        self._name = name
        self._ttl_s = ttl_s
        self._allowance_of = allowance_of
        self._prefix = f"{namespace}:{name}:{_FORMAT}"
        self._append = client.register_script(_APPEND)
        self._count = client.register_script(_COUNT)

    async def get(self, key: str) -> bytes | None:
        name = self._key(key)
        return cast(bytes | None, await self._reply(name, lambda: self._client.get(name)))

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str) -> None:
        name = self._key(key)
        await self._reply(name, lambda: self._client.set(name, value, px=_milliseconds(ttl_s)))
        await self._add(tenant, key, len(key) + len(value))

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str) -> bytes | None:
        name, ms = self._key(key), _milliseconds(ttl_s)
        current = await self._reply(name, lambda: self._client.set(name, value, px=ms, nx=True, get=True))
        if current is None:
            await self._add(tenant, key, len(key) + len(value))
        return cast(bytes | None, current)

    async def items(self, key: str) -> Sequence[bytes]:
        name = self._key(key)
        return cast(list[bytes], await self._reply(name, lambda: self._client.lrange(name, 0, -1)))

    async def append(self, key: str, item: bytes, ttl_s: float, tenant: str, change: ListChange) -> bool:
        name = self._key(key)
        begin = "create" if change.create else ""
        arguments: list[bytes | int | str] = [item, change.most, _milliseconds(ttl_s), begin]
        arguments += [] if change.head is None else [change.head]
        size = await self._reply(name, lambda: self._append(keys=[name], args=arguments))
        if size:
            await self._add(tenant, key, size)
        return bool(size)

    async def delete(self, key: str, tenant: str) -> bool:
        name = self._key(key)
        deleted = await self._reply(name, lambda: self._client.delete(name))
        if self._allowance_of(tenant) != Allowance():
            await self._count_entry(tenant, key, "", Allowance())
        return bool(deleted)

    async def _reply(self, name: str, command: Callable[[], Awaitable[T]]) -> T:
        """Return the reply to a command on the key `name`, after deleting a value of another type."""
        try:
            try:
                return await command()
            except ResponseError as error:
                if "WRONGTYPE" not in str(error):
                    raise
            log.warning("stored_value_unreadable", what=self._name)
            await self._client.delete(name)
            return await command()
        except (RedisError, OSError) as error:
            raise DependencyUnavailable(f"The {self._name} store does not answer.") from error

    async def _add(self, tenant: str, key: str, size: int) -> None:
        """Count a stored entry for its tenant, and delete the tenant's oldest beyond its allowance."""
        allowed = self._allowance_of(tenant)
        if allowed != Allowance():
            await self._count_entry(tenant, key, size, allowed)

    async def _count_entry(self, tenant: str, key: str, size: int | str, allowed: Allowance) -> None:
        """The entry is stored already: if it cannot be counted, the caller's request does not fail."""
        names = self._tenant_key(tenant)
        most = [int(min(_NO_LIMIT, each)) for each in (allowed.count, allowed.size)]
        arguments = [key, size, _milliseconds(self._ttl_s), *most]
        try:
            for evicted in await self._count(keys=[names, f"{names}:sizes"], args=arguments):
                await self._client.delete(self._key(evicted.decode()))
        except (RedisError, OSError) as error:
            log.warning("holdings_not_counted", reason=type(error).__name__)

    def _key(self, key: str) -> str:
        return f"{self._prefix}:{key}"

    def _tenant_key(self, tenant: str) -> str:
        """The braces put this key and that of the sizes on one node of a Redis cluster."""
        return f"{self._prefix}:held:{{{tenant}}}"


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


async def shared_secret(redis: Redis) -> bytes:
    """Return random bytes that all gateways of this Redis share, or bytes of this one if it is away."""
    own = token_bytes(_SECRET_BYTES)
    try:
        await redis.set(_SECRET, own, nx=True)
        held = await redis.get(_SECRET)
    except (RedisError, OSError) as error:
        setting = "LOREGLASS_GATEWAY_SPEECH_SECRET"
        log.warning("signing_secret_not_shared", reason=type(error).__name__, setting=setting)
        return own
    return held if isinstance(held, bytes) and len(held) == _SECRET_BYTES else own


def connect(url: str, *, timeout_s: float = 1.0) -> Redis:
    """Return a client that waits at most `timeout_s` for a connection, and as long again for its reply.

    It does not repeat a command: a turn whose reply was lost would be stored twice.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=48,
        timeout=timeout_s,
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
    )
    return Redis.from_pool(pool)


async def redis_note(client: Redis, deadline: Deadline) -> Note:
    """Check Redis for readiness. The gateway stays ready without it, and answers first questions.

    The client's own timeouts are shorter than any deadline of readiness.
    """
    deadline.require()
    try:
        await client.ping()
    except (RedisError, OSError):
        return Note(ErrorKind.DEPENDENCY_UNAVAILABLE.value)
    return Note("ok")
