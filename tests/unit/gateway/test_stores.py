"""Bytes kept for a while, in memory and in a real Redis."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from chassis.errors import DependencyUnavailable
from gateway.expiring_store import ExpiringStore
from gateway.serving.sessions.redis import connect
from gateway.serving.stores import MemoryStore, RedisStore
from tests.unit.gateway.sessions.harness import ManualClock

pytestmark = pytest.mark.anyio

LONG = 600.0


@dataclass(frozen=True, slots=True)
class Store:
    """A store and its time."""

    kept: ExpiringStore
    pass_long: Callable[[str], Awaitable[None]]


@pytest.fixture(params=["memory", "redis"])
async def store(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Store]:
    if request.param == "memory":
        clock = ManualClock()

        async def wait(_: str) -> None:
            clock.now += LONG

        yield Store(MemoryStore(clock=clock), wait)
        return
    client, namespace = connect(request.getfixturevalue("redis_url"), timeout_s=10), uuid.uuid4().hex
    kept = RedisStore(client, namespace)

    async def expire(key: str) -> None:
        assert 0 < await client.pttl(f"{namespace}:{key}") <= LONG * 1000
        await client.pexpire(f"{namespace}:{key}", 0)

    yield Store(kept, expire)
    await kept.close()


async def test_what_is_put_is_got_until_its_time_is_over(store: Store) -> None:
    assert await store.kept.get("a") is None
    await store.kept.put("a", b"\x00\xff", LONG)
    await store.kept.put("a", b"newer", LONG)
    assert await store.kept.get("a") == b"newer"
    await store.pass_long("a")
    assert await store.kept.get("a") is None


async def test_of_several_claims_the_first_one_holds(store: Store) -> None:
    assert await store.kept.claim("a", b"first", LONG) is None
    assert await store.kept.claim("a", b"second", LONG) == b"first"
    await store.pass_long("a")
    assert await store.kept.claim("a", b"third", LONG) is None
    await store.kept.drop("a")
    assert await store.kept.get("a") is None


async def test_memory_stays_within_its_bound_and_the_oldest_give_way() -> None:
    kept = MemoryStore(max_bytes=100)
    for number in range(50):
        await kept.put(f"{number:02}", bytes(18), LONG)
    held = [number for number in range(50) if await kept.get(f"{number:02}") is not None]
    assert held == [45, 46, 47, 48, 49]
    await kept.put("large", bytes(1_000), LONG)
    assert await kept.get("large") is None


async def test_a_redis_that_is_away_is_said_to_be() -> None:
    kept = RedisStore(connect("redis://127.0.0.1:1/0", timeout_s=0.2))
    with pytest.raises(DependencyUnavailable):
        await kept.claim("a", b"", LONG)
    await kept.close()
