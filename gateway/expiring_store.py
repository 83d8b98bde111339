"""Bytes that are kept under a key for a while: in this process or, for several gateways, in Redis."""

import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from chassis.errors import DependencyUnavailable
from chassis.resilience.deadlines import Clock


class ExpiringStore(Protocol):
    """A bounded store of small values. Every method raises `DependencyUnavailable` where it does not answer.

    A value may be gone before its time: when the store is full, some give way.
    """

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """Keep `value` for `ttl_s` seconds, in the place of what was kept under the key."""
        ...

    async def claim(self, key: str, value: bytes, ttl_s: float) -> bytes | None:
        """Keep `value` if nothing is kept under the key; otherwise what is. One step for all callers."""
        ...

    async def get(self, key: str) -> bytes | None:
        """What is kept under the key."""
        ...

    async def drop(self, key: str) -> None:
        """Keep nothing under the key."""
        ...

    async def close(self) -> None:
        """Let go of connections and memory."""
        ...


class MemoryStore:
    """For one event loop: no method suspends. Beyond `max_bytes` the oldest values give way."""

    def __init__(self, max_bytes: int = 16 * 2**20, clock: Clock = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._values: OrderedDict[str, tuple[bytes, float]] = OrderedDict()
        self._bytes = 0

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """See `ExpiringStore`."""
        self._drop(key)
        self._values[key] = value, self._clock() + ttl_s
        self._bytes += _size(key, value)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._values)))

    async def claim(self, key: str, value: bytes, ttl_s: float) -> bytes | None:
        """See `ExpiringStore`."""
        kept = await self.get(key)
        if kept is None:
            await self.put(key, value, ttl_s)
        return kept

    async def get(self, key: str) -> bytes | None:
        """See `ExpiringStore`."""
        value, until = self._values.get(key, (None, 0.0))
        if value is not None and until <= self._clock():
            self._drop(key)
            return None
        return value

    async def drop(self, key: str) -> None:
        """See `ExpiringStore`."""
        self._drop(key)

    async def close(self) -> None:
        """See `ExpiringStore`."""
        self._values.clear()
        self._bytes = 0

    def _drop(self, key: str) -> None:
        value, _ = self._values.pop(key, (None, 0.0))
        if value is not None:
            self._bytes -= _size(key, value)


class RedisStore:
    """Owns `client`. Redis bounds it, as it bounds the sessions."""

    def __init__(self, client: Redis, namespace: str = "loreglass:kept:1") -> None:
        self._client = client
        self._namespace = namespace

    async def put(self, key: str, value: bytes, ttl_s: float) -> None:
        """See `ExpiringStore`."""
        with _redis_errors():
            await self._client.set(self._key(key), value, px=_milliseconds(ttl_s))

    async def claim(self, key: str, value: bytes, ttl_s: float) -> bytes | None:
        """See `ExpiringStore`."""
        with _redis_errors():
            name, ms = self._key(key), _milliseconds(ttl_s)
            return _bytes(await self._client.set(name, value, px=ms, nx=True, get=True))

    async def get(self, key: str) -> bytes | None:
        """See `ExpiringStore`."""
        with _redis_errors():
            return _bytes(await self._client.get(self._key(key)))

    async def drop(self, key: str) -> None:
        """See `ExpiringStore`."""
        with _redis_errors():
            await self._client.delete(self._key(key))

    async def close(self) -> None:
        """See `ExpiringStore`."""
        await self._client.aclose()

    def _key(self, key: str) -> str:
        return f"{self._namespace}:{key}"


def _size(key: str, value: bytes) -> int:
    return len(key) + len(value)


def _bytes(kept: object) -> bytes | None:
    """As it came: the client decodes nothing."""
    return kept if isinstance(kept, bytes) else None


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))


@contextmanager
def _redis_errors() -> Iterator[None]:
    try:
        yield
    except (RedisError, OSError) as error:
        raise DependencyUnavailable("The store of kept answers does not answer.") from error
