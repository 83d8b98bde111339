"""Who gives way in a store that several tenants share: never one that holds little for one that holds much.

Beyond its own allowance a tenant's oldest goes. Where all together are too much, the oldest goes of the one
that holds the most: so what is left is shared by max-min fairness, and no flood takes a quiet tenant's place.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from math import inf
from typing import Generic, TypeVar

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

Key = TypeVar("Key", bound=Hashable)

log = structlog.get_logger()


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
    """What is held for whom, by key and size, in the order of use. For one thread."""

    def __init__(self, in_all: Allowance, allowance_of: AllowanceOf = unlimited) -> None:
        self._in_all = in_all
        self._allowance_of = allowance_of
        self._held: dict[str, OrderedDict[Key, int]] = {}
        self._sizes: Counter[str] = Counter()

    @property
    def size(self) -> int:
        """Of all."""
        return self._sizes.total()

    def add(self, tenant: str, key: Key, size: int) -> list[Key]:
        """`tenant` holds `key` from now on, or again. The keys that go for it, which are forgotten."""
        gone: list[Key] = []
        self.remove(tenant, key)
        if size > self._in_all.size:  # what all others hold would make no room for it
            return [key]
        own = self._held.setdefault(tenant, OrderedDict())
        own[key] = size
        self._sizes[tenant] += size
        allowed = self._allowance_of(tenant)
        while len(own) > 1 and (len(own) > allowed.count or self._sizes[tenant] > allowed.size):
            gone.append(self._oldest_of(tenant))
        while sum(map(len, self._held.values())) > self._in_all.count:
            gone.append(self._oldest_of(max(self._givers(tenant), key=self._count_of)))
        while self.size > self._in_all.size:
            gone.append(self._oldest_of(max(self._givers(tenant), key=self._sizes.__getitem__)))
        return gone

    def use(self, tenant: str, key: Key) -> None:
        """`key`, which is held, is the tenant's newest again."""
        self._held[tenant].move_to_end(key)

    def remove(self, tenant: str, key: Key) -> None:
        """`key` is held no longer, if it was."""
        own: dict[Key, int] = self._held.get(tenant, OrderedDict())
        if key in own:
            self._sizes[tenant] -= own.pop(key)
        if not own:
            self._held.pop(tenant, None)
            del self._sizes[tenant]

    def clear(self) -> None:
        """Nothing is held."""
        self._held.clear()
        self._sizes.clear()

    def _givers(self, newcomer: str) -> list[str]:
        """Who has something to give beside what has just come; where nobody has, that itself."""
        return [each for each, own in self._held.items() if each != newcomer or len(own) > 1] or [newcomer]

    def _count_of(self, tenant: str) -> int:
        return len(self._held[tenant])

    def _oldest_of(self, tenant: str) -> Key:
        key = next(iter(self._held[tenant]))
        self.remove(tenant, key)
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
    """What tenants hold of one kind in Redis, which bounds the total only, and then by age alone.

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
