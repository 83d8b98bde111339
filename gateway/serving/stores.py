"""`ExpiringStore` in this process or, for several gateways, in Redis."""

import time

from redis.asyncio import Redis

from chassis.resilience.deadlines import Clock
from gateway.serving.holdings import Allowance, AllowanceOf, Holdings, RedisHoldings, unlimited
from gateway.serving.redis_values import Unreadable, delete_unreadable, redis_errors
from gateway.serving.tenants import PUBLIC

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

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str = PUBLIC) -> None:
        """See `ExpiringStore`."""
        self._drop(key)
        self._values[key] = value, self._clock() + ttl_s
        for gone in self._holdings.add(tenant, key, len(key) + len(value)):
            del self._values[gone]

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str = PUBLIC) -> bytes | None:
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

    async def drop(self, key: str, tenant: str = PUBLIC) -> None:
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

    async def put(self, key: str, value: bytes, ttl_s: float, tenant: str = PUBLIC) -> None:
        """See `ExpiringStore`."""
        with redis_errors(_UNANSWERED):
            await self._client.set(self._key(key), value, px=_milliseconds(ttl_s))
        await self._holdings.add(tenant, key, len(key) + len(value))

    async def claim(self, key: str, value: bytes, ttl_s: float, tenant: str = PUBLIC) -> bytes | None:
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

    async def drop(self, key: str, tenant: str = PUBLIC) -> None:
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
