"""Session stores for tests, whose time passes when the test says so."""

from dataclasses import dataclass, field

from redis.asyncio import Redis

from gateway.serving.sessions import MemorySessionStore, RedisSessionStore, SessionLimits
from gateway.state import Entity, Photo, Turn

LIMITS = SessionLimits(max_turns=4, max_photo_bytes=2000, max_turn_bytes=1000, ttl_s=600)


@dataclass
class ManualClock:
    """Seconds that only move when told to."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class MemorySessions:
    """The memory store reads the clock that the test moves."""

    store: MemorySessionStore
    clock: ManualClock = field(default_factory=ManualClock)

    async def pass_time(self, seconds: float) -> None:
        self.clock.now += seconds


@dataclass
class RedisSessions:
    """Redis has its own clock, so the keys' remaining times are shortened instead."""

    store: RedisSessionStore
    client: Redis
    namespace: str

    async def pass_time(self, seconds: float) -> None:
        async for key in self.client.scan_iter(match=f"{self.namespace}:*"):
            remaining = await self.client.pttl(key)
            assert remaining > 0, f"{key!r} would live for ever"
            await self.client.pexpire(key, remaining - round(seconds * 1000))


Sessions = MemorySessions | RedisSessions


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


def photo(content: bytes = b"\xff\xd8\x00\xff\xd9") -> Photo:
    """A photo whose bytes are not text in any encoding."""
    return Photo(jpeg=content, width=640, height=480, digest=content[:8].hex())
