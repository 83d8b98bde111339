"""The session stores under test: every test that takes `sessions` runs against each of them."""

import uuid
from collections.abc import AsyncIterator

import pytest
from redis.asyncio import Redis

from gateway.serving.sessions import MemorySessionStore, RedisSessionStore
from gateway.serving.stores import connect
from tests.unit.gateway.sessions.harness import LIMITS, ManualClock, MemorySessions, RedisSessions, Sessions


@pytest.fixture
async def other_redis_client(redis_url: str, anyio_backend: object) -> AsyncIterator[Redis]:
    """A second client, as another gateway would have."""
    client = connect(redis_url, timeout_s=10)
    yield client
    await client.aclose()


@pytest.fixture(params=["memory", "redis"])
async def sessions(request: pytest.FixtureRequest, anyio_backend: object) -> AsyncIterator[Sessions]:
    """An empty store of each kind."""
    if request.param == "memory":
        clock = ManualClock()
        yield MemorySessions(MemorySessionStore(LIMITS, clock=clock), clock)
        return
    client = connect(request.getfixturevalue("redis_url"), timeout_s=10)
    namespace = uuid.uuid4().hex
    store = RedisSessionStore(client, LIMITS, namespace=namespace)
    yield RedisSessions(store, client, namespace)
    await store.close()
