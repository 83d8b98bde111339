"""Stores for tests, whose time passes when the test says so, and a turn and a photo to put there."""

from redis.asyncio import Redis

from gateway.serving.redis_store import RedisStore
from gateway.state import Entity, Photo, Turn
from gateway.store import Allowance, MemoryStore
from tests.virtual_time import ManualClock

TTL_S = 600.0
ALLOWANCES = {"three": Allowance(count=3), "small": Allowance(size=3_000)}
"""Of tenants with these names; others have no bounds."""


def allowance_of(tenant: str) -> Allowance:
    """Return that of `ALLOWANCES`."""
    return ALLOWANCES.get(tenant, Allowance())


class MemoryBackend:
    """The memory store reads the clock that the test moves."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.store = MemoryStore(allowance_of=allowance_of, clock=self.clock)

    async def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds


class RedisBackend:
    """Redis has its own clock, so the remaining times of keys are shortened instead."""

    def __init__(self, client: Redis, namespace: str) -> None:
        self._client, self._namespace = client, namespace
        self.store = RedisStore(client, "test", TTL_S, allowance_of, namespace)

    async def pass_time(self, seconds: float) -> None:
        async for key in self._client.scan_iter(match=f"{self._namespace}:*"):
            remaining = await self._client.pttl(key)
            assert 0 < remaining <= TTL_S * 1000, f"{key!r} would live for ever"
            await self._client.pexpire(key, remaining - round(seconds * 1000))


Backend = MemoryBackend | RedisBackend


def turn(question: str = "What is this?", answer: str = "A lighthouse.") -> Turn:
    """A turn about something that was recognised."""
    entity = Entity(
        name="Grüner Leuchtturm",
        probability=0.93,
        attributes=(("height", "31 m"), ("built", "1902")),
        title="Leuchtturm",
        url="https://example.org/leuchtturm",
    )
    return Turn(question=question, answer=answer, abstained=False, entity=entity)


def photo(content: bytes = b"\xff\xd8\n\x00\xff\xd9") -> Photo:
    """A photo whose bytes are not text in any encoding."""
    return Photo(jpeg=content, width=640, height=480, digest=content[:8].hex())
