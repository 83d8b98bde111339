"""Bytes kept for a while, in memory and in a real Redis."""

import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest
from redis.asyncio import Redis
from redis.commands.core import AsyncScript
from redis.exceptions import ConnectionError
from structlog.testing import capture_logs

from chassis.errors import DependencyUnavailable
from gateway.expiring_store import ExpiringStore
from gateway.serving.stores import Allowance, MemoryStore, RedisStore, connect
from gateway.serving.tenants import PUBLIC
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
    await store.kept.put("a", b"\x00\xff", LONG, PUBLIC)
    await store.kept.put("a", b"newer", LONG, PUBLIC)
    assert await store.kept.get("a") == b"newer"
    await store.pass_long("a")
    assert await store.kept.get("a") is None


async def test_of_several_claims_the_first_one_holds(store: Store) -> None:
    assert await store.kept.claim("a", b"first", LONG, PUBLIC) is None
    assert await store.kept.claim("a", b"second", LONG, PUBLIC) == b"first"
    await store.pass_long("a")
    assert await store.kept.claim("a", b"third", LONG, PUBLIC) is None
    await store.kept.drop("a", PUBLIC)
    assert await store.kept.get("a") is None


async def test_memory_stays_within_its_bound_and_the_oldest_give_way() -> None:
    kept = MemoryStore(max_bytes=100)
    for number in range(50):
        await kept.put(f"{number:02}", bytes(18), LONG, PUBLIC)
    held = [number for number in range(50) if await kept.get(f"{number:02}") is not None]
    assert held == [45, 46, 47, 48, 49]
    await kept.put("large", bytes(1_000), LONG, PUBLIC)
    assert await kept.get("large") is None
    assert await kept.get("49") is not None


@pytest.mark.parametrize("kind", ["memory", "redis"])
async def test_what_is_dropped_takes_no_room(redis_client: Redis, kind: str) -> None:
    def allowed(_: str) -> Allowance:
        return Allowance(count=2)

    shared = RedisStore(redis_client, uuid.uuid4().hex, allowance_of=allowed)
    kept = shared if kind == "redis" else MemoryStore(allowance_of=allowed)
    for key in ("a", "b"):
        await kept.put(key, b"", LONG, "acme")
    await kept.drop("b", "acme")
    await kept.put("c", b"", LONG, "acme")
    assert await kept.get("a") == b""


async def test_what_cannot_be_counted_is_kept_all_the_same(
    redis_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(*_: object, **__: object) -> None:
        raise ConnectionError

    kept = RedisStore(redis_client, uuid.uuid4().hex, allowance_of=lambda _: Allowance(count=2))
    with monkeypatch.context() as broken, capture_logs() as logs:
        broken.setattr(AsyncScript, "__call__", away)
        await kept.put("a", b"put", LONG, PUBLIC)
        assert await kept.claim("b", b"claimed", LONG, PUBLIC) is None
    assert [await kept.get(key) for key in ("a", "b")] == [b"put", b"claimed"]
    assert {line["event"] for line in logs} == {"holdings_not_counted"}


async def test_a_redis_that_is_away_is_said_to_be() -> None:
    kept = RedisStore(connect("redis://127.0.0.1:1/0", timeout_s=0.2))
    with pytest.raises(DependencyUnavailable):
        await kept.claim("a", b"", LONG, PUBLIC)
    await kept.close()
